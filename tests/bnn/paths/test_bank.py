"""The bank of points about mean fields."""

from functools import partial

import numpy as np
import pytest

from bnn.paths import Phases, PointBank, stress_of_phases
from fe_data import random_walk, strain_concentration
from fe_data.schema import INPUT_BOUNDS

BOUNDS = np.array(list(INPUT_BOUNDS.values())).T
MEAN_FIELDS = partial(strain_concentration, softening=0.1)
BANK = PointBank(MEAN_FIELDS, BOUNDS, n_points=6)


def cells(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(*BOUNDS, (n, 4)), np.array([random_walk(rng) for _ in range(n)])


def test_the_base_is_the_stress_of_mean_fields():
    X, strain = cells(3)
    expected = stress_of_phases(MEAN_FIELDS(X), X, strain, Phases())
    np.testing.assert_allclose(BANK.features(X, strain).mean_fields, expected, atol=1e-8)


def test_a_point_without_fluctuation_has_the_deviatoric_stress_of_the_matrix():
    """With fibres that strain as the cell does, and without any in the sum, all is the matrix."""
    alike = PointBank(
        lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1)),
        BOUNDS,
        n_points=2,
        fluctuation=1e-12,
        yield_spread=1e-12,
        hardening_spread=1e-12,
    )
    X, strain = cells(2)
    stress = alike.features(X, strain).points[:, :, :2]
    np.testing.assert_allclose(stress[:, :, 0], stress[:, :, 1], atol=1e-7)
    # Pure shear: the deviatoric stress xy is the stress of the matrix.
    shear = strain * [0.0, 0.0, 1.0]
    matrix = X * [0.0, 1.0, 1.0, 1.0]
    found = alike.features(matrix, shear)
    np.testing.assert_allclose(found.points[:, :, 0, 2], found.mean_fields[..., 2], atol=1e-6)


def test_a_bank_depends_on_its_seed_alone():
    X, strain = cells(2)
    again = PointBank(MEAN_FIELDS, BOUNDS, n_points=6).features(X, strain).points
    assert (again == BANK.features(X, strain).points).all()
    other = PointBank(MEAN_FIELDS, BOUNDS, n_points=6, seed=1).features(X, strain).points
    assert (again[:, :, :6] != other[:, :, :6]).any()
    assert (again[:, :, 6:] == other[:, :, 6:]).all()


def test_the_history_of_a_path_matters():
    X, strain = cells(1)
    forth_and_back = np.concatenate([strain, strain[:, -2::-1]], axis=1)
    points = BANK.features(X, forth_and_back).points
    assert abs(points[:, 0] - points[:, -1]).max() > 1.0  # MPa, at the same strain
    linear = points[:, :, 6:]
    np.testing.assert_allclose(linear[:, 0], linear[:, -1])


def test_what_a_bank_cannot_use_is_refused():
    X, strain = cells(2)
    with pytest.raises(ValueError, match="concentration = 3: must be a function"):
        PointBank(3, BOUNDS)
    with pytest.raises(ValueError, match="n_points"):
        PointBank(MEAN_FIELDS, BOUNDS, n_points=0)
    with pytest.raises(ValueError, match="fluctuation"):
        PointBank(MEAN_FIELDS, BOUNDS, fluctuation=-1.0)
    with pytest.raises(ValueError, match="bounds"):
        PointBank(MEAN_FIELDS, BOUNDS[::-1])
    wrong = PointBank(lambda _: np.eye(3), BOUNDS)
    with pytest.raises(ValueError, match=r"concentration returns \(3, 3\): must be \(2, 2, 3, 3\)"):
        wrong.features(X, strain)
    with pytest.raises(ValueError, match="strain has shape"):
        BANK.features(X, strain[:1])
