"""Fit your own table with default settings; score, save and load the model."""

import argparse
from pathlib import Path

import fe_data

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--train", type=Path, help="CSV file; by default RVEs of fe_data")
parser.add_argument("--test", type=Path, help="CSV file; by default every fifth row of --train")
parser.add_argument("--inputs", nargs="+", help="columns; by default all but outputs")
parser.add_argument("--outputs", nargs="+", help="columns; by default the last of --train")
parser.add_argument(
    "--noise", help="constant, heteroscedastic or student_t; by default chosen from the data"
)
parser.add_argument("--rows", type=int, help="first rows of --train to use; by default all")
parser.add_argument(
    "--out", type=Path, default=Path("table.png"), help="figure; the model goes next to it"
)
options = parser.parse_args()
if options.train is None:
    options.train = fe_data.shipped_table("train_uniform")
    options.inputs = options.inputs or ["vf", "E_f_GPa", "b_m_MPa", "c_m"]
    options.outputs = options.outputs or ["b_eff_MPa", "c_eff", "E_eff_GPa"]

# Imported after the options are parsed, so that --help is fast.
import numpy as np
import pandas as pd

import bnn
from safe_files.writing import save_picture

try:
    train = pd.read_csv(options.train)[: options.rows]
    test = pd.read_csv(options.test) if options.test else train[::5]
except (OSError, ValueError) as error:
    parser.error(str(error))
train = train if options.test else train.drop(test.index)
options.outputs = options.outputs or [train.columns[-1]]
options.inputs = options.inputs or [name for name in train if name not in options.outputs]
columns = options.inputs + options.outputs
for name, table in (("--train", train), ("--test", test)):
    if missing := [column for column in columns if column not in table]:
        parser.error(f"{name} has no column {missing[0]!r}: {', '.join(table)}")
train, test = (table.dropna(subset=columns) for table in (train, test))
sizes = f"{len(train)} training rows, {len(test)} test rows"
if min(len(train), len(test)) < 2:
    parser.error(f"{sizes}: must be at least two each")

# Prior and noise are estimated from the evidence; no scaling of the data is needed.
try:
    model = bnn.GPRegressor(noise=options.noise)
    model.fit(train[options.inputs], train[options.outputs])
except ValueError as error:
    parser.error(str(error))
simulated = test[options.outputs].to_numpy()
mean, std = model.predict(test[options.inputs], return_std=True, include_noise=True)
errors = bnn.metrics.rmse(simulated, mean, per_output=True) / simulated.std(axis=0)
inside = bnn.metrics.coverage(simulated, mean, std, per_output=True)
print(sizes)
for name, error, share in zip(options.outputs, errors, inside, strict=True):
    print(f"{name:10} RMSE {error:.3f} of the scatter, inside 95 % {share:.2f}")
save_picture(bnn.plots.plot_parity(simulated, mean, std, options.outputs), options.out)

model.save(options.out.with_suffix(".npz"))
again = bnn.load(options.out.with_suffix(".npz")).predict(test[options.inputs])
print("loaded model predicts the same:", np.array_equal(again, mean))
