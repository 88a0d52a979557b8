"""Cross-validate the default settings and scikit-learn's Gaussian process on the same folds."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=50, help="rows of train_uniform.csv")
parser.add_argument("--folds", type=int, default=5)
parser.add_argument("--out", type=Path, default=Path("cross_validation.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bnn
import fe_data
from safe_files.writing import save_picture

rves = pd.read_csv(fe_data.shipped_table("train_uniform"))[: options.rows]
X = rves[["vf", "E_f_GPa", "b_m_MPa", "c_m"]].to_numpy()
y = rves["E_eff_GPa"].to_numpy()
kernel = ConstantKernel() * RBF(np.ones(X.shape[1]), (1e-2, 1e3)) + WhiteKernel(1e-2, (1e-8, 1.0))
process = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, random_state=0)
models = {
    "bnn, defaults": bnn.GPRegressor(),
    "bnn, heteroscedastic": bnn.GPRegressor(noise="heteroscedastic"),
    "scikit-learn": TransformedTargetRegressor(
        make_pipeline(StandardScaler(), process), transformer=StandardScaler()
    ),
}
# scikit-learn warns if the length scale of an input without effect reaches its bound.
warnings.simplefilter("ignore", ConvergenceWarning)
folds = KFold(options.folds, shuffle=True, random_state=0)
score = "neg_root_mean_squared_error"
errors = {}
for name, model in models.items():
    errors[name] = -cross_val_score(model, X, y, cv=folds, scoring=score)
    print(f"{name:20} RMSE {errors[name].mean():.2f} GPa")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for place, values in enumerate(errors.values()):
    axes.plot(values, np.full(len(values), place), "o", color="C0", alpha=0.5)
    axes.plot(values.mean(), place, "|", color="C1", ms=25, mew=3)
axes.set_yticks(range(len(errors)), errors)
axes.set(xlabel="RMSE of E_eff [GPa], each fold and the mean", ylim=(-0.5, len(errors) - 0.5))
save_picture(figure, options.out)
