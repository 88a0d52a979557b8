"""Estimators that are given nothing but data take noise and prior from their evidence."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import bnn
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (25, 1))
Y = np.sin(3.0 * X[:, 0]) + 0.1 * RNG.standard_normal(25)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["heteroscedastic", 0.05])
def test_the_average_over_families_is_kept_under_any_noise(noise):
    """One RBF with a trend errs by 0.08 to 0.10, since the function is flat and then wavy."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (80, 2))
    places = rng.uniform(-1.0, 1.0, (400, 2))

    def function(x):
        wave = np.where(x[:, 0] > 0.0, np.sin(8.0 * x[:, 0] ** 2), 0.2 * x[:, 0])
        return wave + np.abs(x[:, 1])

    deviations = 0.05 * np.exp(points[:, 0])
    values = function(points) + deviations * rng.standard_normal(80)
    model = bnn.GPRegressor(noise=noise).fit(points, values)
    assert np.sqrt(np.mean((model.predict(places) - function(places)) ** 2)) < 0.065


@pytest.mark.usefixtures("one_family")
def test_ensembles_take_the_same_noise_and_prior():
    model = small(bnn.AnchoredEnsemble, noise=None).fit(X, Y)
    np.testing.assert_array_equal(np.sqrt(model.noise_), [bnn.evidence.fit_noise(X, Y)])
    exact = bnn.GPRegressor(noise=np.sqrt(model.noise_[0, 0])).fit(X, Y)
    np.testing.assert_array_equal(model.prior_.weights, exact.prior_.weights)


ESTIMATORS = [
    bnn.GPRegressor(),
    bnn.GPRegressor(noise="heteroscedastic"),
    small(bnn.VanillaEnsemble),
    small(bnn.FunctionAnchoredEnsemble, noise=None),
]


@pytest.mark.usefixtures("one_family")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_constant_inputs_are_left_out_and_constant_outputs_are_predicted(model, tmp_path):
    """By all estimators alike, with the noise that is given or else that of rounding."""
    wide = np.insert(X, 0, 7.0, axis=1)
    with pytest.warns(bnn.ConstantInputWarning, match="input 0 is constant in the data"):
        clone(model).fit(wide, Y)
    noise_std = 0.1 if isinstance(model.noise, float) else 0.0
    ignored = bnn.NoiseWarning if noise_std else ()
    for value, others in ((5.0, []), (-3e20, [Y]), (0.0, [])):
        single = np.column_stack([*others, np.full(25, value)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ignored) if noise_std else warnings.simplefilter(
                "default"
            )
            fitted = clone(model).fit(X, single)
        fitted.save(tmp_path / "model.npz")
        size = np.finfo(float).eps * (abs(value) or 1.0)
        for regressor in (fitted, bnn.load(tmp_path / "model.npz")):
            mean, std = regressor.predict(X + 0.3, return_std=True)
            np.testing.assert_allclose(mean[:, -1], value, rtol=4e-16, atol=0.0)
            assert std[:, -1].max() <= 2.0 * size
            total = regressor.predict(X + 0.3, return_std=True, include_noise=True)[1]
            assert total[:, -1] == pytest.approx(np.hypot(noise_std, size), rel=1.0)
        with pytest.raises(ValueError, match=rf", {len(others)}\] = .* of the last fit"):
            fitted.fit(X, single + np.linspace(1.0, 2.0, 25)[:, None] * (value or 1.0), True)


NEARBY = np.linspace(-1.0, 1.0, 6)[:, None]
SLOPES = np.arange(1.0, 4.0)[:, None, None] * NEARBY
PRIORS = {  # of an output that varies and one that does not
    "estimated": lambda y: bnn.GPRegressor(noise="constant").fit(X, y).prior_,
    "table": lambda _: bnn.TablePrior(NEARBY, np.insert(SLOPES, 1, 5.0, axis=2), "linear"),
    "table, points only": lambda _: bnn.TablePrior(NEARBY, np.insert(SLOPES, 1, 5.0, axis=2)),
}


@pytest.mark.usefixtures("one_family")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("prior", "model"),
    [
        ("estimated", small(bnn.AnchoredEnsemble)),
        ("estimated", small(bnn.FunctionAnchoredEnsemble)),
        ("estimated", small(bnn.FunctionAnchoredEnsemble, anchoring__nugget=0.02)),
        ("table", small(bnn.FunctionAnchoredEnsemble)),
        ("table, points only", small(bnn.AnchoredEnsemble)),
    ],
)
def test_ensembles_predict_a_constant_under_a_prior(prior, model):
    """The prior need not vary in an output that the data show to be constant."""
    y = np.column_stack([Y, np.full(25, 5.0)])
    fitted = clone(model).set_params(prior=PRIORS[prior](y)).fit(X, y)
    mean, std = fitted.predict(X + 0.3, return_std=True)
    np.testing.assert_array_equal(mean[:, 1], 5.0)
    assert std[:, 1].max() < 1e-14
    assert std[:, 0].min() > 1e-3


