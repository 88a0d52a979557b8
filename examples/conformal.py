"""Compute intervals that are valid under any prior: CV+ of MAPIE around a Gaussian process."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rves", type=int, default=30, help="training RVEs")
parser.add_argument("--out", type=Path, default=Path("conformal.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from mapie.regression import CrossConformalRegressor

import bnn
import fe_data
from safe_files.writing import save_picture

LEVEL = 0.9
train, test = (
    pd.read_csv(fe_data.shipped_table(f"{name}_uniform"))[["vf", "E_f_GPa", "E_eff_GPa"]].to_numpy()
    for name in ("train", "test")
)
X = train[: options.rves, :2]
y = train[: options.rves, 2]
model = bnn.GPRegressor().fit(X, y)
mean, std = model.predict(test[:, :2], return_std=True, include_noise=True)
# Each of ten folds is left out once; prior and noise are estimated again from the other folds.
folds = CrossConformalRegressor(bnn.GPRegressor(), confidence_level=LEVEL, cv=10, random_state=0)
_, intervals = folds.fit_conformalize(X, y).predict_interval(test[:, :2])
intervals_of = {
    "posterior": (mean - 1.645 * std, mean + 1.645 * std),
    "CV+": (intervals[:, 0, 0], intervals[:, 1, 0]),
}
observed = test[:, 2]
order = np.argsort(mean)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for axes, (name, (low, high)) in zip(panels, intervals_of.items(), strict=True):
    inside = (low <= observed) & (observed <= high)
    width = np.mean(high - low)
    print(f"{name:10} inside {LEVEL:.0%} intervals {inside.mean():.2f}, width {width:.2f} GPa")
    places = range(len(order))
    axes.vlines(places, (low - mean)[order], (high - mean)[order], color="C0", lw=3, alpha=0.5)
    axes.scatter(places, (observed - mean)[order], s=12, c=np.where(inside, "k", "C1")[order])
    axes.set(title=name, xlabel="test RVEs, by predicted modulus")
panels[0].set_ylabel("modulus minus prediction [GPa]")
save_picture(figure, options.out)
