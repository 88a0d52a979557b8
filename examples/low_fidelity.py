"""Use the Halpin-Tsai equation as prior, to extrapolate from eight RVEs of low volume fraction."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--members", type=int, default=30, help="networks")
parser.add_argument("--out", type=Path, default=Path("low_fidelity.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import numpy as np
import pandas as pd
from scipy import stats

import bnn
import fe_data
from safe_files.writing import save_picture


def halpin_tsai(X, zeta):
    """Return the transverse modulus [GPa], (n,), for volume fraction and fibre modulus X (n, 2)."""
    ratio = X[:, 1] / 100.0  # the modulus of the matrix is 100 GPa
    eta = (ratio - 1.0) / (ratio + zeta)
    return 100.0 * (1.0 + zeta * eta * X[:, 0]) / (1.0 - eta * X[:, 0])


train = pd.read_csv(fe_data.shipped_table("train_uniform"))
test = pd.read_csv(fe_data.shipped_table("test_uniform"))
few = train[train["vf"] < 0.2][:8]
X = few[["vf", "E_f_GPa"]].to_numpy()
y = few["E_eff_GPa"]
X_new = test[["vf", "E_f_GPa"]].to_numpy()
simulated = test["E_eff_GPa"]
prior = bnn.SamplerPrior(halpin_tsai, {"zeta": stats.uniform(0.2, 2.0)})  # 0.2 to 2.2
model = bnn.FunctionAnchoredEnsemble(
    prior,
    noise=0.5,  # GPa
    n_members=options.members,
    pretraining=bnn.Pretraining(options.members, training=bnn.TrainingSettings(epochs=500)),
    random_state=0,
)
points = np.random.default_rng(0).uniform((0.05, 200.0), (0.40, 600.0), (200, 2))
model.pretrain(points).fit(X, y)  # pre-trained where it will predict
models = {"zeta uncertain": model}
for name, mean in {"zeta 1, corrected": lambda X: halpin_tsai(X, 1.0), "without": None}.items():
    smooth = bnn.evidence.fit_prior(X, y, 0.5, mean=mean)
    models[name] = bnn.GPRegressor(smooth, noise=0.5).fit(X, y)
for name, fitted in models.items():
    mean, std = fitted.predict(X_new, return_std=True)
    error = bnn.metrics.rmse(simulated, mean)
    inside = bnn.metrics.coverage(simulated, mean, std, noise=0.5)
    print(f"{name:17} RMSE {error:.2f} GPa, inside 95 % {inside:.2f}")
names = {"input_names": ["vf [-]", "E_f [GPa]"], "output_names": ["E_eff [GPa]"]}
save_picture(bnn.plots.plot_slices(model, X_new, simulated, at=(0.3, 400.0), **names), options.out)
