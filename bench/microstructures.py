"""Which population microstructures are of: python -m bench.microstructures [CELLS].

Prints, for seeds whose first sequence jams or not and for hard discs in equilibrium, fibres within
0.1 % of the least distance and within 10 %, the nearest distance, and b_eff of so many RVEs.
"""

import argparse
import itertools
import math
from collections.abc import Iterator

import numpy as np

from fe_data.geometry import microstructure
from fe_data.geometry.microstructure import Microstructure, periodic_distances
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import Inputs, Settings

N_FIBRES = 30
SPACING = 1.14
MICROSTRUCTURES = 100
ROWS = {
    0.36: ("any", "equilibrium"),
    0.40: ("not jammed", "jammed", "equilibrium"),
    0.44: ("any", "equilibrium"),
    0.46: ("any",),
}


def microstructures(vf: float, kind: str) -> Iterator[Microstructure]:
    """Microstructures of the seeds 0, 1, ... that are of a kind."""
    radius = math.sqrt(vf / (N_FIBRES * math.pi))
    packing = (N_FIBRES, 2 * radius * SPACING)
    for seed in itertools.count():
        if kind == "equilibrium":
            rng = np.random.default_rng([seed, 7])
            touching = microstructure.relaxed_microstructure(rng, *packing)
            centres = microstructure.equilibrated(rng, touching, packing[1])
            yield microstructure.clear_of_edges(Microstructure(centres, radius), math.inf)
        else:
            first = microstructure.sequential_addition(np.random.default_rng(seed), *packing)
            if kind in ("any", "not jammed" if first is not None else "jammed"):
                yield microstructure.random_microstructure(vf, seed)


def row(vf: float, kind: str, cells: int) -> list[str]:
    """Columns of the table: means with their standard errors."""
    statistics = []
    b = []
    for m in itertools.islice(microstructures(vf, kind), MICROSTRUCTURES):
        r = periodic_distances(m.centres, m.centres) / (2 * m.radii[0] * SPACING)
        r += 9.0 * np.eye(N_FIBRES)  # no fibre is its own neighbour
        contacts = (r < 1.001).sum() / N_FIBRES
        near = (r < 1.1).sum() / N_FIBRES
        statistics.append([contacts, near, r.min(axis=1).mean()])
        if len(b) < cells:
            rve = solve_rve(Inputs(vf, 400.0, 400.0, 0.4), m, Settings())
            b.append(rve.result().effective["b_eff_MPa"])
    means = np.mean(statistics, axis=0)
    errors = np.std(statistics, axis=0, ddof=1) / MICROSTRUCTURES**0.5
    columns = [f"{m:.4f} ± {e:.4f}" for m, e in zip(means, errors, strict=True)]
    if cells > 1:
        scatter = np.std(b, ddof=1)
        columns.append(f"{np.mean(b):.1f} ± {scatter / cells**0.5:.1f}")
        columns.append(f"{scatter:.1f}")
    return columns


def main(cells: int) -> None:
    """Print the table."""
    print("| vf | | contacts | within 10 % | nearest | b [MPa] | scatter [MPa] |")
    print("|---" * 7 + "|")
    for vf, kinds in ROWS.items():
        for kind in kinds:
            columns = row(vf, kind, cells)
            print(f"| {vf:.2f} | {kind} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the statistics of microstructures.")
    parser.add_argument("cells", type=int, nargs="?", default=0, help="RVEs to solve in each row")
    main(parser.parse_args().cells)
