"""Kernels against closed forms, and their refusals."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import RBF, Linear, Matern12, Matern32, Matern52, Periodic, RationalQuadratic
from bnn.gp.kernels import kernel_gradient
from tests.bnn.calls import CALLS, DERIVED, X, Y, kinds_of

X1 = np.linspace(-1.0, 1.0, 9)[:, None]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RBF(0.7, (0.5, 2.0)), sk.RBF((0.5, 2.0))),
        (Matern12(0.7, (0.5, 2.0)), sk.Matern((0.5, 2.0), nu=0.5)),
        (Matern32(0.7, (0.5, 2.0)), sk.Matern((0.5, 2.0), nu=1.5)),
        (Matern52(0.7, (0.5, 2.0)), sk.Matern((0.5, 2.0), nu=2.5)),
        (RationalQuadratic(0.7, 0.5, alpha=1.5), sk.RationalQuadratic(0.5, 1.5)),
        (Periodic(0.7, 0.5, period=0.8), sk.ExpSineSquared(0.5, 0.8)),
        (Linear(0.7, offset=0.7 * 0.3**2), sk.DotProduct(0.3)),
    ],
)
def test_kernels_are_those_of_scikit_learn(ours, theirs):
    """A periodic one has one input, since ours is a product over the inputs."""
    n_inputs = 1 if isinstance(ours, Periodic) else 2
    A, B = np.random.default_rng(0).normal(size=(2, 6, n_inputs))
    np.testing.assert_allclose(ours(A, B), 0.7 * theirs(A, B), rtol=1e-12)


STATIONARY = [getattr(bnn, name) for name in kinds_of(bnn.Stationary)]


@pytest.mark.parametrize("kind", [*STATIONARY, DERIVED["Stationary"]])
def test_points_that_are_as_far_apart_as_can_be(kind):
    """The shortest length scale and the largest inputs: a kernel and a gradient of numbers."""
    kernel = kind(2.0, 1e-100)
    X = np.array([[0.0], [1.0], [1e99]])
    np.testing.assert_allclose(kernel(X)[:, 2][2:], 2.0)
    assert np.all(np.isfinite(kernel(X)))
    values, slopes = kernel_gradient(kernel, X[:, None], X[None])
    np.testing.assert_allclose(values, kernel(X))
    assert np.all(np.isfinite(slopes))


@pytest.mark.parametrize("name", kinds_of(bnn.Kernel))
def test_a_public_kernel_is_a_covariance_with_a_diagonal_and_a_gradient_and_is_saved(
    name, tmp_path
):
    """Check every exported kernel, with the arguments in `calls`. A gradient is optional.

    A number times a kernel, from either side, scales its variance.
    """
    kernel = CALLS[name].make()
    matrix = kernel(X)
    np.testing.assert_array_equal(matrix, kernel(X, X))
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(X), np.diag(matrix), rtol=1e-13)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12 * matrix.max()
    for scaled in (2.0 * kernel, kernel * 2.0):
        assert type(scaled) is type(kernel)
        np.testing.assert_allclose(scaled(X), 2.0 * matrix, rtol=1e-13)
    near = X[:1] + 0.1
    unknown = ""
    try:
        values, slopes = kernel_gradient(kernel, near, X)
    except ValueError as error:
        unknown = str(error)
    if unknown:
        assert unknown == f"the kernel {name} has no gradient"
    else:
        np.testing.assert_allclose(values, kernel(near, X)[0], rtol=1e-13)
        for i, step in enumerate(1e-5 * np.eye(2)):
            difference = (kernel(near + step, X) - kernel(near - step, X))[0] / 2e-5
            np.testing.assert_allclose(slopes[:, i], difference, atol=1e-8)
    prior = bnn.GaussianProcessPrior(0.0, kernel)
    model = bnn.GPRegressor(prior, noise=0.1).fit(X, Y[:, 0])
    model.save(tmp_path / "model.bnn")
    again = bnn.load(tmp_path / "model.bnn")
    assert again.prior.kernels == [kernel]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_kernels_mix_with_those_of_scikit_learn():
    """Sums and products from either side, and as one kernel of a Gaussian process regressor."""
    ours = RBF(0.5, 0.3)
    theirs = sk.RationalQuadratic(0.4, 2.0)
    expected = ours(X1, X1) * theirs(X1) + Linear(2.0)(X1, X1)
    for kernel in (ours * theirs + Linear(2.0), Linear(2.0) + theirs * ours):
        np.testing.assert_allclose(kernel(X1), expected)
        np.testing.assert_allclose(kernel.diag(X1), np.diag(expected))
    regressor = GaussianProcessRegressor(theirs + ours).fit(X1, np.sin(3.0 * X1[:, 0]))
    assert regressor.kernel_.k2 == ours


def test_linear_functions_have_another_slope_beyond_their_reach():
    """Those of points at the edge, those without an end within it, and independent ones beyond."""
    k0 = np.array([0.5, 2.0])
    ending = Linear(tuple(k0), 0.1, (1.0, -1.0), (0.5, 3.0))
    free = Linear(tuple(k0), 0.1, (1.0, -1.0))
    inside = np.array([[1.4, 1.0], [0.6, -3.9]])
    np.testing.assert_array_equal(ending(inside), free(inside))
    far = np.array([[1e3, 1.0], [0.6, -1e3]])
    edge = np.array([[1.5, 1.0], [0.6, -4.0]])
    np.testing.assert_allclose(ending(far, inside), free(edge, inside), rtol=1e-14)
    past = far - edge
    np.testing.assert_allclose(ending(far), free(edge) + (past * k0) @ past.T, rtol=1e-14)
    np.testing.assert_allclose(ending.diag(far), np.diag(ending(far)), rtol=1e-14)


def test_functions_bend_beyond_the_ends_independently_on_either_side():
    """Variances and covariances of the functions s x + c₊ (x - 1)₊² + c₋ (-1 - x)₊²."""
    straight = Linear(2.0, 0.1, reach=4.0)
    bent = Linear(2.0, 0.1, reach=4.0, bends=0.5, ends=1.0)
    x = np.array([[-9.0], [-4.0], [-2.0], [-1.0], [0.5], [3.0], [4.0], [9.0]])
    inside = np.clip(x, -4.0, 4.0)
    upper, lower = (np.maximum(s * inside - 1.0, 0.0) ** 2 / 2.0 for s in (1.0, -1.0))
    expected = straight(x) + 0.5 * (upper @ upper.T + lower @ lower.T)
    np.testing.assert_allclose(bent(x), expected, rtol=1e-14)
    np.testing.assert_allclose(bent.diag(x), np.diag(expected), rtol=1e-14)
    with pytest.raises(ValueError, match=r"bends = -1.0: must be >= 0"):
        Linear(bends=-1.0)
    assert Linear(0.0, bends=1.0, ends=1.0)([[3.0]]) == 4.0  # (2² / 2)²


@pytest.mark.parametrize("kind", [*STATIONARY, DERIVED["Stationary"]])
def test_correlations_are_one_at_zero_and_have_the_slopes_of_their_differences(kind):
    if kind is Periodic:  # not a function of the distance alone
        return
    kernel = kind()
    q = np.array([0.0, 0.3, 1.0, 2.7])
    values = kernel.correlation(q.copy())
    assert values[0] == 1.0
    same, slopes = kernel.correlation_and_slope(q.copy())
    np.testing.assert_array_equal(same, values)
    step = 1e-6
    difference = kernel.correlation(q[1:] + step) - kernel.correlation(q[1:] - step)
    np.testing.assert_allclose(slopes[1:], difference / (2.0 * step), atol=1e-8)
