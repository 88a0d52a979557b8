"""Learn from tables: read CSV files, choose a prior by the evidence, score, save and load."""

import argparse
from pathlib import Path

TABLES = Path("fe_data/datasets")
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--train", type=Path, default=TABLES / "train_uniform.csv")
parser.add_argument("--test", type=Path, default=TABLES / "test_uniform.csv")
parser.add_argument("--repeats", type=Path, default=TABLES / "noise.csv", help="equal in group")
parser.add_argument("--rows", type=int, help="of the training table; all by default")
parser.add_argument("--out", type=Path, default=Path("table.png"), help="picture, model beside it")
options = parser.parse_args()

# After the options: --help does not wait for these.
import numpy as np
import pandas as pd

import bnn
from bnn.noise import replicate_covariance

INPUTS = ["vf", "E_f_GPa", "b_m_MPa", "c_m"]
OUTPUTS = ["b_eff_MPa", "c_eff", "E_eff_GPa"]

train = pd.read_csv(options.train)[: options.rows]
test = pd.read_csv(options.test)
repeats = pd.read_csv(options.repeats)
noise = np.sqrt(np.diag(replicate_covariance(repeats[OUTPUTS], repeats["group"])))
prior = bnn.evidence.fit_prior(train[INPUTS], train[OUTPUTS], noise)
model = bnn.ExactPosterior(prior, noise=noise).fit(train[INPUTS], train[OUTPUTS])

truth = test[OUTPUTS].to_numpy()
mean, std = model.predict(test[INPUTS], return_std=True)
errors = bnn.metrics.rmse(truth, mean, per_output=True) / truth.std(axis=0)
inside = bnn.metrics.coverage(truth, mean, std, noise=noise, per_output=True)
for name, error, share in zip(OUTPUTS, errors, inside, strict=True):
    print(f"{name:10} RMSE {error:.3f} of the scatter, inside 95 % {share:.2f}")
print(f"ELPPD {bnn.metrics.elppd_gaussian(truth, mean, std, noise):.1f}")
bnn.plots.plot_parity(truth, mean, np.hypot(std, noise), OUTPUTS).savefig(options.out)

model.save(options.out.with_suffix(".npz"))
again = bnn.load(options.out.with_suffix(".npz")).predict(test[INPUTS])
print("loaded model predicts the same:", np.array_equal(again, mean))
