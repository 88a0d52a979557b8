"""A fitted Gaussian process as the mean of another one, with its own uncertainty."""

import pickle
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

import bnn
from bnn.gp.conditioning import ProcessPosterior
from bnn.gp.low_fidelity import MultipleMean, MultipleProcess, ProcessModel
from tests.bnn.gp.test_gradients import agree

RNG = np.random.default_rng(0)
CHEAP = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (25, 2))
X = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (9, 2))
NEW = RNG.uniform([-1.2, 180.0], [1.2, 420.0], (11, 2))
KERNEL = bnn.Matern32(1.5, (0.6, 90.0))


def coarse(x):
    """Two outputs."""
    return np.column_stack(
        [np.sin(4.0 * x[:, 0]) + np.sin(x[:, 1] / 30.0), x[:, 0] * x[:, 1] / 50.0]
    )


def fine(x):
    """The same, multiplied and shifted, with a curved discrepancy."""
    return coarse(x) * [1.7, -0.6] + 0.3 * x[:, :1] ** 2 + 2.0


PRIOR = bnn.GaussianProcessPrior(0.0, [KERNEL, 4.0 * KERNEL], 2)
BELOW = bnn.GPRegressor(PRIOR, noise=0.0).fit(CHEAP, coarse(CHEAP))


@pytest.mark.parametrize("points", [X, CHEAP[:9]], ids=["apart", "nested"])
def test_the_posterior_is_that_of_both_tables_together(points):
    """One output of the autoregressive process of two outputs, conditioned in closed form."""
    below = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, KERNEL), noise=0.0)
    below.fit(CHEAP, coarse(CHEAP)[:, 0])
    y = fine(points)[:, 0]
    low = ProcessModel(below)
    rho, discrepancy = 1.7, bnn.Matern52(0.4, (1.0, 150.0)) + bnn.Linear((0.1, 1e-5), 0.2)
    kernel = discrepancy + MultipleProcess(low, 0, rho)
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(MultipleMean(low, (rho,)), kernel), noise=0.0)
    model.fit(points, y)
    assert not model.nugget_.any()
    assert not below.nugget_.any()

    def covariance(a, b):
        """Between the fine function at the last rows and both at all."""
        between = KERNEL(a, b)
        between[len(CHEAP) :] *= rho
        between[:, len(CHEAP) :] *= rho
        between[len(CHEAP) :, len(CHEAP) :] += discrepancy(a[len(CHEAP) :], b[len(CHEAP) :])
        return between

    both = np.vstack([CHEAP, points])
    everything = covariance(*[np.vstack([both, NEW])] * 2)
    N = len(both)
    values = np.concatenate([coarse(CHEAP)[:, 0], y])
    K, cross = everything[:N, :N], everything[N:, :N]
    expected = cross @ np.linalg.solve(K, values)
    spread = everything[N:, N:] - cross @ np.linalg.solve(K, cross.T)
    mean, joint = model.joint_moments(NEW)
    np.testing.assert_allclose(mean[:, 0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(joint, spread, rtol=1e-9, atol=1e-9)
    evidence = multivariate_normal.logpdf(values, cov=K) - below.log_evidence()
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-9)


def test_the_evidence_finds_that_prior():
    """With one factor for mean and covariance."""
    prior = bnn.evidence.fit_prior(X, fine(X), 0.01, mean=BELOW, estimate="map", restarts=1)
    for j, kernel in enumerate(prior.kernels):
        process = kernel.k2.k2
        assert (process.factor, process.output) == (prior.mean.factors[j], j)
    assert prior.mean.factors[0] == pytest.approx(1.7, abs=0.1)


@pytest.fixture(scope="module")
def model():
    return bnn.GPRegressor(mean=BELOW, noise=0.01).fit(X, fine(X))


def test_the_model_of_the_mean_is_a_setting(model):
    """Copies keep it, files and pickles hold it, and fitting it again changes no other model."""
    copy = clone(model)
    assert copy.mean is BELOW
    below = clone(BELOW).fit(CHEAP, coarse(CHEAP))
    other = copy.set_params(mean=below).fit(X, fine(X))
    below.fit(CHEAP, 2.0 * coarse(CHEAP))
    expected = model.predict(NEW, return_std=True)
    np.testing.assert_array_equal(other.predict(NEW, return_std=True), expected)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict(NEW, return_std=True), expected)


