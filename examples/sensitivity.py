"""Rank the inputs of a composite by main effects and Sobol indices of its properties."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--points", type=int, default=1024, help="base points, a power of two")
parser.add_argument("--out", type=Path, default=Path("sensitivity.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import pandas as pd

import bnn
import fe_data
from safe_files.writing import save_picture

INPUTS = {
    "vf": (0.05, 0.40),
    "E_f_GPa": (200.0, 600.0),
    "b_m_MPa": (300.0, 500.0),
    "c_m": (0.20, 0.55),
}
OUTPUTS = ["b_eff_MPa", "c_eff", "E_eff_GPa"]
table = pd.read_csv(fe_data.shipped_table("train_uniform"))[:50]
model = bnn.GPRegressor().fit(table[[*INPUTS]], table[OUTPUTS])
print(model.summary())
indices = bnn.sensitivity(model, [*INPUTS.values()], options.points)
for name, alone, whole in zip(OUTPUTS, indices.first, indices.total, strict=True):
    shares = [f"{i} {a:.2f} ({t:.2f})" for i, a, t in zip(INPUTS, alone, whole, strict=True)]
    print(f"{name}: alone (with interactions) {', '.join(shares)}")
save_picture(bnn.plots.plot_sensitivity(indices, [*INPUTS], OUTPUTS), options.out)
