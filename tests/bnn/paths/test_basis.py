"""The basis of points about mean fields."""

from functools import partial

import numpy as np
import pytest

from bnn.paths import MaterialPointBasis
from fe_data import random_path, strain_concentration
from fe_data.schema import INPUT_BOUNDS

BOUNDS = np.array(list(INPUT_BOUNDS.values())).T
MEAN_FIELDS = partial(strain_concentration, softening=0.1)
BANK = MaterialPointBasis(MEAN_FIELDS, BOUNDS, n_points=6)


def cells(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(*BOUNDS, (n, 4)), np.array([random_path(rng) for _ in range(n)])


def test_a_point_without_fluctuation_has_the_deviatoric_stress_of_the_matrix():
    """With fibres that strain as the cell does, and without any in the sum, all is the matrix."""
    alike = MaterialPointBasis(
        lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1)),
        BOUNDS,
        n_points=2,
        fluctuation=1e-12,
        yield_spread=1e-12,
        hardening_spread=1e-12,
        first_yield=1.0,
    )
    X, strain = cells(2)
    stress = alike.features(X, strain).points[:, :, :2]
    np.testing.assert_allclose(stress[:, :, 0], stress[:, :, 1], atol=1e-7)
    # Pure shear: the deviatoric stress xy is the stress of the matrix.
    shear = strain * [0.0, 0.0, 1.0]
    matrix = X * [0.0, 1.0, 1.0, 1.0]
    features = alike.features(matrix, shear)
    np.testing.assert_allclose(features.points[:, :, 0, 2], features.mean_fields[..., 2], atol=1e-6)


EXCHANGED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
FLIPPED = np.diag([1.0, 1.0, -1.0])


@pytest.mark.parametrize("image", [EXCHANGED, FLIPPED, FLIPPED @ EXCHANGED], ids=str)
def test_a_mirrored_path_has_the_mirrored_stress_of_every_feature_but_the_linear_ones(image):
    """The linear ones too, and so every member: a cell of random fibres prefers no axis."""
    X, strain = cells(3)
    features = BANK.features(X, strain)
    mirrored = BANK.features(X, strain @ image)
    np.testing.assert_allclose(mirrored.points, features.points @ image, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mirrored.mean_fields, features.mean_fields @ image, atol=1e-9)


def test_no_point_yields_before_the_mean_fields_in_any_direction():
    """Along rays: a point is elastic while its stress is in proportion to the strain."""
    first_yield = 1.3
    basis = MaterialPointBasis(MEAN_FIELDS, BOUNDS, n_points=15, first_yield=first_yield)
    X, _ = cells(20)
    rays = np.random.default_rng(1).standard_normal((20, 1, 3))
    grid = np.linspace(0.0, 0.02, 201)[1:, None]
    features = basis.features(X, rays / np.linalg.norm(rays, axis=2, keepdims=True) * grid)
    last = np.argmax(features.plastic_strain > 0.0, axis=1)  # the first step that flows
    assert (last > 0).all()
    for i in range(20):
        allowed = int(first_yield * last[i]) - 1
        psi = features.points[i, :allowed] / grid[:allowed, None]
        np.testing.assert_allclose(psi, np.broadcast_to(psi[:1], psi.shape), rtol=1e-9, atol=1e-6)


def test_the_prior_shrinks_the_stiffness_that_the_weights_give_together_and_nothing_else():
    """Elastic stress by draws of weights, with independent ones and with those of the prior."""
    basis = MaterialPointBasis(MEAN_FIELDS, BOUNDS, n_points=30)
    X, _ = cells(4)
    small = 1e-6 * np.random.default_rng(1).standard_normal((4, 1, 3))
    psi = basis.features(X, small).points[:, 0, :30]
    M = basis.mixing[:30, :30]
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(M)), [0.2] * 3 + [1.0] * 27, atol=1e-9)
    np.testing.assert_allclose(np.einsum("rs,nsj->nrj", M, psi), 0.2 * psi, rtol=1e-9)
    np.testing.assert_array_equal(basis.mixing[30:], np.eye(33)[30:])


def test_the_utilisation_is_that_of_the_matrix_and_one_once_it_has_flowed():
    """In proportion to an elastic strain, and zero at rest."""
    X, _ = cells(1)
    shear = np.array([0.0, 1e-4, 2e-4, -2e-4, 0.0, 0.05, 0.0])[None, :, None] * [0.0, 0.0, 1.0]
    (utilisation,) = BANK.features(X, shear).utilisation
    assert utilisation[0] == utilisation[4] == 0.0
    assert utilisation[5] == utilisation[6] == 1.0
    # q = √3 · 2 μ A_xy ε_xy with μ = E / 2.6
    expected = np.sqrt(3.0) * 2.0 * 1e5 / 2.6 * MEAN_FIELDS(X)[0, 0, 2, 2] * 1e-4 / 400.0
    np.testing.assert_allclose(utilisation[1:4], expected * np.array([1.0, 2.0, 2.0]), rtol=1e-9)


def test_inputs_of_equal_bounds_are_fixed():
    """A basis of one matrix: both bounds of b_m and of c_m are equal."""
    bounds = np.where([False, False, True, True], BOUNDS[:1], BOUNDS)
    basis = MaterialPointBasis(MEAN_FIELDS, bounds, n_points=2)
    X = np.array([[0.3, 400.0, *bounds[0, 2:]]])
    for alike in (X, X.astype(np.float32), X * (1.0 + 1e-7)):
        np.testing.assert_allclose(basis.factors(alike)[0, 3:], 0.0)
    np.testing.assert_allclose(basis.factors(X)[0, :3] / 0.3, [1.0, 0.25 / 0.175 - 1.0, 0.0])
    with pytest.raises(ValueError, match=r"X\[0, 2\] = 401: both bounds of b_m_MPa are 300"):
        basis.factors(X * [1.0, 1.0, 401.0 / 300.0, 1.0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"concentration": 3}, "concentration = 3"),
        ({"first_yield": 0.9}, "first_yield = "),
        ({"bounds": BOUNDS[::-1]}, "bounds of vf = "),
        ({"concentration": lambda _: np.eye(3)}, "returns "),
        ({"concentration": lambda X: X.__imul__(2.0)}, "read-only"),
        ({"seed": None}, "seed = None: must be an integer >= 0"),  # drawn again after loading
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_what_a_basis_cannot_use_is_refused(changed, message):
    settings = {"concentration": MEAN_FIELDS, "bounds": BOUNDS, "n_points": 6} | changed
    with pytest.raises(ValueError, match=message):
        MaterialPointBasis(**settings).features(*cells(2))
