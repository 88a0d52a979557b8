"""How properties depend on the number of fibres in an RVE: python -m studies.size_effect.

RVEs of 15, 30, 60 and 120 fibres are simulated at six inputs, with fewer microstructures for larger
RVEs. The study prints the differences from the largest RVEs, and the exponents with which the
scatter decreases with the number of fibres. An interrupted run continues.
"""

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fe_data import Design, Settings, Table, compare, generate, load_table
from fe_data.schema import INPUT_BOUNDS
from fe_data.statistics.compare import format_comparison
from figures.markdown import markdown
from figures.pipeline.paths import ROOT
from figures.report.tables import publish

MICROSTRUCTURES = {15: 80, 30: 40, 60: 20, 120: 6}  # number of fibres → microstructures per input
OUT = Path("data/size_effect")
TABLES = Path(__file__).with_name("tables")
PAGE = ROOT / "docs" / "validation.md"
SHOWN = {"b_eff_MPa": 1, "c_eff": 1, "E_eff_GPa": 2}  # outputs on the page, and their decimals
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


def simulate(n_fibres: int, jobs: int) -> Table:
    """Simulate RVEs with a number of fibres at all inputs, reusing results of earlier runs."""
    groups = np.arange(6).repeat(MICROSTRUCTURES[n_fibres])
    folder = OUT / str(n_fibres)
    design = Design("inputs", 0, inputs()[groups], groups)
    generate(design, Settings(n_fibres=n_fibres), folder, jobs=jobs)
    return load_table(folder / "dataset.csv")


def committed() -> dict[int, Table]:
    """Return the committed tables by number of fibres."""
    return {n: load_table(TABLES / f"{n}.csv") for n in MICROSTRUCTURES}


def blocks(tables: Mapping[int, Table]) -> dict[str, str]:
    """Return the table of the page, for RVEs of the default size and the largest ones."""
    default, largest = Settings().n_fibres, max(tables)
    comparison = compare(tables[default], tables[largest])
    of_default, of_largest = [f"**{default}**"], [f"{largest}"]
    for name, decimals in SHOWN.items():
        j = comparison.ours.output_names.index(name)
        bias, error = (100.0 * v[j] for v in (comparison.bias, comparison.standard_error))
        scatter, reference = 100.0 * comparison.scatter[:, j]
        difference = f"{bias:+.{decimals}f}".replace("-", "−")
        spread = f"± {error:.{decimals}f} %; {scatter:.{decimals}f} %"
        of_default.append(f"**{difference} {spread}**")
        of_largest.append(f"{reference:.{decimals}f} %")
    header = ["fibres", *("_".join(name.split("_")[:2]) for name in SHOWN)]  # without units
    return {"size-effect": markdown(header, [of_default, of_largest])}


def main() -> None:
    """Print differences from the largest RVEs, and the exponents of the scatter."""
    parser = argparse.ArgumentParser("python -m studies.size_effect", description=__doc__)
    parser.add_argument("--write", action="store_true", help="also replace the committed tables")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes of the simulation")
    options = parser.parse_args()
    tables = {n: simulate(n, options.jobs) for n in MICROSTRUCTURES}
    comparisons = {n: compare(table, tables[max(tables)]) for n, table in tables.items()}
    for n, comparison in list(comparisons.items())[:-1]:  # the last is the reference
        print(f"{n} fibres: {format_comparison(comparison)}")
    scatter = [comparison.scatter[0] for comparison in comparisons.values()]
    print("exponents:", np.polyfit(np.log([*comparisons]), np.log(scatter), 1)[0].round(2))
    if options.write:
        for n in tables:
            shutil.copy(OUT / str(n) / "dataset.csv", TABLES / f"{n}.csv")
        publish({}, {PAGE: blocks(committed())}, write=True, program="studies.size_effect")


if __name__ == "__main__":
    main()
