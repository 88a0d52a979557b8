"""Fit elastic constants of carbon/epoxy over the fibre fraction, with a band for the scatter."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--fibres", type=int, default=12, help="fibres of each RVE")
parser.add_argument("--seeds", type=int, default=4, help="microstructures per fibre fraction")
parser.add_argument("--out", type=Path, default=Path("carbon.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np

import bnn
from fe_data import effective_constants, named_phases
from fe_data.composite.constants import bounds
from fe_data.geometry.microstructure import random_microstructure
from safe_files.writing import save_picture

phases = named_phases("carbon_epoxy")
names = ["E_T_GPa", "G_LT_GPa", "G_TT_GPa", "nu_TT"]
rows = [(vf, seed) for vf in np.linspace(0.2, 0.5, 7).round(3) for seed in range(options.seeds)]
results = [
    effective_constants(phases, random_microstructure(vf, seed, options.fibres), resolution=4.0)
    for vf, seed in rows
]
X = np.array(rows)[:, :1]
y = np.array([[getattr(result.constants, name) for name in names] for result in results])
model = bnn.GPRegressor().fit(X, y)
fractions = np.linspace(0.2, 0.5, 61)
mean, std = model.predict(fractions[:, None], return_std=True, include_noise=True)
limits = [bounds(phases, vf) for vf in fractions]
figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", sharex=True)
for j, (ax, name) in enumerate(zip(axes.flat, names, strict=True)):
    m, half = mean[:, j], 2 * std[:, j]
    ax.fill_between(fractions, m - half, m + half, alpha=0.3, label="95 % of microstructures")
    ax.plot(fractions, m, label="surrogate")
    ax.plot(X[:, 0], y[:, j], "k.", ms=4, label="RVEs")
    for label, side in zip((None, "bounds"), zip(*limits, strict=True), strict=True):
        ax.plot(fractions, [getattr(bound, name) for bound in side], "k:", lw=0.8, label=label)
    ax.set(title=name.replace("_GPa", " [GPa]"), ylim=(0.93 * y[:, j].min(), 1.07 * y[:, j].max()))
    print(f"{name} at a fibre fraction of 0.35: {m[30]:.3f} ± {half[30]:.3f}")
for ax in axes[1]:
    ax.set_xlabel("fibre fraction [-]")
axes[0, 0].legend(frameon=False)
save_picture(figure, options.out)
