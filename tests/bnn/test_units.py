"""Equal results in any unit of y, up to the largest and smallest sizes that are accepted."""

import numpy as np
import pytest
from scipy import stats

import bnn
from bnn import metrics
from tests.bnn.small import small

RNG = np.random.default_rng(0)
N = 14
X = np.sort(RNG.uniform(-1.0, 1.0, (N, 1)), axis=0)
X_NEW = np.array([[0.33], [-0.2], [1.5]])
Y = np.sin(3.0 * X[:, 0]) + 0.1 * RNG.standard_normal(N)
BOTH = np.column_stack([Y, np.cos(2.0 * X[:, 0]) + 0.05 * RNG.standard_normal(N)])
FULL = np.array([[0.01, 0.005], [0.005, 0.01]])
GROUPS = np.arange(N) // 2
REPEATED = X[::2].repeat(2, axis=0)


def process(unit, n_outputs=1):
    return bnn.GaussianProcessPrior(0.0, bnn.RBF(unit**2, 0.5), n_outputs)


def of_replicates(unit):
    noise = bnn.HeteroscedasticNoise.from_replicates(REPEATED, unit * Y, GROUPS)
    return bnn.GPRegressor(process(unit), noise=noise).fit(REPEATED, unit * Y)


def open_prior(unit):
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(None, None))
    return bnn.GPRegressor(prior).fit(X, unit * Y)


def fitted(unit, y=Y, noise=0.1, prior=None, **settings):
    scaled = noise if isinstance(noise, str) else unit * noise
    return bnn.GPRegressor(prior, noise=scaled).fit(X, unit * y, **settings)


MODELS = {
    "constant": lambda u: fitted(u, noise="constant"),
    "input-dependent": lambda u: fitted(u, noise="heteroscedastic"),
    "given": lambda u: fitted(u, prior=process(u)),
    "correlated": lambda u: fitted(u, BOTH, u * FULL, process(u, 2)),
    "known": lambda u: fitted(u, prior=process(u), noise_std=np.full(N, 0.1 * u)),
    "weights": lambda u: fitted(u, prior=process(u), sample_weight=np.arange(1.0, N + 1.0)),
    "replicates": of_replicates,
    "open": open_prior,
    "ensemble": lambda u: small(bnn.VanillaEnsemble, noise=0.1 * u).fit(X, u * Y),
}


@pytest.mark.usefixtures("one_family")
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
@pytest.mark.parametrize("name", MODELS)
def test_predictions_do_not_depend_on_the_unit(name):
    """Powers of two near 1e99 and 1e-70, so that only the unit differs."""
    one = MODELS[name](1.0)
    wanted = one.predict(X_NEW, return_std=True, include_noise=True)
    slopes = one.predict_gradient(X_NEW, include_noise=True)
    for power in (329, -232):
        unit = 2.0**power
        model = MODELS[name](unit)
        prediction = model.predict(X_NEW, return_std=True, include_noise=True)
        by_input = model.predict_gradient(X_NEW, include_noise=True)
        for value, expected in zip((*prediction, *by_input), (*wanted, *slopes), strict=True):
            np.testing.assert_allclose(value / unit, expected, rtol=1e-5, atol=1e-7)


CORRELATION = np.array([[1.0, 0.5, -0.4], [0.5, 1.0, 0.3], [-0.4, 0.3, 1.0]])


@pytest.mark.parametrize("correlation", [np.eye(3), CORRELATION], ids=["independent", "correlated"])
def test_samples_do_not_depend_on_the_units_of_other_outputs(correlation):
    """Such as a modulus and a strength in Pa, and Poisson's ratio."""
    y = np.column_stack([BOTH, Y**2])

    def drawn(units):
        kernels = [bnn.RBF(u**2, L) for u, L in zip(units, (0.5, 0.6, 0.7), strict=True)]
        prior = bnn.GaussianProcessPrior(0.0, kernels)
        noise = 0.01 * correlation * np.outer(units, units)
        model = bnn.GPRegressor(prior, noise=noise).fit(X, y * units)
        return model.sample(X_NEW, 5, 0) / units

    expected = drawn(np.ones(3))
    np.testing.assert_allclose(drawn(2.0 ** np.array([36, -2, 29])), expected, rtol=1e-6)


