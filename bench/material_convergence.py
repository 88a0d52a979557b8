"""How stresses of other materials depend on the mesh: python -m bench.material_convergence.

The table has the mean stress on the default mesh at several strains, its difference from a mesh
twice as fine, the share of the matrix that has lost ellipticity, and the processor seconds.
"""

import argparse
import re
import time
from collections.abc import Iterator
from itertools import product

from fe_data import (
    Isotropic,
    Loading,
    Material,
    Phases,
    named_phases,
    random_microstructure,
    solve_composite,
)
from fe_data.composite.rve import CompositeSolution
from fe_data.geometry.outline import default_size
from figures.markdown import table_lines

SHIPPED = ("glass_epoxy", "boron_aluminium")
SATURATING = (
    "glass, J2 epoxy"  # which hardens by Voce's law, and hardly at a plastic strain of 0.05
)
SEEDS = (1, 2, 3)
N_FIBRES = 6
STRAINS = (0.008, 0.010, 0.012, 0.015, 0.020)
INCREMENT = 0.001
FINENESS = 3.0  # element size of the fast solver over that of the fine mesh
HEADER = ["material", "seed", "strain", "stress [MPa]", "difference [%]", "not elliptic [%]", "s"]


def phases_of(material: str) -> Phases:
    """Return the phases of a row."""
    if material in SHIPPED:
        return named_phases(material)
    hardening = {"law": "voce", "yield_stress_MPa": 60.0, "b_MPa": 60.0, "c": 0.01}
    glass = named_phases("glass_epoxy").of("fibres")
    return Phases(Material(Isotropic(3.35, 0.35), "j2", {"yield_stress": hardening}), glass)


def solve(
    material: str, seed: int, strain: float, fineness: float | None = None
) -> tuple[CompositeSolution, float]:
    """Solve an RVE, on the default mesh without a fineness; return it and its processor seconds."""
    fibres = random_microstructure(0.5, seed, N_FIBRES)
    resolution = fineness and fineness * 2 * float(fibres.radii[0]) / default_size(N_FIBRES)
    increments = round(abs(strain) / INCREMENT)
    loading = Loading((strain, None, None), increments=increments)
    start = time.process_time()
    rve = solve_composite(phases_of(material), fibres, loading, resolution=resolution, silent=True)
    return rve, time.process_time() - start


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for material, sign, seed in product((*SHIPPED, SATURATING), (-1, 1), SEEDS):
        fine, _ = solve(material, seed, sign * STRAINS[-1], FINENESS)
        for strain in STRAINS:
            rve, seconds = solve(material, seed, sign * strain)
            reached = len(rve.history["strain"]) - 1
            stress = float(rve.history["stress"][-1, 0])
            change = 100 * (stress / fine.history["stress"][reached, 0] - 1)
            share = re.search(r"in ([\d.]+) %", rve.warning)
            case = [material, str(seed), f"{sign * strain:g}", f"{stress:.2f}", f"{change:+.2f}"]
            yield [*case, share[1] if share else "0", f"{seconds:.1f}"]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    solve(SHIPPED[0], SEEDS[0], INCREMENT)  # compiles, or loads compiled code
    for line in table_lines(HEADER, rows()):
        print(line, flush=True)
