"""Active learning: fit, select the most informative RVEs, simulate them, repeat."""

import argparse
from dataclasses import replace
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--start", type=int, default=10, help="RVEs before the first selection")
parser.add_argument("--batch", type=int, default=5, help="RVEs that a round selects")
parser.add_argument("--rounds", type=int, default=3, help="rounds of selection")
parser.add_argument("--fibres", type=int, default=30, help="fibres of an RVE")
parser.add_argument("--jobs", type=int, default=2, help="RVEs that are simulated at once")
parser.add_argument("--data", type=Path, default=Path("data/loop"), help="folder of all rounds")
parser.add_argument("--out", type=Path, default=Path("next_rve.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import pandas as pd

import bnn
import fe_data
from fe_data.schema import INPUT_BOUNDS, INPUT_NAMES, required_outputs
from safe_files.writing import save_picture, write_atomic

INPUTS = list(INPUT_NAMES)
OUTPUTS = list(required_outputs())
settings = fe_data.Settings(n_fibres=options.fibres)
rves = fe_data.load_table(fe_data.shipped_table("noise"))  # repeated RVEs, for the noise
noise = bnn.HeteroscedasticNoise.from_replicates(rves.inputs, rves.outputs, rves.group)
noise = replace(noise, correlation=None)  # without it the fits are much faster


def write(table, path, beginning):
    """Write a table in one step; only an existing file with the same beginning is replaced."""
    write_atomic(path, table.to_csv(index=False).encode(), beginning)


options.data.mkdir(parents=True, exist_ok=True)
campaign = bnn.Campaign(  # resumes if it was stopped
    options.data / "campaign.json",
    [*INPUT_BOUNDS.values()],
    bnn.GPRegressor(noise=noise),
    n_initial=fe_data.named_design("replicates", count=options.start, replicates=1).inputs,
    batch_size=options.batch,
)
while campaign.round <= options.rounds:
    X = campaign.ask()
    number = campaign.round
    folder = options.data / f"{number:02}"
    folder.mkdir(exist_ok=True)
    write(pd.DataFrame(X, columns=INPUTS), folder / "design.csv", ",".join(INPUTS).encode())
    # The same as python -m fe_data generate --inputs design.csv --out . --seed NUMBER in the folder
    design = fe_data.design_from_file(folder / "design.csv", seed=number)
    fe_data.generate(design, settings, folder, jobs=options.jobs)  # resumes if it was stopped
    done = pd.read_csv(folder / "dataset.csv", float_precision="round_trip")
    campaign.tell(X, done[OUTPUTS])  # NaN if the RVE failed
    print(f"round {number}: {sum(map(len, campaign.rounds))} RVEs")
tables = [options.data / f"{k:02}" / "dataset.csv" for k in range(len(campaign.rounds))]
frames = [
    pd.read_csv(path, float_precision="round_trip").assign(round=k) for k, path in enumerate(tables)
]
write(
    pd.concat(frames).assign(std_after=campaign.deviations), options.data / "history.csv", b"index,"
)
save_picture(bnn.plots.plot_rounds(campaign.rounds, INPUTS), options.out)
