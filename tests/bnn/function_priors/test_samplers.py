"""Functional priors have the moments that they claim."""

import numpy as np
import pytest
from scipy import stats

from bnn import (
    RBF,
    GaussianProcessPrior,
    Linear,
    LinearMean,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RandomMean,
    RationalQuadratic,
    SamplerPrior,
    TablePrior,
    latin_hypercube,
)
from bnn.function_priors.samplers import draw_realisations

X1 = np.linspace(-1.0, 1.0, 9)[:, None]
KERNELS = [
    RBF(0.6, 0.8),
    RBF(0.6, 0.2),
    Matern12(1.0, 0.5),
    Matern32(1.0, 0.5),
    Matern52(1.0, 0.5),
    RationalQuadratic(1.0, 0.5, alpha=2.0),
    Periodic(1.0, 1.0, period=0.7),
    Linear(2.0),
    Linear((2.0,), offset=0.5),
    RBF(0.5, 0.3) + Linear(1.0),
    RBF(0.5, 2.0) * Linear(1.0),
]


def assert_covariance(samples, covariance):
    """Entries of a sample covariance lie within 5 of their standard errors."""
    n = len(samples)
    sample = np.cov(samples.T)
    variances = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(variances, variances)) / n)
    assert np.all(np.abs(sample - covariance) <= 5 * error + 1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_samples_have_the_kernels_covariance(kernel):
    """Sample mean and covariance against mean function and kernel."""
    prior = GaussianProcessPrior(lambda X: 2.0 * X[:, 0], kernel)
    samples = prior.sample(X1, 4000, 0)[:, :, 0]
    error = np.sqrt(np.diag(kernel(X1, X1)) / 4000)
    assert np.all(np.abs(samples.mean(axis=0) - 2.0 * X1[:, 0]) <= 5 * error + 1e-8)
    assert_covariance(samples, kernel(X1, X1))


def test_matern_of_high_order_and_rational_quadratic_approach_rbf():
    """r → 0 expansions: all correlations fall from 1, the smoother the slower."""
    r = np.array([[0.0], [0.05]])
    values = [k(r, r)[0, 1] for k in (Matern12(), Matern32(), Matern52(), RBF())]
    assert np.all(np.diff(values) > 0)
    assert RationalQuadratic(alpha=1e6)(r, r)[0, 1] == pytest.approx(RBF()(r, r)[0, 1], abs=1e-6)


def test_prior_d_has_its_marginal_variance():
    """m(x) = 5 u x³ with u ~ U(-1, 1) gives variance 25 x⁶ / 3 + 0.1."""
    mean = RandomMean(lambda X, rng: 5.0 * rng.uniform(-1.0, 1.0) * X[:, 0] ** 3)
    samples = GaussianProcessPrior(mean, RBF(0.1, 0.2)).sample(X1, 6000, 0)[:, :, 0]
    expected = 25.0 * X1[:, 0] ** 6 / 3.0 + 0.1
    # The fourth moment of these is below the Gaussian's, so sqrt(2 / n) bounds the error.
    np.testing.assert_allclose(samples.var(axis=0), expected, rtol=5 * np.sqrt(2 / 6000))


@pytest.mark.parametrize("lengthscale", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("kernel", [RBF, Matern52])
def test_sampling_is_safe_at_many_points(kernel, lengthscale):
    """600 points, repeated ones among them: finite, with the right variance."""
    X = np.vstack([latin_hypercube(500, 1, 0), np.zeros((100, 1))])
    samples = GaussianProcessPrior(0.0, kernel(0.2, lengthscale)).sample(X, 300, 0)[:, :, 0]
    assert np.isfinite(samples).all()
    assert np.abs(np.diff(samples[:, 500:], axis=1)).max() < 1e-5
    assert samples[:, 500].var() == pytest.approx(0.2, rel=5 * np.sqrt(2 / 300))


def test_features_outputs_and_bounds():
    """Each output sees its inputs only, outputs are independent, values stay within bounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6, 3))
    moved = X.copy()
    moved[:, 2] += 1.0
    prior = GaussianProcessPrior(
        LinearMean([0.5, -0.5]), RBF(0.2, 0.8), n_outputs=2, features=[[0, 1], [2]]
    )
    first, second = (prior.sample(values, 3000, 1) for values in (X, moved))
    np.testing.assert_allclose(first[:, :, 0], second[:, :, 0])
    assert_covariance(first[:, :, 0], RBF(0.2, 0.8)(X[:, :2], X[:, :2]))
    assert_covariance(first[:, :, 1], RBF(0.2, 0.8)(X[:, 2:], X[:, 2:]))
    correlation = np.corrcoef(first[:, 0, 0], first[:, 0, 1])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(3000)
    np.testing.assert_allclose(
        first.mean(axis=1).mean(axis=0), X[:, 0].mean() * np.array([0.5, -0.5]), atol=0.05
    )
    clipped = GaussianProcessPrior(0.0, RBF(), 2, bounds=([-0.5, -1.0], None)).sample(X, 200, 0)
    np.testing.assert_array_equal(clipped.min(axis=(0, 1)), [-0.5, -1.0])


def test_one_length_scale_per_input():
    """A long length scale makes an input irrelevant."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    K = RBF(1.0, (0.5, 1e6))(X, X)
    assert K[0, 1] == pytest.approx(1.0)
    assert K[0, 2] == pytest.approx(np.exp(-2.0))


def test_realisations_do_not_depend_on_their_number():
    """Realisation k is the same among 3 and among 10."""
    prior = GaussianProcessPrior(
        RandomMean(lambda X, rng: rng.normal() * X[:, 0]), RBF(), n_outputs=2
    )
    np.testing.assert_allclose(prior.sample(X1, 3, 5), prior.sample(X1, 10, 5)[:3])
    assert not np.allclose(prior.sample(X1, 3, 6), prior.sample(X1, 3, 5))


def test_low_fidelity_model_with_random_parameters():
    """y = a x with a ~ N(3, 0.5²) and a fixed offset."""
    prior = SamplerPrior(
        lambda X, slope, offset: slope * X[:, 0] + offset,
        {"slope": stats.norm(3.0, 0.5), "offset": 1.0},
    )
    values = prior.sample(X1, 4000, 0)
    assert values.shape == (4000, 9, 1)
    assert values[:, -1, 0].mean() == pytest.approx(4.0, abs=5 * 0.5 / np.sqrt(4000))
    assert values[:, -1, 0].std() == pytest.approx(0.5, rel=5 / np.sqrt(8000))
    sampler = SamplerPrior(lambda X, rng: rng.normal(3.0, 0.5) * X[:, 0])
    assert sampler.sample(X1, 500, 0)[:, -1, 0].std() == pytest.approx(0.5, rel=5 / np.sqrt(1000))


def test_table_prior():
    """Rows come out unrepeated while they last; interpolation is exact for linear tables."""
    values = np.arange(5.0)[:, None] * X1[:, 0]
    table = TablePrior(X1, values, "linear")
    drawn = table.sample(X1, 5, 0)[:, -1, 0]
    assert np.array_equal(np.sort(drawn), np.arange(5.0))
    np.testing.assert_allclose(
        np.sort(table.sample(np.array([[0.13]]), 5, 0).ravel()), 0.13 * np.arange(5.0)
    )
    X2 = np.array([[x, y] for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)])
    plane = TablePrior(X2, (X2 @ [1.0, 2.0])[None], "linear")
    inside, outside = np.array([[0.3, -0.2]]), np.array([[1.2, 1.1]])
    assert plane.sample(inside, 1, 0).item() == pytest.approx(-0.1)
    assert plane.sample(outside, 1, 0).item() == pytest.approx(3.0)
    nearest = TablePrior(X2, (X2 @ [1.0, 2.0])[None], "nearest")
    assert nearest.sample(np.array([[0.9, 0.1]]), 1, 0).item() == pytest.approx(1.0)


def test_latin_hypercube_fills_every_stratum():
    """Each of n equiprobable strata of the truncated normal holds one point, in every input."""
    points = latin_hypercube(200, 3, 0)
    assert np.abs(points).max() <= 2.0
    for column in points.T:
        strata = np.floor(200 * stats.truncnorm.cdf(column, -2, 2)).astype(int)
        assert len(np.unique(strata)) == 200


def test_linear_mean_is_least_squares():
    """θ = xᵀy / xᵀx through the origin; with intercept the residual has no mean."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (30, 2)), rng.standard_normal((30, 2))
    theta = X[:, 0] @ y / (X[:, 0] @ X[:, 0])
    mean = LinearMean.fit(X, y, [0])
    np.testing.assert_allclose(mean(X), X[:, :1] * theta)
    residual = y - LinearMean.fit(X, y, [0, 1], intercept=True)(X)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=1e-12)


class Returning:
    """A prior that returns a given array."""

    def __init__(self, values):
        self.values = values

    def sample(self, *_):
        return self.values


def bad_prior_calls():
    gp = GaussianProcessPrior
    return [
        (lambda: RBF(-1.0), "variance = -1.0: must be one number > 0"),
        (lambda: Matern32(1.0, 0.0), "lengthscale = 0.0: must be > 0"),
        (lambda: RBF(1.0, (1.0, np.nan)), "lengthscale = .*: must be > 0"),
        (lambda: RBF(1.0, (1.0, 1.0))(X1, X1), "lengthscale has 2 entries: must be one, or 1"),
        (lambda: gp(n_outputs=0), "n_outputs = 0: must be >= 1"),
        (lambda: gp(kernel=[RBF()], n_outputs=2), "kernel has 1 entries: must be 2"),
        (lambda: gp(features=[[0], [0]]), "features has 2 lists: must be 1"),
        (lambda: gp(features=[3]).sample(X1, 1), r"features = \[3\]: must be among 0 to 0"),
        (lambda: RBF(np.ones(3)), "variance = .*: must be one number > 0"),
        (lambda: RationalQuadratic(alpha=-1.0), "alpha = -1.0: must be one number > 0"),
        (lambda: Periodic(period=0.0), "period = 0.0: must be one number > 0"),
        (lambda: Linear(origin=np.nan), "origin = nan: must be finite"),
        (lambda: Linear(origin=(1.0, 2.0))(X1, X1), "origin has 2 entries: must be one, or 1"),
        (lambda: gp(bounds=(1.0, -1.0)), r"bounds = \(1.0, -1.0\): low must be below high"),
        (
            lambda: gp(bounds=([0, 1, 2], None), n_outputs=2),
            "bounds = .*: one per side, or 2",
        ),
        (lambda: gp().sample(X1[:, 0], 1), r"X has shape \(9,\): must be \(n, n_in\)"),
        (lambda: gp(bounds=(1.0,)), r"bounds = .*: must be \(low, high\)"),
        (lambda: gp(lambda _: np.zeros(3)).sample(X1, 1), r"mean returned shape \(3, 1\)"),
        (lambda: gp(RandomMean(lambda *_: 0)).mean_values(X1), "random mean has no single"),
        (lambda: TablePrior(X1, np.zeros((2, 4))), "values have 4 points: must be 9"),
        (lambda: TablePrior(X1, np.full((2, 9), np.nan)), "not finite"),
        (lambda: TablePrior(X1, np.zeros((2, 9)), "cubic"), "interpolation = 'cubic'"),
        (lambda: TablePrior(X1, np.zeros((2, 9))).sample(X1 + 1, 1), "differs from the table"),
        (lambda: SamplerPrior(lambda *_: 1.0).sample(X1, 2), r"the prior returned shape \(\)"),
        (
            lambda: draw_realisations(Returning(np.zeros((2, 3, 1))), X1, 2),
            r"the prior returned shape \(2, 3, 1\): must be \(2, 9, n_out\)",
        ),
        (
            lambda: draw_realisations(Returning(np.full((2, 9, 1), np.inf)), X1, 2),
            "not finite in realisation 0",
        ),
    ]


@pytest.mark.parametrize(("call", "message"), bad_prior_calls())
def test_refusals(call, message):
    """Each refusal says what is wrong."""
    with pytest.raises(ValueError, match=message):
        call()
