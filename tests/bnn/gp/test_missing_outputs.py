"""Targets that are missing in part: each output has the rows that it has."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

import bnn
from bnn.export.models import log_noise
from tests.bnn.small import small

RNG = np.random.default_rng(0)
N = 12
X = RNG.uniform(-1.0, 1.0, (N, 2))
Y = np.column_stack([np.sin(3.0 * X.sum(axis=1)), X[:, 0] ** 2])
Y[[1, 4, 7], 1] = np.nan
Y[[0, 2], 0] = np.nan
NEW = RNG.uniform(-1.0, 1.0, (6, 2))
ONE = bnn.RBF(1.0, 0.5)
OTHER = bnn.Matern52(0.7, 0.8)


@pytest.mark.parametrize("kernels", [[ONE, ONE], [ONE, OTHER]], ids=["one", "two"])
@pytest.mark.parametrize("noise", [0.2, 1e-12], ids=["noise", "next to none"])
def test_an_independent_output_is_fitted_to_its_rows_alone(kernels, noise):
    prior = bnn.GaussianProcessPrior(0.1, kernels, 2)
    model = bnn.GPRegressor(prior, noise=noise).fit(X, Y)
    mean, std = model.predict(NEW, return_std=True)
    by_mean, by_std = model.predict_gradient(NEW)
    evidence = density = 0.0
    for j, kernel in enumerate(kernels):
        rows = ~np.isnan(Y[:, j])
        alone = bnn.GPRegressor(bnn.GaussianProcessPrior(0.1, kernel), noise=noise)
        alone.fit(X[rows], Y[rows, j])
        for prediction, expected in [
            ((mean[:, j], std[:, j]), alone.predict(NEW, return_std=True)),
            ((by_mean[:, j], by_std[:, j]), alone.predict_gradient(NEW)),
        ]:
            np.testing.assert_allclose(prediction, expected, atol=1e-9)
        evidence += alone.log_evidence()
        density += alone.elppd(X[rows] + 0.3, Y[rows, j])
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-9)
    observed = model.posterior_.log_density(X + 0.3, Y, model.noise_)
    assert observed.sum() == pytest.approx(density, rel=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("noise", ["gaussian", "known"])
def test_the_search_takes_each_output_by_its_rows(noise):
    """Two outputs with gaps have the priors, the noise and the posterior of two searches."""
    rng = np.random.default_rng(2)
    points = rng.uniform(0.0, 4.0, (30, 2))
    values = np.column_stack([np.sin(points.sum(axis=1)), points[:, 0] ** 2])
    values += 0.1 * rng.standard_normal(values.shape)
    values[rng.permutation(30)[:8], 1] = np.nan
    values[np.flatnonzero(~np.isnan(values[:, 1]))[:5], 0] = np.nan
    about_data = {"noise_std": np.full((30, 2), 0.15)} if noise == "known" else {}
    model = bnn.GPRegressor().fit(points, values, **about_data)
    moments = np.array(model.predict(points, return_std=True))
    for j in range(2):
        rows = ~np.isnan(values[:, j])
        about_rows = {name: std[rows, j] for name, std in about_data.items()}
        alone = bnn.GPRegressor()
        if noise == "gaussian":
            X_own, y_own = points[rows], values[rows, j]
            alone = bnn.GPRegressor(*bnn.evidence.fit_kernel_average(X_own, y_own, noise)[:1])
            alone.set_params(noise=bnn.evidence.fit_kernel_average(X_own, y_own, noise)[1])
        alone.fit(points[rows], values[rows, j], **about_rows)
        expected = alone.predict(points, return_std=True)
        np.testing.assert_allclose(moments[:, :, j], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.usefixtures("few_draws")
def test_open_parameters_and_noise_are_found_in_the_rows_of_each_output():
    kernels = [bnn.RBF(1.0, (None, 0.8)), bnn.Matern52(0.7, None)]
    features = [[0, 1], [1]]
    slopes = [[0.0, 0.5], [0.2, 0.0]]
    mean = bnn.LinearMean(slopes, 0.1)
    prior = bnn.GaussianProcessPrior(mean, kernels, 2, features, bounds=([-9.0, -8.0], None))
    model = bnn.GPRegressor(prior).fit(X, Y)
    components = model.prior_.components
    assert {str(component.mean) for component in components} == {str(mean)}
    assert {str(component.bounds) for component in components} == {str(prior.bounds)}
    for j, kernel in enumerate(kernels):
        rows = ~np.isnan(Y[:, j])
        mean_of_output = bnn.LinearMean([slopes[j]], 0.1)
        alone = bnn.GPRegressor(
            bnn.GaussianProcessPrior(mean_of_output, kernel, active_dims=features[j])
        )
        alone.fit(X[rows], Y[rows, j])
        assert model.open_prior_.kernels[j] == alone.open_prior_.kernels[0]
        # An output of fewer components than the other repeats them with a weight of zero.
        pairs = zip(components, alone.prior_.components, strict=False)
        assert all(joint.kernels[j] == single.kernels[0] for joint, single in pairs)
        shares = np.zeros(len(components))
        shares[: len(alone.prior_.components)] = alone.prior_.shares[:, 0]
        np.testing.assert_allclose(model.prior_.shares[:, j], shares, atol=1e-15)
        moments = np.array(model.predict(NEW, return_std=True))
        expected = alone.predict(NEW, return_std=True)
        np.testing.assert_allclose(moments[:, :, j], expected, atol=1e-9)


def test_the_correlation_of_the_noise_is_that_of_complete_rows():
    rng = np.random.default_rng(3)
    points = np.linspace(0.0, 1.0, 150)[:, None]
    noise = rng.multivariate_normal([0.0, 0.0], [[0.04, 0.032], [0.032, 0.04]], 150)
    values = np.sin(3.0 * points) + noise
    values[rng.permutation(150)[:50], 1] = np.nan
    prior = bnn.GaussianProcessPrior(0.0, ONE, 2)
    model = bnn.GPRegressor(prior, noise="heteroscedastic").fit(points, values)
    assert model.noise_.correlation[0, 1] == pytest.approx(0.8, abs=0.08)


@pytest.mark.usefixtures("one_family")
def test_noise_beside_a_prior_is_found_in_the_rows_there_are():
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.1, [ONE, OTHER], 2)).fit(X, Y)
    for j in range(2):
        rows = ~np.isnan(Y[:, j])
        expected = bnn.evidence.fit_noise(X[rows], Y[rows, j])
        np.testing.assert_allclose(np.sqrt(model.noise_[j, j]), expected, rtol=1e-8)


def test_a_score_counts_what_there_is():
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.1, [ONE, OTHER], 2), noise=0.1)
    model.fit(X, Y)
    weights = np.arange(1.0, N + 1.0)
    score = model.score(X + 0.1, Y, sample_weight=weights)
    scores = []
    for j in range(2):
        rows = ~np.isnan(Y[:, j])
        mean = model.predict(X[rows] + 0.1)[:, j]
        away = weights[rows] @ (Y[rows, j] - mean) ** 2
        centre = np.average(Y[rows, j], weights=weights[rows])
        scores.append(1.0 - away / (weights[rows] @ (Y[rows, j] - centre) ** 2))
    assert score == pytest.approx(np.mean(scores))
    few = np.where([False, True], np.nan, Y)
    alone = r2_score(Y[~np.isnan(Y[:, 0]), 0], model.predict(X[~np.isnan(Y[:, 0])])[:, 0])
    assert model.score(X, few) == pytest.approx(alone)
    with pytest.raises(ValueError, match="two values that are not NaN"):
        model.score(X, np.full_like(Y, np.nan))
    for values, weights in [(Y[:, :1], None), (Y[:-1], None), (Y, np.ones(N - 1))]:
        with pytest.raises(ValueError, match=r"must be|inconsistent"):
            model.score(X, values, weights)


def test_what_is_missing_is_refused_by_number():
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, ONE, 2), noise=0.1)
    values = Y.copy()
    values[4] = np.nan
    with pytest.raises(ValueError, match="row 4 has no output"):
        model.fit(X, values)
    values = Y.copy()
    values[1:, 1] = np.nan
    values[:, 0] = 1.0
    with pytest.raises(ValueError, match="output 1 has 1 values"):
        model.fit(X, values)
    with pytest.raises(ValueError, match="a PCARegressor needs all outputs of each row"):
        bnn.PCARegressor(model).fit(X, Y)
    with pytest.raises(ValueError, match="a StudentNoise needs all outputs of each row"):
        bnn.GPRegressor(noise="student_t").fit(X, Y)
    heavy = bnn.GPRegressor(model.prior, noise=bnn.StudentNoise(0.1, 4.0))
    with pytest.raises(ValueError, match="a StudentNoise needs all"):
        heavy.fit(X, np.nan_to_num(Y)).fit(X, Y, keep_prior=True)


@pytest.mark.usefixtures("one_family")
def test_noise_by_input_is_constant_beyond_the_rows_of_its_output():
    rng = np.random.default_rng(4)
    points = np.linspace(0.0, 1.0, 60)[:, None]
    noise = np.exp(3.0 * points - 3.0) * rng.standard_normal((60, 2))
    values = np.column_stack([np.sin(3.0 * points), points]) + noise
    values[points[:, 0] > 0.4, 1] = np.nan
    constant = np.full((60, 1), 2.0)
    model = bnn.GPRegressor(noise="heteroscedastic").fit(points, np.hstack([values, constant]))
    deviations = np.sqrt(np.einsum("njj->nj", model.noise_(points)))
    for j in range(2):
        rows = ~np.isnan(values[:, j])
        alone = bnn.GPRegressor(noise="heteroscedastic").fit(points[rows], values[rows, j])
        expected = np.sqrt(alone.noise_(points)[:, 0, 0])
        np.testing.assert_allclose(deviations[:, j], expected, rtol=1e-8)
        slopes = alone.noise_.log_slopes(points)[:, 0]
        np.testing.assert_allclose(model.noise_.log_slopes(points)[:, j], slopes, rtol=1e-8)
    with pytest.raises(ValueError, match="bounds of the noise differ between outputs"):
        log_noise(model.noise_, 1)


@pytest.mark.parametrize("make", [bnn.GPRegressor, bnn.VanillaEnsemble])
def test_the_known_noise_of_what_is_missing_may_be_missing(make):
    prior = [bnn.GaussianProcessPrior(0.1, [ONE, OTHER], 2)] if make is bnn.GPRegressor else []
    std = np.full(Y.shape, 0.1)
    model = small(make, *prior, noise=None).fit(X, Y, noise_std=std)
    std[np.isnan(Y)] = np.nan
    again = small(make, *prior, noise=None).fit(X, Y, noise_std=std)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    std[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"noise_std\[3, 0\] = nan"):
        again.fit(X, Y, noise_std=std)
