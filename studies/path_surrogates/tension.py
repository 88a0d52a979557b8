"""Stress in tension from random paths and from curves: python -m studies.path_surrogates.tension.

`StrainPathEnsemble` is fitted to random paths, without any tension test. A surrogate of curves, a
Gaussian process for their principal components, is fitted only to tension tests. Both predict the
mean stress xx of `reference_tension` at the 50 strains of the shipped curves.
"""

import argparse

import numpy as np
import torch

import bnn
from bnn.paths import StrainPathEnsemble, fit_scatter
from fe_data import load_curves, load_table
from figures.pipeline.paths import ROOT
from studies.path_surrogates import data

SIZES = (25, 50, 100)
TABLE = ROOT / "fe_data" / "datasets" / "train_uniform.csv"


def main() -> None:
    """Print error and coverage of both surrogates for each number of training RVEs."""
    argparse.ArgumentParser(
        "python -m studies.path_surrogates.tension", description=__doc__
    ).parse_args()
    torch.set_num_threads(1)
    sets = data.load()
    reference = sets.references["reference_tension"]
    # Every second of the 100 increments coincides with one of the 50 increments of the curves.
    stress = reference.mean_stress[:, 1::2, 0]
    of_mean = reference.stress[:, :, 1::2, 0].var(axis=1, ddof=1) / reference.stress.shape[1]
    curves = load_curves(TABLE)
    assert np.allclose(curves.strain[-1], reference.strain[0, -1, 0])
    basis = data.default_basis()
    repeated = sets.repeated_random
    scatter = fit_scatter(basis, repeated.inputs, repeated.strain, repeated.stress)
    for n in SIZES:
        random_paths = sets.random_paths
        paths = StrainPathEnsemble(basis, scatter, n_members=1, random_state=0)
        paths.fit(random_paths.inputs[:n], random_paths.strain[:n], random_paths.stress[:n, 0])
        mean, std = paths.predict(reference.inputs, reference.strain, return_std=True)
        _report("random paths", n, mean[:, 1::2, 0], std[:, 1::2, 0], stress, of_mean)
        # Logarithms, because curves are positive and their scatter is proportional to the stress.
        model = bnn.PCARegressor(bnn.GPRegressor())
        model.fit(load_table(TABLE).inputs[:n], np.log(curves.stress[:n]))
        logs, spread = model.predict(reference.inputs, return_std=True)
        of_curves = np.exp(logs)
        _report("curves", n, of_curves, of_curves * spread, stress, of_mean)


def _report(
    kind: str,
    n: int,
    mean: np.ndarray,
    std: np.ndarray,
    stress: np.ndarray,
    of_mean: np.ndarray,
) -> None:
    """Print the root mean square relative error and the coverage of 95 % bands."""
    error = np.sqrt(np.mean(np.square(mean / stress - 1.0)))
    inside = np.abs(mean - stress) < 1.96 * np.sqrt(std**2 + of_mean)
    print(f"{n} {kind}: error {100 * error:.2f} %, coverage {inside.mean():.3f}")


if __name__ == "__main__":
    main()
