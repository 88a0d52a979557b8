"""Metrics against other packages, closed forms and hand calculation."""

import sys

import numpy as np
import pytest
from scipy import stats
from uncertainty_toolbox.metrics_accuracy import prediction_error_metrics
from uncertainty_toolbox.metrics_calibration import get_proportion_under_quantile

from bnn import HeteroscedasticNoise, StudentNoise, metrics

ROOT = np.array([[0.5, 0.0, 0.0], [0.2, 0.7, 0.0], [0.1, -0.3, 0.4]])
FULL = ROOT @ ROOT.T


@pytest.fixture(scope="module")
def case():
    """True values, mean, std, (60, 3), and samples, (25, 60, 3)."""
    rng = np.random.default_rng(0)
    y, mean = rng.standard_normal((2, 60, 3))
    std = rng.uniform(0.5, 1.5, (60, 3))
    return y, mean, std, mean + std * rng.standard_normal((25, 60, 3))


def test_rmse(case):
    """Root of the mean over all residuals, or over those of each output."""
    y, mean, _, _ = case
    assert metrics.rmse(y, mean) == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    for j, value in enumerate(metrics.rmse(y, mean, per_output=True)):
        theirs = prediction_error_metrics(mean[:, j], y[:, j])["rmse"]
        assert value == pytest.approx(theirs)


def test_calibration_curve_against_uncertainty_toolbox(case):
    """Proportions agree at every level; their residuals have the opposite sign."""
    y, mean, std, _ = case
    levels, observed = metrics.calibration_curve(y, mean, std)
    theirs = [
        1.0 - get_proportion_under_quantile(mean[:, 0], std[:, 0], y[:, 0], 1.0 - p) for p in levels
    ]
    np.testing.assert_allclose(observed[:, 0], theirs)


def test_what_is_missing_does_not_count(case):
    """Scores of an output are those of its rows; joint densities those of what is there."""
    y, mean, std, samples = (array[..., :2] for array in case)
    y = y.copy()
    y[[1, 4], 1] = y[2, 0] = y[5] = np.nan
    scores = [metrics.rmse, metrics.coverage, metrics.crps_gaussian, metrics.miscalibration_area]
    for score in (*scores, metrics.crps):
        by_moments = (mean,) if score is metrics.rmse else (mean, std)
        arrays = by_moments if score in scores else (samples,)
        by_output = score(y, *arrays, per_output=True)
        for j in range(2):
            rows = ~np.isnan(y[:, j])
            alone = [array[..., rows, j : j + 1] for array in arrays]
            assert by_output[j] == pytest.approx(score(y[rows, j : j + 1], *alone))
        if score is not metrics.rmse:
            assert score(y, *arrays) == pytest.approx(np.mean(by_output))
        with pytest.raises(ValueError, match="output 1 has no value"):
            score(np.where([True, False], y, np.nan), *arrays, per_output=True)
    assert metrics.rmse(y, mean) == pytest.approx(np.sqrt(np.nanmean((y - mean) ** 2)))


@pytest.mark.parametrize("form", ["constant", "by point", "student", "draws", "moments"])
def test_the_density_of_a_part_is_the_integral_over_the_rest(form):
    rng = np.random.default_rng(0)
    samples = 0.3 * rng.standard_normal((6, 3, 2))
    noise = FULL[:2, :2]
    if form == "by point":
        noise = noise * np.array([1.0, 2.0, 3.0])[:, None, None]
    if form == "student":
        noise = StudentNoise(noise, 4.0)
    options = {"density": "student_t"} if form == "draws" else {}

    def density(y):
        if form == "moments":
            return metrics.elppd_gaussian(y, samples.mean(axis=0), samples.std(axis=0), noise)
        return metrics.elppd(y, samples, noise, **options)

    y = np.array([[0.3, -0.2], [0.1, 0.4], [0.2, 0.5]])
    grid = np.linspace(-40.0, 40.0, 401)
    total = 0.0
    for value in grid:
        y[1, 0] = value
        total += np.exp(density(y)) * 0.2
    y[1, 0] = np.nan
    assert np.exp(density(y)) == pytest.approx(total, rel=1e-4)


