"""Predict RVEs with higher volume fractions than in training, with and without a prior equation."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rves", type=int, default=20, help="RVEs; a quarter of them train")
parser.add_argument("--members", type=int, default=30, help="networks")
parser.add_argument("--fibres", type=int, default=30, help="fibres of each RVE")
parser.add_argument("--out", type=Path, default=Path("anchored.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import bnn
import fe_data
from fe_data.mechanics.plots import draw_mises
from safe_files.writing import save_picture

LOW = 0.06  # volume fractions of the fibres
HIGH = 0.40
LEARNT = 0.15
settings = fe_data.Settings(n_fibres=options.fibres)
content = np.linspace(LOW, HIGH, options.rves)
rves = [
    fe_data.solve_rve(fe_data.Inputs(vf, 400.0, 400.0, 0.4), settings, seed=seed)
    for seed, vf in enumerate(content)
]
X = content[:, None]
y = np.array([rve.effective.E_eff_GPa for rve in rves])
few = content < LEARNT


def halpin_tsai(X, zeta):
    """Return the modulus [GPa], (n,), at fractions X (n, 1) of 400 GPa fibres in 100 GPa matrix."""
    eta = (4.0 - 1.0) / (4.0 + zeta)
    return 100.0 * (1.0 + zeta * eta * X[:, 0]) / (1.0 - eta * X[:, 0])


prior = bnn.SamplerPrior(halpin_tsai, {"zeta": stats.uniform(0.2, 2.0)})  # 0.2 to 2.2
bounds = bnn.Scaling(inputs=[(LOW, HIGH)], outputs=[(100.0, 180.0)])
K = options.members
smooth = bnn.Architecture((20, 20), "silu")
shared = {"noise": 0.5, "n_members": K, "network": smooth, "scaling": bounds, "random_state": 0}
anchored = bnn.FunctionAnchoredEnsemble(
    prior,
    pretraining=bnn.Pretraining(K, training=bnn.TrainingSettings(epochs=500)),
    anchoring=bnn.FunctionAnchoring(n_points=20),
    **shared,
)
anchored.pretrain(np.linspace(LOW, HIGH, 100)[:, None])
models = {"random initial weights": bnn.VanillaEnsemble(**shared)}
models["anchored to Halpin and Tsai"] = anchored

figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
draw_mises(panels[0], rves[-1])
panels[0].set_title(f"one RVE, {HIGH:.0%} fibres")
grid = np.linspace(LOW, HIGH, 100)[:, None]
for axes, (name, model) in zip(panels[1:], models.items(), strict=True):
    mean, std = model.fit(X[few], y[few]).predict(grid, return_std=True, include_noise=True)
    axes.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.25, lw=0)
    axes.plot(grid, mean, label="mean ± 2 std")
    axes.plot(X[few], y[few], "ko", ms=4, label="training RVEs")
    axes.plot(X[~few], y[~few], "kx", ms=5, label="test RVEs")
    axes.set(title=name, xlabel="volume fraction of the fibres", ylabel="effective modulus [GPa]")
    axes.set_ylim(100, 180)
    m, s = model.predict(X[~few], return_std=True, include_noise=True)
    inside = np.mean(abs(m - y[~few]) < 2 * s)
    print(f"{name}: RMSE {bnn.metrics.rmse(y[~few], m):.1f} GPa, {inside:.0%} within ± 2 std")
drawn = prior.sample(grid, 20, random_state=0)[..., 0]
lines = panels[2].plot(grid, drawn.T, color="0.6", lw=0.5, zorder=0)
panels[1].legend(frameon=False, loc="upper left")
panels[2].legend(lines[:1], ["Halpin and Tsai, 0.2 < ζ < 2.2"], frameon=False, loc="upper left")
save_picture(figure, options.out, dpi=130)
