"""How properties depend on the number of fibres in an RVE: python -m studies.size_effect.

RVEs of 15, 30, 60 and 120 fibres are simulated at six inputs, with fewer microstructures for larger
RVEs. The study prints the differences from the largest RVEs, and the exponents with which the
scatter decreases with the number of fibres. An interrupted run continues.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np

from fe_data import Design, Settings, Table, compare, generate, load_table
from fe_data.schema import INPUT_BOUNDS
from fe_data.statistics.compare import format_comparison

MICROSTRUCTURES = {15: 80, 30: 40, 60: 20, 120: 6}  # number of fibres → microstructures per input
OUT = Path("data/size_effect")
RESULTS = Path(__file__).with_name("results")
# Inputs with their largest value in a corner of the input space; the others have their smallest.
CORNERS = (
    ("b_m_MPa",),
    ("E_f_GPa", "c_m"),
    ("vf", "c_m"),
    ("vf", "E_f_GPa"),
    tuple(INPUT_BOUNDS),
)


def inputs() -> np.ndarray:
    """Return the centre of the input space, and five of its corners, (6, n_in)."""
    corners = [[1.0 if name in largest else 0.0 for name in INPUT_BOUNDS] for largest in CORNERS]
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    return low + np.vstack([np.full(len(low), 0.5), corners]) * (high - low)


def simulate(n_fibres: int, jobs: int = 2) -> Table:
    """Simulate RVEs with a number of fibres at all inputs, reusing results of earlier runs."""
    groups = np.arange(6).repeat(MICROSTRUCTURES[n_fibres])
    folder = OUT / str(n_fibres)
    design = Design("inputs", 0, inputs()[groups], groups)
    generate(design, Settings(n_fibres=n_fibres), folder, jobs=jobs)
    return load_table(folder / "dataset.csv")


def main() -> None:
    """Print differences from the largest RVEs, and the exponents of the scatter."""
    parser = argparse.ArgumentParser("python -m studies.size_effect", description=__doc__)
    parser.add_argument("--write", action="store_true", help="also replace the committed tables")
    options = parser.parse_args()
    tables = {n: simulate(n) for n in MICROSTRUCTURES}
    for n in tables if options.write else ():
        shutil.copy(OUT / str(n) / "dataset.csv", RESULTS / f"{n}.csv")
    comparisons = {n: compare(table, tables[max(tables)]) for n, table in tables.items()}
    for n, comparison in list(comparisons.items())[:-1]:  # the last is the reference
        print(f"{n} fibres: {format_comparison(comparison)}")
    scatter = [comparison.scatter[0] for comparison in comparisons.values()]
    print("exponents:", np.polyfit(np.log([*comparisons]), np.log(scatter), 1)[0].round(2))


if __name__ == "__main__":
    main()