def test_miscalibration_area_by_hand():
    """Overconfident to the end, z = ±∞ in halves: |0.5 - p| integrates to 1/4."""
    y = np.array([1e9, -1e9])
    assert metrics.miscalibration_area(y, np.zeros(2), np.ones(2)) == pytest.approx(0.25, abs=1e-3)
    biased = metrics.miscalibration_area(np.full(2, 1e9), np.zeros(2), np.ones(2))
    assert biased == pytest.approx(0.5, abs=1e-3)


def test_elppd_is_the_log_of_the_average_density_of_the_members(case):
    """With full Σ_noise by SciPy; finite where all densities underflow."""
    y, _, _, samples = case
    density = np.mean(
        [stats.multivariate_normal(cov=FULL).pdf(y - sample) for sample in samples], 0
    )
    assert metrics.elppd(y, samples, FULL) == pytest.approx(np.log(density).sum())
    assert np.isfinite(metrics.elppd(y + 1e4, samples, 0.8))


@pytest.mark.parametrize("noise", [None, np.array([0.3, 0.5, 1.0]), FULL])
def test_elppd_of_moments_is_the_normal_density(case, noise):
    """Point by point with SciPy, where the noise keeps its correlations; (n,) is one output."""
    y, mean, std, _ = case
    added = 0.0 if noise is None else noise if noise.ndim == 2 else np.diag(noise**2)
    pairs = zip(y - mean, std, strict=True)
    expected = sum(stats.multivariate_normal(cov=np.diag(s**2) + added).logpdf(r) for r, s in pairs)
    assert metrics.elppd_gaussian(y, mean, std, noise) == pytest.approx(expected)
    one = metrics.elppd_gaussian(y[:, 0], mean[:, 0], std[:, 0])
    assert one == pytest.approx(stats.norm(mean[:, 0], std[:, 0]).logpdf(y[:, 0]).sum())


def test_elppd_of_students_t_is_its_density(case):
    """Point by point with SciPy."""
    y, _, _, samples = case
    K = len(samples)
    variances = samples.var(axis=0, ddof=1)
    shapes = [np.diag((1 + 1 / K) * v) + FULL for v in variances]
    triples = zip(y, samples.mean(axis=0), shapes, strict=True)
    expected = sum(stats.multivariate_t(m, S, K - 1).logpdf(truth) for truth, m, S in triples)
    log_density = metrics.elppd(y, samples, FULL, density="student_t")
    assert log_density == pytest.approx(expected)


@pytest.fixture
def scoringrules(monkeypatch):
    """The package in plain NumPy: where it finds numba it compiles for seconds when imported."""
    monkeypatch.setitem(sys.modules, "numba", None)
    import scoringrules

    return scoringrules


def test_crps_against_scoringrules(case, scoringrules):
    """Ensemble (energy form) and Gaussian scores."""
    y, mean, std, samples = case
    theirs = scoringrules.crps_ensemble(y, samples, m_axis=0, estimator="nrg").mean(axis=0)
    np.testing.assert_allclose(metrics.crps(y, samples, per_output=True), theirs)
    theirs = scoringrules.crps_normal(y, mean, std).mean(axis=0)
    np.testing.assert_allclose(metrics.crps_gaussian(y, mean, std, per_output=True), theirs)


def test_noise_widens(case):
    """Adding noise, of all points or of each, equals handing over the total deviation."""
    y, mean, std, _ = case
    noise = np.array([0.3, 0.5, 1.0])
    full = np.diag(noise**2)
    growing = full * np.linspace(1.0, 2.0, 60)[:, None, None]
    for metric in (metrics.miscalibration_area, metrics.crps_gaussian, metrics.coverage):
        for covariance in (noise, full, growing):
            variances = noise**2 if covariance is noise else np.einsum("...jj->...j", covariance)
            expected = metric(y, mean, np.sqrt(std**2 + variances))
            assert metric(y, mean, std, noise=covariance) == pytest.approx(expected)
        with pytest.raises(
            ValueError, match="noise depends on the input: a constant covariance is"
        ):
            metric(y, mean, std, noise=HeteroscedasticNoise(np.zeros((2, 3))))


def test_coverage():
    """The central interval holds its nominal share, within five standard errors."""
    z = np.random.default_rng(0).standard_normal(20_000)
    for level in (0.5, 0.95):
        share = metrics.coverage(z, np.zeros_like(z), np.ones_like(z), level)
        assert share == pytest.approx(level, abs=5 * np.sqrt(level * (1 - level) / 20_000))
