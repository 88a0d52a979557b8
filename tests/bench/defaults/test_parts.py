import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bnn
from bench.defaults.parts import PARTS, VARIANCE, ArcCosine, ExtendedDensity
from bnn.gp.evidence.families import Family, FamilyDensity
from bnn.gp.evidence.laplace import approximated, most_probable

LARGEST = Family((bnn.Matern52, bnn.Matern32), trend=True, warped=True, mixed=True)
UNIT = (np.zeros(2), np.ones(2), 1.0)


@pytest.fixture
def data():
    """Inputs, outputs and variances of the noise."""
    rng = np.random.default_rng(0)
    u = rng.uniform(size=(25, 2))
    return u, np.sin(6.0 * u[:, 0] ** 2) + 0.3 * rng.standard_normal(25), np.full(25, 0.05)


def hyperparameters(density, seed=1):
    rng = np.random.default_rng(seed)
    return density.centre + 0.4 * rng.standard_normal(len(density.centre))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("at_centre", [True, False])
def test_the_gradient_is_that_of_the_value(data, part, at_centre):
    """At the centre there are no warps, which have a slope all the same."""
    density = ExtendedDensity(LARGEST, *data, part)
    eta = density.centre if at_centre else hyperparameters(density)
    value, gradient = density(eta)
    assert value == pytest.approx(density.value(eta), rel=1e-12)
    # The warp of zero is that of 1e-4, whose difference is the error here.
    expected = approx_fprime(eta + 2e-4 * at_centre, density.value, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_no_variance_leaves_the_family(data, part):
    u, y, relative = data
    density = ExtendedDensity(LARGEST, *data, part)
    family = FamilyDensity(LARGEST, u, y, None, relative)
    eta = hyperparameters(density)
    eta[density.own_variances] = -60.0
    own = len(family.centre)
    assert density.log_evidence(eta) == pytest.approx(family.log_evidence(eta[:own]), rel=1e-9)
    start = density.start_from(family, eta[:own])
    np.testing.assert_array_equal(start[:own], eta[:own].clip(*family.limits.T))
    np.testing.assert_array_equal(start[own:], density.centre[own:])


@pytest.mark.parametrize("part", PARTS)
def test_the_density_is_that_of_the_kernel(data, part):
    u, y, relative = data
    density = ExtendedDensity(LARGEST, *data, part)
    eta = hyperparameters(density)
    covariance = density.kernel(eta, *UNIT)(u) + np.diag(relative)
    _, log_determinant = np.linalg.slogdet(covariance)
    expected = -0.5 * y @ np.linalg.solve(covariance, y) - 0.5 * log_determinant
    assert density.log_evidence(eta) == pytest.approx(expected, rel=1e-7)
    away = (eta - density.centre) ** 2 * density.precision
    assert density.value(eta) - density.log_evidence(eta) == pytest.approx(-0.5 * away.sum())


def test_parts_are_what_they_are_said_to_be(data):
    """Without warps and mixing, with a variance and a length scale of its own for each input."""
    u = data[0][:6]
    k, L = np.array([0.7, 0.2]), np.array([0.5, 1.5])
    additive = ExtendedDensity(LARGEST, *data, "additive")
    eta = additive.centre.copy()
    eta[additive.own_variances] = np.log(k)
    eta[additive.own_lengthscales] = np.log(L)
    family = FamilyDensity.kernel(additive, eta, *UNIT)
    s = np.sqrt(5.0) * np.abs(u[:, None] - u) / L
    expected = np.sum(k * (1.0 + s + s**2 / 3.0) * np.exp(-s), axis=-1)
    np.testing.assert_allclose(additive.kernel(eta, *UNIT)(u) - family(u), expected, atol=1e-4)
    arc_cosine = ExtendedDensity(LARGEST, *data, "arc-cosine")
    eta = arc_cosine.centre.copy()
    eta[arc_cosine.own_lengthscales] = np.log(L)
    own = arc_cosine.kernel(eta, *UNIT)(u) - FamilyDensity.kernel(arc_cosine, eta, *UNIT)(u)
    np.testing.assert_allclose(own, ArcCosine(VARIANCE, tuple(L))(u), atol=1e-4)


def test_the_arc_cosine_kernel_is_the_covariance_of_many_rectified_units(data):
    """(2 v / n) Σ relu(w·ž) relu(w·ž'), w standard normal."""
    u, L = data[0][:4], (0.5, 1.5)
    inputs = np.column_stack([np.ones(4), (u - 0.5) / L])
    units = np.maximum(inputs @ np.random.default_rng(0).standard_normal((3, 10**6)), 0.0)
    kernel = ArcCosine(0.7, L)
    np.testing.assert_allclose(kernel(u), 0.7 * 2.0 * units @ units.T / 10**6, rtol=0.01)
    np.testing.assert_allclose(kernel(u).diagonal(), kernel.diag(u), rtol=1e-6)


def test_the_search_finds_warps_as_that_of_the_family_does(data):
    u, y, relative = data
    family = FamilyDensity(LARGEST, u, y, None, relative)
    base = approximated(family, most_probable(family, [family.centre], 100), 0)
    for part in PARTS:
        fit = base.refitted(ExtendedDensity(LARGEST, *data, part), 0, 100)
        assert fit.density.value(fit.eta) > base.density.value(base.eta) - 3.0
        alone = most_probable(fit.density, [fit.density.centre], 200)
        assert np.abs(alone[fit.density.warps]).max() > 0.1


def test_noise_has_a_floor(data):
    u, y, _ = data
    density = ExtendedDensity(LARGEST, np.vstack([u, u]), np.tile(y, 2), np.zeros(50), "additive")
    assert np.isfinite(density(density.centre)[0])


def test_wrong_arguments_are_refused(data):
    with pytest.raises(ValueError, match="part = 'cubic': must be one of additive, arc-cosine"):
        ExtendedDensity(LARGEST, *data, "cubic")
    with pytest.raises(ValueError, match="family has no warps"):
        ExtendedDensity(Family((bnn.Matern52,)), *data, "additive")
