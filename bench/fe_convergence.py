"""Mesh convergence of the effective properties: python -m bench.fe_convergence [--json FILE].

Three volume fractions, four meshes up to about 70 000 degrees of freedom, with the dilatation
averaged (P2/P0) and without (P2). Errors are relative to the finest P2/P0 mesh, p_sigma absolute.
"""

import argparse
import json
import time
from pathlib import Path

from fe_data.geometry.microstructure import random_microstructure
from fe_data.geometry.outline import default_size
from fe_data.mechanics.rve import RVESolution, solve_microstructure
from fe_data.settings import Inputs, Settings

VOLUME_FRACTIONS = (0.07, 0.23, 0.39)
FINENESS = (0.5, 1.0, 1.5, 2.2)  # element sizes of the default mesh over those of this one
SEED = 3
COLUMNS = ("vf", "element", "dofs", "seconds", "b [%]", "c [%]", "E [%]", "p_sigma")


def default_resolution(vf: float) -> float:
    """Elements per fibre diameter of the default mesh."""
    return 2 * random_microstructure(vf, SEED).radius / default_size(Settings().n_fibres)


def solve(vf: float, fineness: float, element: str) -> tuple[RVESolution, float]:
    """One solved volume element, and the processor seconds it took."""
    settings = Settings(resolution=fineness * default_resolution(vf))
    microstructure = random_microstructure(vf, SEED)
    start = time.process_time()
    rve = solve_microstructure(
        microstructure, Inputs(vf, 400.0, 400.0, 0.4), settings, element=element
    )
    return rve, time.process_time() - start


def errors(rve: RVESolution, finest: RVESolution) -> list[float]:
    """Relative errors of b, c, E in per cent, and the error of p_sigma."""
    names = ("b_eff_MPa", "c_eff", "E_eff_GPa")
    a, b = rve.effective, finest.effective
    relative = [100 * (getattr(a, n) / getattr(b, n) - 1) for n in names]
    return [*relative, rve.p_sigma - finest.p_sigma]


def study(vf: float) -> list[tuple]:
    """Rows of the table for one volume fraction, finest mesh first."""
    solved = {}
    for element in ("P2/P0", "P2"):
        for fineness in FINENESS:
            solved[element, fineness] = solve(vf, fineness, element)
    finest = solved["P2/P0", FINENESS[-1]][0]
    return [
        (vf, element, 2 * rve.discretisation.n_nodes, seconds, *errors(rve, finest))
        for (element, _), (rve, seconds) in solved.items()
    ]


def main() -> None:
    """Print the table and, on request, write it as JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", type=Path, help="also write the rows there")
    options = arguments.parse_args()
    solve(0.1, 0.5, "P2/P0")  # compiles
    rows = []
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for vf in VOLUME_FRACTIONS:
        for row in study(vf):
            vf_, element, dofs, seconds, b, c, E, p = row
            text = (
                f"| {vf_:g} | {element} | {dofs} | {seconds:.1f} | {b:+.2f} | {c:+.2f} | {E:+.3f} |"
            )
            print(f"{text} {p:+.4f} |", flush=True)
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
