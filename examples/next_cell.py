"""Simulate cells where they are expected to help most: rounds of fit, choose, simulate, collect."""

import argparse
from dataclasses import replace
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
for name, default in {"start": 10, "batch": 5, "rounds": 3, "fibres": 30, "jobs": 2}.items():
    parser.add_argument(f"--{name}", type=int, default=default)
parser.add_argument("--data", type=Path, default=Path("data/loop"), help="a folder for each round")
parser.add_argument("--out", type=Path, default=Path("next_cell.png"), help="picture")
options = parser.parse_args()

# After the options: --help does not wait for these.
import pandas as pd

import bnn
import fe_data
from fe_data.dataset.record import write_atomic
from fe_data.schema import INPUT_NAMES, required_outputs

INPUTS = list(INPUT_NAMES)
OUTPUTS = list(required_outputs())
settings = fe_data.Settings(n_fibres=options.fibres)
cells = fe_data.load_table(
    Path("fe_data/datasets/noise.csv")
)  # repeated cells, which give the scatter
noise = bnn.HeteroscedasticNoise.from_replicates(cells.inputs, cells.outputs, cells.group)
noise = replace(noise, correlation=None)  # without it the fits are much faster


def write(table, path):
    """Write a table in one step, so that a killed process leaves no part of it."""
    write_atomic(path, table.to_csv(index=False).encode())


def chosen(cells):
    """The next cells, and the mean standard deviation of scaled outputs that is left after each."""
    X = cells[INPUTS].to_numpy()
    y = cells[OUTPUTS].to_numpy()
    model = bnn.ExactPosterior(bnn.evidence.fit_prior(X, y, noise), noise=noise).fit(X, y)
    candidates = fe_data.named_design("train_uniform", seed=len(X), count=500).inputs
    rows, variances = bnn.choose(model, candidates, options.batch)
    return pd.DataFrame(candidates[rows], columns=INPUTS).assign(std_after=variances[1:] ** 0.5)


design = fe_data.named_design("replicates", count=options.start, microstructures=1)
first = pd.DataFrame(design.inputs, columns=INPUTS)
rounds = []
for number in range(options.rounds + 1):
    folder = options.data / f"{number:02}"
    file = folder / "design.csv"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write(chosen(pd.concat(rounds).dropna(subset=OUTPUTS)) if rounds else first, file)
    # As python -m fe_data generate --inputs design.csv --out . --seed NUMBER in the folder does.
    design = fe_data.design_from_file(file, seed=number)
    fe_data.generate(design, settings, folder, jobs=options.jobs)  # goes on where it stopped
    done = pd.read_csv(folder / "dataset.csv", float_precision="round_trip").assign(round=number)
    rounds.append(done.join(pd.read_csv(file).drop(columns=INPUTS)))
    write(pd.concat(rounds), options.data / "history.csv")
    print(f"round {number}: {sum(map(len, rounds))} cells")
bnn.plots.plot_rounds([cells[INPUTS] for cells in rounds]).savefig(options.out)
