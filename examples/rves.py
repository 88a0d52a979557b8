"""Simulate RVEs with fe_data, then fit their difference from a mean-field model with bnn."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rves", type=int, default=50, help="number of simulated RVEs")
parser.add_argument("--fibres", type=int, default=30, help="fibres of each RVE")
parser.add_argument("--jobs", type=int, default=2, help="simulation processes")
parser.add_argument("--data", type=Path, default=Path("data/rves"), help="dataset folder")
parser.add_argument("--out", type=Path, default=Path("rves.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import bnn
import fe_data
from safe_files.writing import save_picture

design = fe_data.named_design("train_uniform", count=options.rves)
settings = fe_data.Settings(n_fibres=options.fibres)
fe_data.generate(design, settings, options.data, jobs=options.jobs)  # resumes if it was stopped
table = fe_data.load_table(options.data / "dataset.csv")
names = ["b_eff [MPa]", "E_eff [GPa]"]
X = table.inputs
y = table.outputs[:, [0, 2]]


def mean_field(X):
    """Return both properties from mean-field homogenisation, without any simulation."""
    return fe_data.mean_field(X, settings, outputs=["b_eff_MPa", "E_eff_GPa"])


trend = {"mean": mean_field, "mean_features": ()}
# The noise is the scatter between microstructures, which grows with the volume fraction.
noise = bnn.evidence.fit_heteroscedastic_noise(X, y, **trend)
model = bnn.GPRegressor(bnn.evidence.fit_prior(X, y, noise, **trend), noise=noise).fit(X, y)
mean, std = model.predict([[0.3, 400.0, 400.0, 0.4]], return_std=True, include_noise=True)
for name, m, s in zip(names, mean[0], std[0], strict=True):
    print(f"a new RVE: {name} {m:.1f} ± {2 * s:.1f}")
labels = {"input_names": ["vf [-]", "E_f [GPa]", "b_m [MPa]", "c_m [-]"], "output_names": names}
save_picture(bnn.plots.plot_slices(model, X, y, **labels), options.out)
