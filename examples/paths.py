"""Predict the stress on arbitrary strain paths, with a band, from a hundred simulated paths."""

import argparse
from functools import partial
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--paths", type=int, default=100, help="simulated random training paths")
parser.add_argument("--out", type=Path, default=Path("paths.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np

from bnn.paths import MaterialPointBasis, PhaseProperties, StrainPathEnsemble, fit_scatter
from fe_data import load_paths, strain_concentration
from fe_data.schema import INPUT_BOUNDS
from safe_files.writing import save_picture

random_paths = load_paths("random")
repeated = load_paths("repeated_random")  # five microstructures for each path
n = options.paths

# The prior: material points around a mean-field model with a softened matrix.
bounds = np.transpose(list(INPUT_BOUNDS.values()))
basis = MaterialPointBasis(
    partial(strain_concentration, softening=0.1), bounds, PhaseProperties(**random_paths.phases)
)
scatter = fit_scatter(basis, repeated.inputs, repeated.strain, repeated.stress)
model = StrainPathEnsemble(basis, scatter, random_state=0)
model.fit(random_paths.inputs[:n], random_paths.strain[:n], random_paths.stress[:n, 0])

figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
titles = {
    "reference_random": "a random path",
    "reference_random_large": "a random path of 1.5 times the strains",
    "reference_cycles": "a cycle, unlike the training paths",
}
for ax, (name, title) in zip(panels, titles.items(), strict=True):
    reference = load_paths(name)
    mean, std = model.predict(reference.inputs, reference.strain, return_std=True)
    inside = abs(mean - reference.mean_stress) < 1.96 * std
    error = np.mean((mean - reference.mean_stress) ** 2) / reference.mean_stress.var()
    print(f"{name}: {100 * inside.mean():.0f} % inside the band, error {error:.1e} of the variance")
    # Engineering shear strain of the first RVE [%]
    shear = 200 * reference.strain[0, :, 2]
    low = mean[0, :, 2] - 1.96 * std[0, :, 2]
    high = mean[0, :, 2] + 1.96 * std[0, :, 2]
    ax.plot(shear, reference.stress[0, :, :, 2].T, color="0.8", lw=0.7)
    ax.plot(
        shear, reference.mean_stress[0, :, 2], "k", label="simulated, 20 microstructures and mean"
    )
    ax.plot(shear, np.transpose([low, high]), "C0", lw=0.8)
    ax.plot(shear, mean[0, :, 2], "C0--", label="predicted, mean and 95 % band")
    ax.set(title=title, xlabel="engineering shear strain [%]", ylabel="shear stress [MPa]")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
save_picture(figure, options.out)
