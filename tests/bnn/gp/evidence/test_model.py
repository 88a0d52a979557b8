"""The default: which family and noise the evidence takes, gaps, odd tables, and many data."""

import numpy as np
import pytest

import bnn
from bnn.gp import hyperparameters
from bnn.gp.evidence import fit_kernel_average, output_data, search
from bnn.gp.evidence.families import Family
from bnn.gp.evidence.laplace import some_rows
from bnn.gp.evidence.prescribed import BEYOND

FEW = pytest.mark.usefixtures("few_draws")


def best_family(X, y):
    """The family of largest evidence under constant noise."""
    searches = []

    def recorded(self, fits):
        searches.extend(fits)
        average(self, fits)

    average = search.OutputSearch._average_gaussian_noise
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search.OutputSearch, "_average_gaussian_noise", recorded)
        fit_kernel_average(X, y)
    return max(searches, key=lambda fit: fit.log_evidence).density.family


def drawn(kernel, n_in, n, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, n_in))
    f = bnn.GaussianProcessPrior(0.0, kernel).sample(X, 1, seed)[0, :, 0]
    return X, f + noise * rng.standard_normal(n)


@pytest.mark.slow
def test_smooth_rough_and_warped_functions_have_families_of_their_own():
    """Draws of an RBF, of a Matérn 3/2, and a wave over a logarithm."""
    assert best_family(*drawn(bnn.RBF(1.0, 0.3), 1, 60, 0.01, 0)) == Family((bnn.RBF,), trend=True)
    assert best_family(*drawn(bnn.Matern32(1.0, 0.5), 1, 80, 0.01, 1)).kinds[-1] is bnn.Matern32
    X = np.exp(np.random.default_rng(2).uniform(0.0, 5.0, (80, 1)))
    assert best_family(X, np.sin(3.0 * np.log(X[:, 0]))).warped


@pytest.mark.parametrize(
    ("n_data", "n_inputs", "trends", "sparse"),
    [(39, 4, 1, True), (40, 4, 4, False), (300, 6, 4, False), (301, 31, 0, False)],
)
def test_trends_and_hyperpriors_follow_the_number_of_data(n_data, n_inputs, trends, sparse):
    families = search.families_for(n_data, n_inputs)
    assert sum(family.trend for family in families) == trends
    assert all(family.sparse == sparse for family in families)
    assert len(set(families)) == len(families)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "kind"),
    [
        (lambda x, rng: 0.1 * rng.standard_normal(len(x)), "constant"),
        (lambda x, rng: 0.02 * np.exp(3.0 * x) * rng.standard_normal(len(x)), "slopes"),
        (lambda x, rng: 0.05 * rng.standard_t(2.5, len(x)), "tails"),
    ],
)
def test_the_evidence_takes_the_form_of_the_noise(noise, kind):
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(size=100))
    y = np.sin(5.0 * x) + noise(x, rng)
    fitted_noise = fit_kernel_average(x[:, None], y)[1]
    if kind == "tails":
        assert isinstance(fitted_noise, bnn.StudentNoise)
        assert fitted_noise.degrees < 10.0
        return
    checked = bnn.noise.checked_noise(fitted_noise, 1, 1)
    ends = bnn.noise.covariance_at(checked, np.array([[0.0], [1.0]])) * np.ones((2, 1, 1))
    low, high = np.sqrt(ends)[:, 0, 0]
    if kind == "slopes":
        assert high / low == pytest.approx(np.exp(3.0), rel=0.6)
    else:
        # Slopes are averaged with zeros, so that little is left of them.
        assert high / low == pytest.approx(1.0, abs=0.25)
        assert low == pytest.approx(0.1, rel=0.3)


@FEW
def test_runs_of_a_deterministic_simulator_get_little_noise():
    """Noise of less than a thousandth of y, so that the band is as narrow as f is known."""
    X = np.random.default_rng(0).uniform(0.01, 1.0, (320, 2))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] ** 2
    model = bnn.GPRegressor().fit(X[:20], y[:20])
    mean, std = model.predict(X[20:], return_std=True, include_noise=True)
    noise = std**2 - model.predict(X[20:], return_std=True)[1] ** 2
    assert np.sqrt(noise.max()) < 0.001 * y.std()
    assert np.median(std) < 0.005 * y.std()
    assert np.mean(np.abs(y[20:] - mean) < 1.96 * std) > 0.9


