"""How properties depend on the number of fibres in an RVE: python -m bench.size_effect prints it.

RVEs of 15, 30 and 60 fibres and 120 at six inputs, fewer microstructures of larger RVEs,
and the exponents by which scatter falls with their number. An interrupted run continues.
"""

import argparse
from pathlib import Path

import numpy as np

from fe_data import Design, Settings, Table, compare, generate, load_table
from fe_data.schema import INPUT_BOUNDS
from fe_data.statistics.compare import format_comparison

MICROSTRUCTURES = {15: 80, 30: 40, 60: 20, 120: 6}  # for each input
OUT = Path("data/size_effect")
# Inputs that have their largest value in a corner of the box; the others have their smallest.
CORNERS = (
    ("b_m_MPa",),
    ("E_f_GPa", "c_m"),
    ("vf", "c_m"),
    ("vf", "E_f_GPa"),
    tuple(INPUT_BOUNDS),
)


def inputs() -> np.ndarray:
    """The middle of the box, and five of its corners, most of them with many fibres."""
    corners = [[1.0 if name in largest else 0.0 for name in INPUT_BOUNDS] for largest in CORNERS]
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    return low + np.vstack([np.full(len(low), 0.5), corners]) * (high - low)


def simulate(n_fibres: int, jobs: int = 2) -> Table:
    """Return RVEs of so many fibres at all inputs; results of an earlier run are read."""
    groups = np.arange(6).repeat(MICROSTRUCTURES[n_fibres])
    folder = OUT / str(n_fibres)
    design = Design("inputs", 0, inputs()[groups], groups)
    generate(design, Settings(n_fibres=n_fibres), folder, jobs=jobs)
    return load_table(folder / "dataset.csv")


def main() -> None:
    """Print differences from the largest RVEs, and the exponents of the scatter."""
    tables = {n: simulate(n) for n in MICROSTRUCTURES}
    found = {n: compare(table, tables[max(tables)]) for n, table in tables.items()}
    for n, comparison in list(found.items())[:-1]:  # the last is the largest, beside itself
        print(f"{n} fibres: {format_comparison(comparison)}")
    scatter = [comparison.scatter[0] for comparison in found.values()]
    print("exponents:", np.polyfit(np.log([*found]), np.log(scatter), 1)[0].round(2))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
