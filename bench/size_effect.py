"""How properties hang on the number of fibres in a cell: python -m bench.size_effect prints it.

Cells of 15, 30, 60 and 120 fibres at six inputs, fewer arrangements of larger ones: differences of
their means to those of the largest, and how they scatter. A run that was ended goes on.
"""

import argparse
from pathlib import Path

import numpy as np

from fe_data import Design, Settings, Statistics, generate, load_table, replicate_statistics
from fe_data.settings import OUTPUT_NAMES

ARRANGEMENTS = {15: 100, 30: 70, 60: 36, 120: 20}  # for each input, by number of fibres
INPUTS = np.array([  # the middle of the box, and five of its corners
    [0.225, 400.0, 400.0, 0.375],
    [0.05, 200.0, 500.0, 0.20],
    [0.05, 600.0, 300.0, 0.55],
    [0.40, 200.0, 300.0, 0.55],
    [0.40, 600.0, 300.0, 0.20],
    [0.40, 600.0, 500.0, 0.55],
])  # fmt: skip


def simulate(n_fibres: int, folder: Path, jobs: int) -> Statistics:
    groups = np.arange(len(INPUTS)).repeat(ARRANGEMENTS[n_fibres])
    design = Design("inputs", 0, INPUTS[groups], groups)
    generate(design, Settings(n_fibres=n_fibres), folder / str(n_fibres), jobs=jobs)
    return replicate_statistics(load_table(folder / str(n_fibres) / "dataset.csv"))


def row(name: object, values: np.ndarray | list[str]) -> None:
    print(f"| {name} | {' | '.join(values)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("data/size_effect"), help="for the cells")
    parser.add_argument("--jobs", type=int, default=2, help="number of worker processes")
    given = parser.parse_args()
    found = {n: simulate(n, given.out, given.jobs) for n in ARRANGEMENTS}
    exact = found[max(found)]
    # In percent of the property; p_sigma, which may be 0, in percent of the fibres' area.
    unit = np.where(np.array(OUTPUT_NAMES) == "p_sigma", 1.0, exact.mean) / 100
    scatter = {n: np.sqrt(((s.std / unit) ** 2).mean(axis=0)) for n, s in found.items()}
    row("fibres, difference [%]", [*OUTPUT_NAMES])
    for n, each in found.items():
        bias = ((each.mean - exact.mean) / unit).mean(axis=0)
        errors = np.hypot(each.standard_error, exact.standard_error * (each is not exact)) / unit
        error = np.sqrt((errors**2).sum(axis=0)) / len(INPUTS)
        row(n, [f"{b:+.2f} ± {e:.2f}" for b, e in zip(bias, error, strict=True)])
    row("fibres, scatter [%]", [*OUTPUT_NAMES])
    for n in found:
        row(n, [f"{s:.2f}" for s in scatter[n]])
    slopes = np.polyfit(np.log([*scatter]), np.log([*scatter.values()]), 1)[0]
    row("exponent of the number", [f"{slope:.2f}" for slope in slopes])


if __name__ == "__main__":
    main()