@FEW
@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-3, 1e-2, 1e-1])
def test_small_noise_of_few_data_is_not_lost(size):
    """Eight rows of an exponential."""
    held = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(308, 1))
        y = np.exp(2.0 * X[:, 0])
        y += size * y.std() * rng.standard_normal(308)
        model = bnn.GPRegressor().fit(X[:8], y[:8])
        mean, std = model.predict(X[8:], return_std=True, include_noise=True)
        held.append(np.mean(np.abs(y[8:] - mean) < 1.96 * std))
    assert np.mean(held) > 0.9


@pytest.mark.slow
def test_intervals_hold_functions_across_a_gap():
    """The middle third of the input is left out, where functions of length scale 0.4 vary."""
    held = []
    for seed in range(8):
        X, y = drawn(bnn.Matern52(1.0, 0.4), 1, 45, 0.05, seed)
        gap = (X[:, 0] > 1 / 3) & (X[:, 0] < 2 / 3)
        model = bnn.GPRegressor().fit(X[~gap], y[~gap])
        mean, std = model.predict(X[gap], return_std=True, include_noise=True)
        held.append(np.mean(np.abs(y[gap] - mean) < 1.96 * std))
    print(f"95 % intervals hold {np.mean(held):.2f} in the gap")
    assert np.mean(held) > 0.88


@pytest.fixture
def searched(monkeypatch):
    """Search 60 of 100 data; the numbers of the others."""
    monkeypatch.setattr(output_data, "SEARCHED", 60)
    return np.setdiff1d(np.arange(100), some_rows(100, 60, 0))


@FEW
def test_an_input_that_varies_in_few_of_many_data_has_its_effect(searched):
    """An indicator with an effect of 3, of which the rows chosen at random have none."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=100), np.zeros(100)])
    X[searched[:4], 1] = 1.0
    y = np.sin(5.0 * X[:, 0]) + 3.0 * X[:, 1] + 0.05 * rng.standard_normal(100)
    without, with_it = bnn.GPRegressor().fit(X, y).predict(np.array([[0.5, 0.0], [0.5, 1.0]]))
    assert without == pytest.approx(np.sin(2.5), abs=0.1)
    assert with_it - without == pytest.approx(3.0, abs=0.5)


@FEW
def test_many_data_have_few_components(monkeypatch):
    """As many as fit into memory with all data, though the search has but some of these."""
    monkeypatch.setattr(hyperparameters, "MEMORY", 3.0 * 30**2)
    monkeypatch.setattr(output_data, "SEARCHED", 20)
    X = np.random.default_rng(0).uniform(size=(30, 1))
    y = np.sin(6.0 * X[:, 0])
    for outputs, expected in ((y, 3), (np.column_stack([y, y**2, y**3]), 1)):
        model = bnn.GPRegressor().fit(X, outputs)
        assert len(model.prior_.components) == expected
    mixture = bnn.MixturePrior([bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))] * 9, [1 / 9] * 9)
    with pytest.raises(ValueError, match=r"9 components for 30 data of 1 output.* at most "):
        bnn.GPRegressor(mixture, noise=0.1).fit(X, y)


@FEW
def test_an_input_that_hardly_varied_does_not_take_the_mean_away():
    """Hundreds of its ranges away, means are a few deviations of y, and intervals hold f."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (40, 2)) * [1.0, 1e-3]
    new = rng.uniform(-1.0, 1.0, (200, 2))

    def function(points):
        return np.sin(3.0 * points[:, 0]) + 0.5 * points[:, 1]

    y = function(X) + 0.05 * rng.standard_normal(40)
    model = bnn.GPRegressor().fit(X, y)
    mean, std = model.predict(new, return_std=True)
    assert np.abs(mean).max() < 5.0 * y.std()
    # At the medians of the hyperpriors k0 = var y, and L is one range. The data show no effect of
    # the input, so the band is narrower than there, BEYOND ranges from the data:
    # S < k0 + BEYOND⁴ Var [f(6) - 2 f(3) + f(0)] / 3⁴, with φ(r) = exp(-r²/2) of an RBF
    curvature = 2.0 * (3.0 - 4.0 * np.exp(-4.5) + np.exp(-18.0)) / 81.0
    near = np.abs(new[:, 1]) < BEYOND * np.ptp(X[:, 1])
    assert near.any()
    assert std[near].max() < np.sqrt(1.0 + BEYOND**4 * curvature) * y.std()  # 27 deviations of y
    assert np.mean(np.abs(mean - function(new)) < 1.96 * std) > 0.9
    far = np.array([[0.0, 1e6], [0.0, 1e9]])
    np.testing.assert_allclose(*model.predict(far), rtol=1e-9)
