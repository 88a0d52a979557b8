"""Gaussian process priors have the moments that they claim."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import RBF, GaussianProcessPrior, Linear, Matern52, RandomMean
from bnn.ensembles.drawn_priors import continued, prior_covariance
from bnn.gp.process import covariance_root
from bnn.priors.samplers import truncated_normal_hypercube
from tests.bnn.closed_forms import assert_covariance, assert_moments

X1 = np.linspace(-1.0, 1.0, 9)[:, None]
KERNELS = [
    RBF(0.6, 0.8),
    Matern52(1.0, 0.5),
    Linear((2.0,), offset=0.5),
    RBF(0.5, 2.0) * Linear(1.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_samples_have_the_kernels_covariance(kernel):
    """Sample mean and covariance against mean function and kernel."""
    prior = GaussianProcessPrior(lambda X: 2.0 * X[:, 0], kernel)
    samples = prior.sample(X1, 4000, 0)[:, :, 0]
    assert_moments(samples, 2.0 * X1[:, 0], kernel(X1, X1))


@pytest.mark.parametrize("lengthscale", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("kernel", [RBF, Matern52])
def test_sampling_is_safe_at_many_points(kernel, lengthscale):
    """600 points, repeated ones among them: finite, with the right variance."""
    X = np.vstack([truncated_normal_hypercube(500, 1, 0), np.zeros((100, 1))])
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
        bnn.LinearMean([0.5, -0.5]), RBF(0.2, 0.8), n_outputs=2, active_dims=[[0, 1], [2]]
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


FLAT = bnn.LinearMean(np.zeros((3, 2)), [1.0, 2.0, 3.0])
THREE = [RBF(0.5, 0.7), Matern52(1.0, 0.5), RBF(0.2, 0.3) + Linear((0.1, 0.0))]
# Priors with a parameter for each output, and priors with the same moments
EQUAL = {
    "means": (GaussianProcessPrior([1, 2, 3], RBF()), GaussianProcessPrior(FLAT, RBF(), 3)),
    "array of means": (
        GaussianProcessPrior(np.array([1.0, 2.0, 3.0]), RBF(), 3),
        GaussianProcessPrior(FLAT, RBF(), 3),
    ),
    "kernels": (GaussianProcessPrior(0.0, THREE), GaussianProcessPrior(0.0, tuple(THREE), 3)),
    "both": (GaussianProcessPrior((1, 2, 3), THREE), GaussianProcessPrior(FLAT, THREE, 3)),
    "rows of coefficients": (
        GaussianProcessPrior(FLAT, RBF()),
        GaussianProcessPrior(FLAT, RBF(), 3),
    ),
    "features": (
        GaussianProcessPrior(0.5, RBF(), active_dims=[[0], [1], [0, 1]]),
        GaussianProcessPrior(0.5, RBF(), 3, active_dims=[[0], [1], [0, 1]]),
    ),
    "bounds": (
        GaussianProcessPrior(0.5, RBF(), bounds=(None, [1.0, 2.0, 3.0])),
        GaussianProcessPrior(0.5, RBF(), 3, bounds=(None, [1.0, 2.0, 3.0])),
    ),
    "mixture": (
        bnn.MixturePrior([GaussianProcessPrior([1, 2, 3], k) for k in (THREE, RBF())], [0.4, 0.6]),
        bnn.MixturePrior([GaussianProcessPrior(FLAT, k) for k in (THREE, RBF())], [0.4, 0.6]),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_parameters_for_each_output_set_the_number_of_outputs(name, tmp_path):
    """Equal samples, predictions and C code; a saved model predicts the same."""
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(-1.0, 1.0, (8, 2)), rng.normal(2.0, 1.0, (8, 3))
    settings, expected = EQUAL[name]
    np.testing.assert_array_equal(settings.sample(X, 2, 0), expected.sample(X, 2, 0))
    models = [bnn.GPRegressor(prior, noise=0.1).fit(X, Y) for prior in (settings, expected)]
    models[0].save(tmp_path / "model.npz")
    models.append(bnn.load(tmp_path / "model.npz"))
    models.append(bnn.load(tmp_path / "model.npz").fit(X, Y, keep_prior=True))
    texts = []
    for i, model in enumerate(models):
        for value, wanted in zip(
            model.predict(X, return_std=True), models[1].predict(X, return_std=True), strict=True
        ):
            np.testing.assert_allclose(value, wanted, rtol=1e-12)
        gradients = model.predict_gradient(X)[0], models[1].predict_gradient(X)[0]
        np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-12)
        bnn.export.to_c(model, tmp_path / f"{i}.c", name="model")
        texts.append((tmp_path / f"{i}.c").read_text())
    assert set(texts) == {texts[1]}


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_means_of_each_output_in_a_search_and_an_ensemble():
    """An open kernel is estimated around each mean, whose size has no effect on the result."""
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 1.0, 12)[:, None]
    y = np.sin(4.0 * X) + 0.01 * rng.standard_normal((12, 2))
    means = np.array([5.0, -7.0])
    shifted = bnn.GPRegressor(GaussianProcessPrior(means, RBF(None, None)), noise=0.01)
    plain = bnn.GPRegressor(GaussianProcessPrior([0.0, 0.0], RBF(None, None)), noise=0.01)
    prediction = shifted.fit(X, y + means).predict([[0.55]], return_std=True)
    wanted = plain.fit(X, y).predict([[0.55]], return_std=True)
    np.testing.assert_allclose(prediction[0] - means, wanted[0], rtol=1e-6)
    np.testing.assert_allclose(prediction[1], wanted[1], rtol=1e-4)
    drawn = continued(GaussianProcessPrior(means, RBF(1e-12, 1.0)), X, X, 3, 0)
    np.testing.assert_allclose(drawn, np.broadcast_to(means, drawn.shape), atol=1e-4)


DISAGREEING = {
    "mean has 3 entries: must be 2": {"mean": [1, 2, 3], "n_outputs": 2},
    "kernel has 3 entries: must be 1": {"kernel": THREE, "n_outputs": 1},
    "kernel has 3 entries: must be 2": {"mean": [1.0, 2.0], "kernel": THREE},
    "mean has 3 entries: must be 2, one": {"mean": FLAT, "n_outputs": 2},
    "active_dims has 1 entries: must be 3": {"kernel": THREE, "active_dims": [[0]]},
    r"bounds\[1\] has 2 entries: must be 3": {"kernel": THREE, "bounds": (None, [1.0, 2.0])},
    r"mean\[1\] = nan: must be finite": {"mean": [1.0, np.nan]},
    "mean = .*must be a number, a number for each output, or a function": {
        "mean": [lambda X: X[:, 0], 0.0]
    },
    "kernel = .*must be a kernel, or one per output": {"kernel": []},
}


@pytest.mark.parametrize("message", DISAGREEING)
def test_parameters_that_disagree_on_the_number_of_outputs_are_named(message):
    with pytest.raises(ValueError, match=message):
        GaussianProcessPrior(**DISAGREEING[message])


class Plain(bnn.Kernel):
    """A kernel that is no dataclass, and therefore has no open parameters."""

    quantities: ClassVar = {"scale": "length"}

    def __init__(self, variance=1.0, scale=None, place=None):
        self.variance, self.scale, self.place = variance, scale, place

    def _evaluate(self, A, B):
        return self.variance * np.exp(-np.abs(A - B.T) / self.scale)

    def diag(self, X):
        return np.full(len(X), self.variance)


@dataclass(repr=False)
class Signed(bnn.Kernel):
    """A kernel whose fields have no positive defaults, and therefore cannot be open."""

    sizes: tuple = (1.0, -1.0)
    shift: float = 0.0

    def _evaluate(self, A, B):
        return np.prod(self.sizes) ** 2 + (A + self.shift) @ (B + self.shift).T

    def diag(self, X):
        return np.diag(self(X))


NONE_OF_OTHERS = {
    "length_scale = None of scikit-learn's RBF": sk.RBF(None),
    "nu = None of scikit-learn's Matern": sk.Matern(0.5, nu=None),
    r"length_scale = \[None, 1.0\] of": RBF(1.0, 0.5) + sk.RBF([None, 1.0]),
    "constant_value = None of": (RBF(1.0, 0.5) * sk.ConstantKernel(None)) ** 2,
    "exponent = None of": sk.Exponentiation(sk.RBF(), None),
    "variance = None of Plain": Plain(None, 1.0),
    "scale = None of Plain": RBF() + Plain(),
    r"sizes = \(None, 1.0\) of Signed": RBF() * Signed((None, 1.0)),
    "shift = None of Signed": Signed(shift=None),
}


@pytest.mark.parametrize("message", NONE_OF_OTHERS)
def test_parameters_of_scikit_learn_kernels_and_fields_without_default_cannot_be_open(message):
    for kernel in (NONE_OF_OTHERS[message], [RBF(), NONE_OF_OTHERS[message]]):
        with pytest.raises(ValueError, match=f"kernel: {message}.*: must have a value"):
            GaussianProcessPrior(kernel=kernel)
    for kernel in (sk.PairwiseKernel(), Plain(scale=1.0)):  # None is the default of a parameter
        GaussianProcessPrior(kernel=kernel)


@pytest.mark.parametrize("factor", [1.0, RBF()], ids=["scaled", "product"])
def test_noise_is_no_kernel(factor):
    with pytest.raises(ValueError, match="a WhiteKernel is noise, not a part of f"):
        GaussianProcessPrior(kernel=RBF() + (factor * sk.WhiteKernel(0.1)) ** 2)


@pytest.mark.parametrize(("value", "what"), [(2.5, "the number 2.5"), (None, "None")])
def test_a_mean_that_returns_one_number_or_nothing_is_named(value, what):
    def number(*_):
        return value

    message = rf"mean\(X.*\) is {what}: must be \(4,\) or \(4, n_out\)"
    X = np.arange(4.0)[:, None]
    for prior in (GaussianProcessPrior(number), GaussianProcessPrior(RandomMean(number))):
        with pytest.raises(ValueError, match=message):
            prior.sample(X, 2, 0)
    for model in (bnn.GPRegressor(GaussianProcessPrior(number)), bnn.GPRegressor(mean=number)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, [0.0, 1.0, 0.5, 0.2])


def test_realisations_do_not_depend_on_their_number():
    """Realisation k is the same among 3 and among 10."""
    prior = GaussianProcessPrior(
        RandomMean(lambda X, rng: rng.normal() * X[:, 0]), RBF(), n_outputs=2
    )
    np.testing.assert_allclose(prior.sample(X1, 3, 5), prior.sample(X1, 10, 5)[:3])
    assert not np.allclose(prior.sample(X1, 3, 6), prior.sample(X1, 3, 5))


@pytest.mark.parametrize("random", [False, True])
def test_realisations_continue(random):
    """continued goes on where sample ended: nearly equal nearby, with the prior's moments afar."""
    cubic = RandomMean(lambda X, rng: rng.uniform(-1.0, 1.0) * X[:, 0] ** 3)
    prior = GaussianProcessPrior(cubic if random else 0.0, RBF(0.5, 0.4))
    places = np.linspace(-1.0, 1.0, 40)[:, None]
    drawn = prior.sample(places, 500, 3)
    np.testing.assert_allclose(continued(prior, places, places, 500, 3), drawn, atol=2e-3)
    far = continued(prior, np.array([[1.5], [3.0]]), places, 500, 3)[:, :, 0]
    covariance = prior_covariance(prior, np.array([[1.5], [3.0]]), 4000, 1)[0]
    assert np.all(np.abs(np.cov(far.T) - covariance) < 0.3 * covariance.max())


def test_root_of_an_indefinite_covariance_is_refused():
    """No function has a variance below zero, wherever in the matrix it hides."""
    for matrix in ([[1.0, 2.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], np.full((2, 2), np.nan)):
        with pytest.raises(ValueError, match=r"eigenvalue -1: must be >= 0|not finite"):
            covariance_root(np.array(matrix))
