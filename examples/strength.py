"""Simulate RVEs until they break, then predict mean, scatter and 5 % quantile of their strength."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rves", type=int, default=40, help="number of simulated RVEs")
parser.add_argument("--fibres", type=int, default=6, help="fibres of each RVE")
parser.add_argument("--out", type=Path, default=Path("strength.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np

from bnn import GPRegressor
from fe_data import Settings, named_phases
from fe_data.composite.strengths import sample_strength
from safe_files.writing import save_picture

phases = named_phases("glass_epoxy_debonding")
settings = Settings(n_fibres=options.fibres, resolution=3.0)  # coarse elements
vf, strength = [], []
for seed, fraction in enumerate(np.linspace(0.3, 0.6, options.rves).tolist()):
    rve = sample_strength(phases, "transverse_tension", fraction, seed, settings)
    if rve.strength is None or not rve.is_reached:
        print(f"left out: v_f {fraction:.3f}, seed {seed}: {rve.reason}")
        continue
    vf.append([fraction])
    strength.append(rve.strength.strength_MPa)

# The noise is the scatter between microstructures.
model = GPRegressor().fit(vf, strength)
at = np.linspace(0.3, 0.6, 101)[:, None]
mean, std = model.predict(at, return_std=True, include_noise=True)
weak = mean - 1.645 * std  # 5 % of normally distributed strengths are below
middle = len(at) // 2
print(f"v_f = {at[middle, 0]:.2f}: {mean[middle]:.1f} ± {2 * std[middle]:.1f} MPa", end="")
print(f", 5 % of the RVEs are weaker than {weak[middle]:.1f} MPa")

figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
axes.fill_between(
    at[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, lw=0, label="mean ± 2 std"
)
axes.plot(at, mean, "C0", label="mean")
axes.plot(at, weak, "C3--", label="5 % quantile")
axes.plot(vf, strength, "k.", label="simulated RVEs")
axes.set(xlabel="volume fraction of the fibres [–]", ylabel="strength in transverse tension [MPa]")
axes.set(title=f"Glass/epoxy that debonds, RVEs of {options.fibres} fibres", xlim=(0.3, 0.6))
axes.legend(frameon=False)
save_picture(figure, options.out)
