"""Predict the stiffness of epoxy with glass, carbon or boron fibres; the type is a text column."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--fibres", type=int, default=12, help="fibres of each RVE")
parser.add_argument("--rves", type=int, default=8, help="RVEs with glass or carbon; boron has half")
parser.add_argument("--out", type=Path, default=Path("categories.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bnn
from fe_data import Phases, effective_constants, named_phases
from fe_data.geometry.microstructure import random_microstructure
from safe_files.writing import save_picture

epoxy = named_phases("glass_epoxy").matrix
fibres = {name.split("_")[0]: named_phases(name).fibres for name in ("glass_epoxy", "carbon_epoxy")}
fibres["boron"] = named_phases("boron_aluminium").fibres
rows = []
for kind, material in fibres.items():
    number = options.rves // 2 if kind == "boron" else options.rves
    for seed, vf in enumerate(np.linspace(0.2, 0.5, number).round(3)):
        rve = random_microstructure(vf, seed, options.fibres)
        constants = effective_constants(Phases(epoxy, material), rve, resolution=4.0).constants
        rows.append((kind, vf, constants.E_T_GPa, constants.G_LT_GPa))
table = pd.DataFrame(rows, columns=["fibre", "vf", "E_T_GPa", "G_LT_GPa"])

inputs, outputs = ["fibre", "vf"], ["E_T_GPa", "G_LT_GPa"]
# Replace the text by a column of zeros and ones per type; keep the other columns.
columns = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["fibre"]), remainder="passthrough"
)
model = make_pipeline(columns, bnn.GPRegressor()).fit(table[inputs], table[outputs])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
fractions = np.linspace(0.2, 0.5, 61)
for number, kind in enumerate(fibres):
    X = pd.DataFrame({"fibre": kind, "vf": fractions})
    mean, std = model.predict(X, return_std=True, include_noise=True)
    of_kind = table[table.fibre == kind]
    at = [f"{name} {mean[30, j]:.2f} ± {2 * std[30, j]:.2f}" for j, name in enumerate(outputs)]
    print(f"{kind}, {len(of_kind)} RVEs, at a fibre fraction of 0.35: {', '.join(at)}")
    for j, (ax, name) in enumerate(zip(axes, outputs, strict=True)):
        m, half = mean[:, j], 2 * std[:, j]
        ax.fill_between(fractions, m - half, m + half, alpha=0.3, color=f"C{number}")
        ax.plot(fractions, m, color=f"C{number}", label=kind)
        ax.plot(of_kind.vf, of_kind[name], ".", color=f"C{number}")
        ax.set(title=name.replace("_GPa", " [GPa]"), xlabel="fibre fraction [-]")
axes[0].legend(frameon=False, title="points: RVEs; bands: 95 %")
save_picture(figure, options.out)
