"""Gaussian conditioning against the objective that it minimises, and nearly without noise."""

import platform
import subprocess
import sys
import warnings

import mpmath
import numpy as np
import pytest

from bnn import RBF, GaussianProcessPrior, GPRegressor, NuggetWarning, StudentNoise
from bnn.ensembles.conditioning import Conditioning
from bnn.gp.conditioning import least_variance, resolved
from bnn.gp.evidence import fit_prior


def test_conditioning_minimises_the_printed_objective():
    """The gradient of both quadratic terms vanishes at f*, and their Hessian is S⁻¹."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((10, 10))
    noise = np.array([[0.3, 0.1], [0.1, 0.2]])
    C = root @ root.T
    g = rng.standard_normal((1, 5, 2))
    targets = rng.standard_normal((1, 3, 2))
    posterior = Conditioning.on_first_points(C[None], noise, 3)
    best = posterior.apply(g, targets)[0]
    misfit = np.zeros((5, 2))
    misfit[:3] = (best[:3] - targets[0]) @ np.linalg.inv(noise)
    gradient = misfit.T.ravel() + np.linalg.solve(C, (best - g[0]).T.ravel())
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    picked = np.kron(np.eye(2), np.eye(3, 5))
    hessian = np.linalg.inv(C) + picked.T @ np.kron(np.linalg.inv(noise), np.eye(3)) @ picked
    np.testing.assert_allclose(posterior.covariance[0] @ hessian, np.eye(10), atol=1e-9)


def simulated(n_data, n_inputs, seed):
    """Return data of a smooth function without noise, and new points."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n_data + 200, n_inputs))
    slopes = rng.standard_normal((2, n_inputs))
    f = np.sin(points @ slopes[0]) + 0.3 * (points @ slopes[1]) ** 2
    return points[:n_data], f[:n_data], points[n_data:]


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize(("n_data", "n_inputs"), [(12, 1), (30, 1), (60, 6)])
def test_data_without_noise(n_data, n_inputs, noise):
    """All settings of the prior can be factorised; what is added to the noise is said."""
    X, y, new = simulated(n_data, n_inputs, n_data)
    noise_std = noise * np.ptp(y)
    prior = fit_prior(X, y, noise_std, restarts=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GPRegressor(prior, noise=noise_std).fit(X, y)
    nugget = model.nugget_[0]
    assert [warning.category for warning in caught] == [NuggetWarning] * int(nugget > 0.0)
    largest = max(warning.variances(X).max() for warning in prior.components)
    unresolved = float(np.sqrt(least_variance(n_data, largest)))
    assert nugget == 0.0 or nugget == pytest.approx(unresolved)
    assert nugget < 1e-3 * np.ptp(y)
    _, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 10.0 * max(unresolved, noise_std)
    assert np.all(np.isfinite(std))


def test_heavy_tails_without_noise():
    """Noise with heavy tails gets the same nugget, while its factors are estimated and later."""
    X, y, new = simulated(60, 1, 0)
    prior = GaussianProcessPrior(0.0, RBF(1.0, 3.0))
    with pytest.warns(NuggetWarning, match="a nugget of"):
        model = GPRegressor(prior, noise=StudentNoise(1e-12, 3.0)).fit(X, y)
    assert model.nugget_[0] ** 2 == pytest.approx(least_variance(60, 1.0).item(), rel=1e-6, abs=0.0)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)
    assert np.all(np.isfinite(model.predict(new, return_std=True)[1]))


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-6])
def test_noise_is_as_given_where_the_data_can_be_factorised(noise):
    """White data: no nugget, the exact mean, and densities of the data that are numbers."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (30, 3))
    y = rng.standard_normal(30)
    noise_std = noise * np.ptp(y)
    kernel = RBF(2.0, 0.5)
    model = GPRegressor(GaussianProcessPrior(0.0, kernel), noise=noise_std).fit(X, y)
    assert model.nugget_ == 0.0
    assert 0.0 < model.elppd(X, y) < np.inf
    K = mpmath.matrix(kernel(X).tolist()) + mpmath.eye(30) * mpmath.mpf(noise_std) ** 2
    new = rng.uniform(-1, 1, (5, 3))
    exact = mpmath.matrix(kernel(new, X).tolist()) * K**-1 * mpmath.matrix(y.tolist())
    np.testing.assert_allclose(model.predict(new), [float(m) for m in exact], atol=1e-9)


def test_the_posterior_with_a_nugget_in_fifty_digits():
    """Mean and standard deviation, of equidistant data with a kernel of deficient rank."""
    X = np.linspace(-1.0, 1.0, 14)[:, None]
    y = np.sin(3.0 * X[:, 0])
    new = np.linspace(-1.1, 1.1, 9)[:, None]
    kernel = RBF(2.0, 1.0)
    with pytest.warns(NuggetWarning, match="a nugget of 1.58e-07 is added"):
        model = GPRegressor(GaussianProcessPrior(0.0, kernel), noise=0.0).fit(X, y)
    assert model.nugget_**2 == pytest.approx(2.0 * 4 * 14 * np.finfo(float).eps)
    mpmath.mp.dps = 50

    def exact(A, B):
        squares = [[(mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for b in B[:, 0]] for a in A[:, 0]]
        return mpmath.matrix([[2 * mpmath.exp(-s / 2) for s in row] for row in squares])

    data = exact(X, X) + mpmath.eye(14) * mpmath.mpf(model.nugget_[0]) ** 2
    cross = exact(new, X)
    inverse = data**-1
    mean = cross * inverse * mpmath.matrix(y.tolist())
    spread = exact(new, new) - cross * inverse * cross.T
    predicted, std = model.predict(new, return_std=True)
    deviations = np.sqrt([float(spread[i, i]) for i in range(9)])
    np.testing.assert_allclose(predicted, [float(m) for m in mean], atol=1e-6)
    np.testing.assert_allclose(std, deviations, atol=1e-6)


def test_a_nugget_where_the_noise_is_too_small():
    """For each output and datum alone, or for all outputs if they are correlated."""
    prior = GaussianProcessPrior(0.0, [RBF(1.0), RBF(1e6)], 2)
    X = np.linspace(0.0, 1.0, 10)[:, None]
    data = [prior], X, np.zeros((10, 2))
    least = 40.0 * np.finfo(float).eps * np.array([1.0, 1e6])
    enough = np.diag([1e-4, 1.0])
    np.testing.assert_array_equal(resolved(enough, *data), enough)
    small = np.diag([1e-18, 1.0])
    np.testing.assert_allclose(resolved(small, *data), small + np.diag([least[0], 0.0]))
    both = np.stack([enough] + [small] * 9)
    added = resolved(both, *data) - both
    np.testing.assert_array_equal(added[0], 0.0)
    np.testing.assert_allclose(added[1:], np.tile(np.diag([least[0], 0.0]), (9, 1, 1)))
    alike = np.array([[1.0, 1.0 - 1e-14], [1.0 - 1e-14, 1.0]])
    np.testing.assert_allclose(resolved(alike, *data), alike + np.diag(least))


def test_zero_is_the_rounding_of_the_outputs():
    """The noise of the estimator is that of numbers with sixteen digits."""
    X, y, *_ = simulated(12, 1, 0)
    prior = GaussianProcessPrior(0.0, RBF(1.0, 0.5), 2)
    model = GPRegressor(prior, noise=[0.0, 0.1]).fit(X, np.column_stack([y, y]))
    expected = [np.finfo(float).eps * np.abs(y).max(), 0.1]
    np.testing.assert_allclose(np.sqrt(np.diag(model.noise_)), expected)


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_predictions_get_no_cleared_memory_for_each_batch():
    """These are 10,000 pages where the allocator gives freed memory back each time."""
    script = """if True:
        import resource
        import numpy as np
        import bnn
        X = np.random.default_rng(0).random((300, 2))
        prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.3))
        model = bnn.GPRegressor(prior, noise=0.1).fit(X, X[:, 0])
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            model.predict(np.tile(X, (30, 1)), return_std=True)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert int(done.stdout) < 1000
