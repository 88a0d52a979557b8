"""Select the next runs of any command that prints numbers; an interrupted loop continues."""

import argparse
import subprocess
from pathlib import Path

# A cantilever under 1 kN at its tip: deflection of the tip [mm] and largest stress [MPa].
CANTILEVER = """awk 'BEGIN { l = 1e3 * $length; h = $height; E = 1e3 * $modulus; I = 50 * h ^ 3 / 12
print 1000 * l ^ 3 / (3 * E * I), 1000 * l * h / (2 * I) }'"""
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--command", default=CANTILEVER, help="shell command; $NAME is an input")
parser.add_argument("--runs", type=int, default=25, help="about how many runs to make")
parser.add_argument("--data", type=Path, default=Path("campaign.json"), help="file of all runs")
parser.add_argument("--out", type=Path, default=Path("campaign.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
from string import Template

import numpy as np

import bnn
from safe_files.writing import save_picture

INPUTS = {"length": (0.5, 2.0), "height": (20.0, 60.0), "modulus": (70.0, 210.0)}
OUTPUTS = ["deflection [mm]", "stress [MPa]"]
LARGEST = [np.inf, 250.0]  # beams that yield are left out


def simulate(x):
    """Return the logarithms of the two numbers that the command prints; NaN if it fails."""
    command = Template(options.command).safe_substitute(dict(zip(INPUTS, x, strict=True)))
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [np.nan, np.nan]
    numbers = [float(word) for word in done.stdout.split()]
    if len(numbers) != len(OUTPUTS):
        raise SystemExit(f"the command printed {done.stdout!r}: must be {len(OUTPUTS)} numbers")
    return np.log(numbers)


def costs(X):
    """Return the cost of each run, here proportional to the length of the beam."""
    return X[:, 0]


asked = {"costs": costs, "output_bounds": (None, np.log(LARGEST)), "min_gain": 0.02}
bounds = np.array([*INPUTS.values()])
campaign = bnn.Campaign(options.data, bounds, n_initial=8, batch_size=4, select_options=asked)
while len(campaign.X) < options.runs and len(X := campaign.ask()):
    for x in X:  # each result is in the file before the next run starts
        campaign.tell([x], [simulate(x)])
    print(f"round {campaign.round - 1}: {len(campaign.X)} runs")
mean, std = campaign.fit().predict(bounds.mean(axis=1)[None], return_std=True)
for name, m, s in zip(OUTPUTS, mean[0], std[0], strict=True):
    print(f"in the middle: {name} {np.exp(m):.4g}, within a factor of {np.exp(2 * s):.3f}")
save_picture(bnn.plots.plot_rounds(campaign.rounds, [*INPUTS]), options.out)