@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
@pytest.mark.parametrize(
    ("noise", "families"),
    [(None, "one_family"), pytest.param(0.1, "few_draws", marks=pytest.mark.slow)],
)
def test_an_output_that_does_not_vary_changes_no_other(noise, families, request):
    """Nor the choice of runs, in which its weight is zero."""
    request.getfixturevalue(families)
    pair = np.column_stack([Y, Y**2 + X[:, 0]])
    wide = np.insert(pair, 2, 4.0, axis=1)
    models = [bnn.GPRegressor(noise=noise).fit(X, y) for y in (wide, pair)]
    with_constant, expected = (np.array(m.predict(X + 0.1, return_std=True)) for m in models)
    np.testing.assert_allclose(with_constant[:, :, :2], expected, rtol=1e-6, atol=1e-8)
    with_constant, expected = (np.array(bnn.select_runs(m, X + 0.1, 4)[1]) for m in models)
    np.testing.assert_allclose(with_constant, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="must be > 0 for an output that varies"):
        bnn.select_runs(models[0], X, 2, output_weights=[0.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize("families", ["one_family", "few_draws"])
def test_the_order_of_the_inputs_does_not_count(families, request):
    """Nor does that of the rows: the same posterior to rounding, on a grid too."""
    request.getfixturevalue(families)
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 5)] * 3), axis=-1).reshape(-1, 3)
    for points in (rng.uniform(size=(30, 3)), grid[::4]):
        y = np.sin(3.0 * points[:, 0]) + points[:, 1] * points[:, 2] ** 2
        y += 0.05 * rng.standard_normal(len(y))
        mean, std = bnn.GPRegressor().fit(points, y).predict(points, return_std=True)
        turned = [2, 0, 1]
        rows = rng.permutation(len(y))
        model = bnn.GPRegressor().fit(points[rows][:, turned], y[rows])
        turned_prediction = model.predict(points[:, turned], return_std=True)
        assert np.max(np.abs(turned_prediction[0] - mean) / std) < 1e-3
        np.testing.assert_allclose(turned_prediction[1], std, rtol=1e-3)


@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize(
    "model", [bnn.GPRegressor(noise=0.1), small(bnn.VanillaEnsemble, noise=0.1)]
)
def test_a_constant_output_is_scored_and_has_the_noise_that_is_given(model):
    y = np.column_stack([Y, np.full(25, 0.3)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", bnn.NoiseWarning)
        fitted = clone(model).fit(X, y)
    mean, std = fitted.predict(X, return_std=True)
    assert clone(fitted).fit(X, y[:, 1]).score(X, y[:, 1]) == 1.0
    assert bnn.metrics.coverage(y, mean, std, per_output=True)[1] == 1.0
    assert np.isfinite(bnn.metrics.elppd_gaussian(y, mean, std))
    joint = fitted.predict(X, return_cov=True)[1]
    np.testing.assert_allclose(np.sqrt(joint[:, 1, 1]), std[:, 1])


# Models with noise that is known for each output, and how they are fitted beside a constant output.
KNOWN_NOISE = {
    "vector": (bnn.GPRegressor(noise=[0.1, 0.2]), {}),
    "covariance": (bnn.GPRegressor(noise=np.diag([0.01, 0.04])), {}),
    "by input": (bnn.GPRegressor(noise=bnn.HeteroscedasticNoise([[-2.0] * 2, [0.1] * 2])), {}),
    "of each datum": (bnn.GPRegressor(), {"noise_std": np.full(25, 0.1)}),
    "constant, anchored": (small(bnn.FunctionAnchoredEnsemble, noise="constant"), {}),
    "likely, anchored": (small(bnn.AnchoredEnsemble, noise=None), {}),
}


@pytest.mark.usefixtures("one_family")
@pytest.mark.filterwarnings("ignore")  # noise is known for a constant output; few networks
@pytest.mark.parametrize("name", KNOWN_NOISE)
def test_known_noise_of_each_output_goes_with_a_constant_output(name):
    model, about_data = KNOWN_NOISE[name]
    y = np.column_stack([Y, np.full(25, 0.3)])
    mean = clone(model).fit(X, y, **about_data).predict(X)
    assert mean.shape == (25, 2)
    np.testing.assert_allclose(mean[:, 1], 0.3, rtol=0.0, atol=0.05)


@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("n_out", [1, 2])
def test_a_constant_output_is_corrected_by_a_low_fidelity_model_that_varies(n_out):
    """The model and what it lacks vary, and cancel."""
    model = bnn.GPRegressor(mean=lambda X: np.column_stack([np.sin(X[:, 0]), X[:, 0]])[:, -n_out:])
    y = np.column_stack([Y, np.full(25, 0.3)])[:, -n_out:]
    mean = model.fit(X, y).predict(X)
    np.testing.assert_allclose(mean.reshape(25, -1)[:, -1], 0.3, rtol=0.0, atol=0.05)


@pytest.mark.usefixtures("one_family")
def test_noise_of_outputs_that_are_never_measured_together_is_uncorrelated():
    y = np.column_stack([Y, Y**2])
    y[:12, 0] = np.nan
    y[12:, 1] = np.nan
    noise = bnn.GPRegressor(noise="heteroscedastic").fit(X, y).noise_
    np.testing.assert_array_equal(noise.correlation, np.eye(2))


@pytest.mark.slow
@pytest.mark.usefixtures("one_family")
@pytest.mark.filterwarnings("ignore:noise.*exceeds that of y")  # rare rows are added to the search
def test_an_output_that_is_rarely_not_zero_varies_among_the_searched_rows():
    """Of 1,000 rows, 300 are searched for the noise under a given prior."""
    points = np.linspace(0.0, 1.0, 1000)[:, None]
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.3))
    y = np.zeros(1000)
    y[np.random.default_rng(0).choice(1000, 3, replace=False)] = 1.0
    assert np.isfinite(bnn.GPRegressor(prior).fit(points, y).predict(points[:5])).all()
