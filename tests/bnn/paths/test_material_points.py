"""Material points that take the place of RVEs along paths of strain."""

import numpy as np
import pytest

from bnn.paths import (
    MaterialPointBasis,
    PathScatter,
    PhaseProperties,
    StrainPathEnsemble,
    mean_field_stress,
)
from fe_data import load_paths, mean_field, random_path, strain_concentration

BOUNDS = np.array([[0.05, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.55]])


def rves_on_paths(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(*BOUNDS, (n, 4))
    return X, np.array([random_path(rng, increments=40) for _ in range(n)])


def test_elastic_cells_about_mean_fields_are_a_little_softer_than_these():
    """Mean strains of the phases leave out the energy of the fluctuations about them."""
    X, _ = rves_on_paths(8)
    pull = np.tile([1e-5, 0.0, 0.0], (8, 1, 1))
    C11 = mean_field_stress(strain_concentration(X), X, pull, PhaseProperties())[:, 0, 0] / 1e-5
    E, nu = mean_field(X, outputs=["E_eff_GPa", "nu_eff"]).T
    exact = 1e3 * E * (1 - nu) / ((1 + nu) * (1 - 2 * nu))
    assert (exact > C11).all()
    assert (0.92 * exact < C11).all()


def test_wrong_inputs_and_arrays_are_named():
    X, walk = rves_on_paths(2)
    A = strain_concentration(X)
    phases = PhaseProperties()
    basis = MaterialPointBasis(strain_concentration, BOUNDS, n_points=2)
    ensemble = StrainPathEnsemble(basis, PathScatter(np.zeros((3, 4))))
    softening = np.where([False, False, True, False], -400.0, BOUNDS)
    for call, message in (
        (lambda: mean_field_stress(A, X + np.eye(4)[0], walk, phases), r"vf = 1\."),
        (lambda: ensemble.fit(X * [1.0, 0.0, 1.0, 1.0], walk, walk), "E_f_GPa = 0:"),
        (lambda: MaterialPointBasis(strain_concentration, softening), "b_m_MPa = -400:"),
        (lambda: mean_field_stress(A, X + np.eye(4)[3], walk, phases), r"c_m = 1\."),
        (lambda: mean_field_stress(A, X[:, :3], walk, phases), "X has shape"),
        (lambda: mean_field_stress(A, X, walk[:1], phases), "strain has shape"),
        (lambda: mean_field_stress(np.eye(3), X, walk, phases), "concentration has"),
        (lambda: mean_field_stress(A, X, 100.0 * walk, phases), "Divide by 100 if"),
        (lambda: MaterialPointBasis(strain_concentration, BOUNDS[:, :3]), "bounds"),
        (lambda: PhaseProperties(nu_m=0.5), "nu_m"),
        (lambda: PhaseProperties(hardening="voce"), "hardening = 'voce'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_points_about_mean_fields_follow_simulated_walks():
    """Without training: within 2 % of the variance of the stress, on walks that chose nothing."""
    truth = load_paths("reference_random")
    A = strain_concentration(truth.inputs, softening=0.1)
    predicted = mean_field_stress(A, truth.inputs, truth.strain, PhaseProperties())
    stress = truth.mean_stress
    error = ((predicted - stress) ** 2).mean((0, 1)) / stress.var((0, 1))
    print(f"mean squared error over the variance, xx, yy, xy: {error.round(4)}")
    assert (error < 0.02).all()