def test_files_hold_the_model_of_the_mean_once(model, tmp_path):
    model.save(tmp_path / "model.npz")
    loaded = bnn.load(tmp_path / "model.npz")
    expected = model.predict(NEW, return_std=True)
    np.testing.assert_array_equal(loaded.predict(NEW, return_std=True), expected)
    assert len({id(component.mean.model) for component in loaded.prior_.components}) == 1
    np.testing.assert_array_equal(loaded.fit(X, fine(X)).predict(NEW), model.predict(NEW))


@contextmanager
def rounding(_):
    """Covariances of a process differ a little, as if BLAS had another number of threads."""
    between = ProcessPosterior.between
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessPosterior, "between", lambda *points: between(*points) + 1e-12)
        yield


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "n_outputs"), [(0.0, 1), (0.01, 2)])
def test_a_loaded_model_of_nested_runs_predicts_bitwise_equal(
    noise, n_outputs, tmp_path, monkeypatch
):
    """A search has one thread of BLAS, unlike the fit around it and the file that is loaded."""
    monkeypatch.setattr("bnn.gp.evidence.model.threads_for", rounding)
    monkeypatch.setattr("bnn.gp.regressor.RESTARTS", 0)
    below = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, [KERNEL] * n_outputs), noise=noise)
    below.fit(CHEAP, coarse(CHEAP)[:, :n_outputs])
    model = bnn.GPRegressor(mean=below, noise=noise)
    model.fit(CHEAP[:6], fine(CHEAP[:6])[:, :n_outputs]).save(tmp_path / "model.npz")
    loaded = bnn.load(tmp_path / "model.npz").predict(NEW, return_std=True)
    np.testing.assert_array_equal(loaded, model.predict(NEW, return_std=True))


@pytest.mark.usefixtures("one_family")
def test_a_search_needs_frozen_models_of_the_mean(tmp_path):
    """Because scikit-learn copies the values of a search without what they are fitted to."""
    y = fine(X)[:, :1]
    below = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, KERNEL), noise=0.1)
    below.fit(CHEAP, coarse(CHEAP)[:, :1])
    model = bnn.GPRegressor(noise=0.1)
    with pytest.raises(
        ValueError, match=r"must be fitted .*, and in a search be a FrozenEstimator"
    ):
        GridSearchCV(model, {"mean": [below]}, cv=2, error_score="raise").fit(X, y)
    model.set_params(mean=clone(FrozenEstimator(below))).fit(X, y)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(bnn.load(tmp_path / "model.npz").predict(NEW), model.predict(NEW))


@pytest.mark.slow
@pytest.mark.usefixtures("one_family")
def test_gradients_and_choices(model):
    agree(model)
    correlated = bnn.GPRegressor(mean=BELOW, noise=0.01 * np.array([[1.0, 0.5], [0.5, 1.0]]))
    agree(correlated.fit(X, fine(X)))
    gains = bnn.select_runs(model, NEW, 2)[1]
    assert np.all(np.diff(gains) < 0.0)
    third = bnn.GPRegressor(mean=model, noise=0.01).fit(X[:6], fine(X[:6]) + 0.1)
    assert third.predict(NEW, return_std=True)[1].shape == (11, 2)


def test_what_it_cannot_do_is_refused(model, tmp_path):
    def fit(mean, x=X, y=None, **settings):
        bnn.GPRegressor(mean=mean, **settings).fit(x, fine(X) if y is None else y)

    missing = np.where(np.eye(9, 2, dtype=bool), np.nan, fine(X))
    calls = {
        "mean = GPRegressor.*: must be fitted to the cheap": lambda: fit(bnn.GPRegressor()),
        "mean = VanillaEnsemble.*: must be callable": lambda: fit(bnn.VanillaEnsemble()),
        "mean was fitted to 2 inputs: must be 1, as X has": lambda: fit(BELOW, X[:, :1]),
        r"mean\(X\) has shape \(9, 2\): must be \(9, 1\)": lambda: fit(BELOW, y=fine(X)[:, 0]),
        "must be None if prior is given": lambda: fit(BELOW, prior=PRIOR),
        "y has missing outputs: the mean needs": lambda: fit(BELOW, y=missing),
        "mean of the prior is a MultipleMean": lambda: bnn.export.to_c(model, tmp_path / "m.c"),
        "kernel MultipleProcess.*ONNX": lambda: bnn.export.to_onnx(model, tmp_path / "m.onnx"),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