@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (7e10, 0.3, 5e8), (1e-12, 1e6, 1e12)])
def test_correlated_noise_is_accepted_in_any_units(units):
    rng = np.random.default_rng(0)
    for _ in range(20):
        scales = np.outer(units, units) * np.outer(*[rng.uniform(0.5, 2.0, 3)] * 2)
        noise = bnn.noise.noise_covariance(CORRELATION * scales, 3)
        np.testing.assert_array_equal(noise, CORRELATION * scales)
        for wrong in (np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, -1.0])):
            with pytest.raises(ValueError, match="must be positive definite"):
                bnn.noise.noise_covariance(np.diag(wrong) * scales, 3)
        above = CORRELATION + 1.2 * np.triu(np.ones((3, 3)), 1) + 1.2 * np.tril(np.ones((3, 3)), -1)
        for lack, message in ((above, "positive definite"), (np.triu(CORRELATION), "symmetric")):
            with pytest.raises(ValueError, match=message):
                bnn.noise.noise_covariance(lack * scales, 3)


def test_noise_of_any_size_is_accepted_with_one_warning():
    with pytest.warns(bnn.NoiseWarning, match="exceeds that of y") as caught:
        model = fitted(1.0, prior=process(1.0), noise_std=np.full(N, 1e100))
    assert len(caught) == 1
    np.testing.assert_allclose(model.predict(X_NEW, return_std=True)[1], 1.0)
    tiny = fitted(1.0, prior=process(1.0), noise_std=np.full(N, 1e-90))
    assert np.abs(tiny.predict(X)[:, None] - Y[:, None]).max() < 0.2


@pytest.mark.parametrize("value", [1e-98, -1e-84, 1e99])
@pytest.mark.parametrize("noise", [None, "heteroscedastic"])
def test_a_constant_of_any_size_is_predicted_and_saved(value, noise, tmp_path):
    model = bnn.GPRegressor(noise=noise).fit(X, np.full(N, value))
    model.save(tmp_path / "model.npz")
    for fitted_model in (model, bnn.load(tmp_path / "model.npz")):
        mean, std = fitted_model.predict(X_NEW, return_std=True, include_noise=True)
        np.testing.assert_array_equal(mean, value)
        assert np.all(std > 0.0)


@pytest.mark.parametrize("freedom", [1e8, 1e99])
def test_many_degrees_of_freedom_are_gaussian_noise(freedom):
    heavy = bnn.StudentNoise(0.1, freedom)
    model = bnn.GPRegressor(process(1.0), noise=heavy).fit(X, Y)
    gaussian = fitted(1.0, prior=process(1.0))
    assert model.log_evidence() == gaussian.log_evidence()
    assert model.elppd(X_NEW, Y[:3]) == gaussian.elppd(X_NEW, Y[:3])
    samples = RNG.standard_normal((5, 3, 1))
    values = metrics.elppd(Y[:3, None], samples, heavy), metrics.elppd(Y[:3, None], samples, 0.1)
    assert values[0] == values[1]


# Score of y = 1e-90, mean 0 and a standard deviation, in closed form
SCORES = {
    metrics.elppd_gaussian: lambda std: stats.norm.logpdf(1e-90, scale=std),
    metrics.coverage: lambda std: float(std > 0.52e-90),
}


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_tiny_deviations(score):
    for std in (1e-99, 1e-90, 1e-50, 1.0, 1e99):
        assert score([1e-90], [0.0], [std]) == pytest.approx(SCORES[score](std), rel=1e-9)
    with pytest.raises(ValueError, match=r"std\[0, 0\] = 1e-200: must be at least 1e-100"):
        score([1e-90], [0.0], [1e-200])


def test_a_prediction_far_outside_its_band_has_no_density_but_a_crps():
    assert metrics.elppd_gaussian([1e100], [0.0], [1e-100]) == -np.inf
    assert metrics.crps_gaussian([1e100], [0.0], [1e-100]) == pytest.approx(1e100)
    assert metrics.elppd([1e100], [[[0.0]]], 1e-99) == -np.inf


def test_an_output_or_input_that_varies_below_rounding_is_reported():
    """Two around 1e14 are 128 steps of double precision; one step is a constant without a word."""
    below = r"varies by 2 around -?1e\+14, which counts as rounding: subtract an offset"
    line = np.linspace(-1.0, 1.0, N)
    for estimator in (bnn.GPRegressor(), small(bnn.VanillaEnsemble)):
        with pytest.warns(bnn.ConstantOutputWarning, match=f"output 0 {below}"):
            model = estimator.fit(X, 1e14 + line)
        assert model.predict([[0.0]])[0] == 1e14 - 1.0
    with pytest.raises(ValueError, match=f"output 0 {below}"):
        bnn.evidence.fit_noise(X, 1e14 + line)
    regressor = bnn.GPRegressor(process(1.0), noise=0.1)
    with pytest.warns(bnn.ConstantInputWarning, match=f"input 1 {below}"):
        regressor.fit(np.column_stack([X, line - 1e14]), Y)
    rounded = np.where(line > 0.0, 0.3, 0.1 + 0.2)
    assert bnn.GPRegressor().fit(X, rounded).predict([[0.0]])[0] == pytest.approx(0.3, rel=1e-15)
