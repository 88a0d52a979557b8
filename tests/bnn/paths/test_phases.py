"""Mean-field stresses of a basis, and checks of inputs and paths."""

from functools import partial

import numpy as np
import pytest

from bnn.paths import (
    MaterialPointBasis,
    PathScatter,
    PhaseProperties,
    StrainPathEnsemble,
)
from fe_data import load_paths, mean_field, random_path, strain_concentration

BOUNDS = np.array([[0.05, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.55]])


def rves_on_paths(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(*BOUNDS, (n, 4))
    return X, np.array([random_path(rng, increments=40) for _ in range(n)])


def test_elastic_cells_about_mean_fields_are_a_little_softer_than_these():
    """Mean strains of the phases leave out the energy of the fluctuations about them."""
    X, _ = rves_on_paths(8)
    pull = np.tile([1e-5, 0.0, 0.0], (8, 1, 1))
    basis = MaterialPointBasis(strain_concentration, BOUNDS, n_points=1)
    C11 = basis.features(X, pull).mean_fields[:, 0, 0] / 1e-5
    E, nu = mean_field(X, outputs=["E_eff_GPa", "nu_eff"]).T
    exact = 1e3 * E * (1 - nu) / ((1 + nu) * (1 - 2 * nu))
    assert (exact > C11).all()
    assert (0.92 * exact < C11).all()


def test_wrong_inputs_and_arrays_are_named():
    X, walk = rves_on_paths(2)
    basis = MaterialPointBasis(strain_concentration, BOUNDS, n_points=2)
    ensemble = StrainPathEnsemble(basis, PathScatter(np.zeros((3, 4))))
    wrong = MaterialPointBasis(lambda X: np.eye(3), BOUNDS)  # noqa: ARG005
    softening = np.where([False, False, True, False], -400.0, BOUNDS)
    for call, message in (
        (lambda: basis.features(X + np.eye(4)[0], walk), r"vf = 1\."),
        (lambda: ensemble.fit(X * [1.0, 0.0, 1.0, 1.0], walk, walk), "E_f_GPa = 0:"),
        (lambda: MaterialPointBasis(strain_concentration, softening), "b_m_MPa = -400:"),
        (lambda: basis.features(X + np.eye(4)[3], walk), r"c_m = 1\."),
        (lambda: basis.features(X[:, :3], walk), "X has shape"),
        (lambda: basis.features(X, walk[:1]), "strain has shape"),
        (lambda: basis.features(X, 100.0 * walk), "Divide by 100 if"),
        (lambda: wrong.features(X, walk), "concentration returns"),
        (lambda: MaterialPointBasis(strain_concentration, BOUNDS[:, :3]), "bounds"),
        (lambda: PhaseProperties(nu_m=0.5), "nu_m"),
        (lambda: PhaseProperties(hardening="voce"), "hardening = 'voce'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_points_about_mean_fields_follow_simulated_walks():
    """Without training: within 2 % of the variance of the stress, on walks that chose nothing."""
    truth = load_paths("reference_random")
    basis = MaterialPointBasis(partial(strain_concentration, softening=0.1), BOUNDS, n_points=1)
    predicted = basis.features(truth.inputs, truth.strain).mean_fields
    stress = truth.mean_stress
    error = ((predicted - stress) ** 2).mean((0, 1)) / stress.var((0, 1))
    print(f"mean squared error over the variance, xx, yy, xy: {error.round(4)}")
    assert (error < 0.02).all()
