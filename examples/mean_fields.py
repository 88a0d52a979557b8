"""Use a mean-field model with uncertain parameters, plus a discrepancy, as prior."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--draws", type=int, default=8, help="number of parameter draws")
parser.add_argument("--out", type=Path, default=Path("mean_fields.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import numpy as np
import pandas as pd
from scipy import special, stats

import bnn
import fe_data
from safe_files.writing import save_picture

INPUTS = ["vf", "E_f_GPa", "b_m_MPa", "c_m"]
RANGES = {
    "b_eff_MPa": (300, 800),
    "c_eff": (0.16, 0.50),
    "E_eff_GPa": (100, 170),
    "nu_eff": (0.277, 0.299),
}
low, high = np.transpose(list(RANGES.values()))
train = pd.read_csv(fe_data.shipped_table("train_beta"))
repeated = pd.read_csv(fe_data.shipped_table("noise"))
X = train[INPUTS].to_numpy()
y = 2 * (train[[*RANGES]].to_numpy() - low) / (high - low) - 1
X_rves = repeated[INPUTS].to_numpy()
rves = 2 * (repeated[[*RANGES]].to_numpy() - low) / (high - low) - 1
groups = repeated["group"].to_numpy()
noise = bnn.HeteroscedasticNoise.from_replicates(X_rves, rves, groups, squares=(0,))
# Means of 50 RVEs each, to which nothing is fitted. The default parameters of the mean-field model
# are fitted to the means of `repeated`.
reference = pd.read_csv(fe_data.shipped_table("reference"))
points = reference[INPUTS].to_numpy()
simulated = 2 * (reference[[*RANGES]].to_numpy() - low) / (high - low) - 1
errors = reference[[f"standard_error_{name}" for name in RANGES]].to_numpy()
of_means = 2 * errors / (high - low)  # standard errors of the means


def mean_field(X, **parameters):
    """Return the scaled properties from mean-field homogenisation."""
    return 2 * (fe_data.mean_field(X, outputs=[*RANGES], **parameters) - low) / (high - low) - 1


def learnt(parameters, estimate="average"):
    """Fit a Gaussian process whose prior mean is the mean-field model with given parameters."""
    trend = {"mean": lambda X: mean_field(X, **parameters), "mean_features": ()}
    prior = bnn.evidence.fit_prior(X, y, noise, estimate=estimate, **trend)
    return bnn.GPRegressor(prior, noise=noise).fit(X, y)


uncertain = {
    "reference": stats.uniform(0.0, 0.5),
    "fluctuation": stats.uniform(0.3, 0.5),
    "hardening": stats.uniform(0.95, 0.1),
}
check = bnn.check_prior(
    bnn.SamplerPrior(mean_field, uncertain), X, y, noise, realisations=20, random_state=0
)
print("distance from the prior without discrepancy:", check.distance.round(1), "(1 = agrees)")
levels = stats.qmc.LatinHypercube(3, seed=0).random(options.draws).T
drawn = [law.ppf(u) for law, u in zip(uncertain.values(), levels, strict=True)]
sets = [dict(zip(uncertain, row, strict=True)) for row in zip(*drawn, strict=True)]
models = [learnt(values) for values in sets]
weights = special.softmax([learnt(values, "map").log_evidence() for values in sets])
moments = [model.predict(points, return_std=True) for model in models]
mean = sum(w * m for w, (m, _) in zip(weights, moments, strict=True))
variance = sum(w * (s**2 + (m - mean) ** 2) for w, (m, s) in zip(weights, moments, strict=True))
predictions = {
    "as they are": learnt({}).predict(points, True),
    "uncertain": (mean, np.sqrt(variance)),
}
for name, (m, s) in predictions.items():
    error = bnn.metrics.rmse(simulated, m)
    inside = bnn.metrics.coverage(simulated, m, np.hypot(s, of_means))
    print(f"{name:11} RMSE {error:.3f}, inside 95 % {inside:.2f}")
save_picture(bnn.plots.plot_parity(simulated, mean, np.sqrt(variance), [*RANGES]), options.out)
