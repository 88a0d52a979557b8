"""Scores against reference data that have an error themselves."""

import numpy as np
import pytest

from fe_data.dataset.design import named_design
from fe_data.statistics.replicates import Statistics, save_statistics
from figures.composite.problem import INPUT_SCALING, OUTPUT_NAMES, OUTPUT_SCALING
from figures.composite.reference import Reference, load_reference

RNG = np.random.default_rng(0)


def drawn(std, error, n=4000):
    """A calibrated prediction: it misses f by `std`, and the simulated mean misses f by `error`."""
    f = RNG.uniform(-1, 1, (n, 5))
    simulated = f + error * RNG.standard_normal((n, 5))
    reference = Reference(RNG.uniform(-1, 1, (n, 4)), simulated, np.full((n, 5), error))
    return reference, f + std * RNG.standard_normal((n, 5)), np.full((n, 5), std)


@pytest.mark.parametrize(("std", "error"), [(0.05, 0.01), (0.02, 0.05), (0.1, 0.0)])
def test_a_calibrated_spread_is_found_so_whatever_the_error_of_the_reference_data(std, error):
    reference, mean, spread = drawn(std, error)
    of_mean = reference.scores(mean, spread)
    assert of_mean["reference_coverage"] == pytest.approx(0.95, abs=0.01)
    assert of_mean["reference_miscalibration"] < 0.01
    assert of_mean["reference_z"] == pytest.approx(1.0, abs=0.02)
    assert of_mean["reference_rmse"] == pytest.approx(np.hypot(std, error), rel=0.03)
    mean[:, 4] += 1.0  # the output that one score leaves out
    moved = reference.scores(mean, spread)
    assert moved["reference_rmse"] > 0.4
    assert moved["reference_rmse_fields"] == pytest.approx(np.hypot(std, error), rel=0.03)


def test_a_spread_that_is_half_too_small_is_found_out():
    reference, mean, spread = drawn(0.05, 0.01)
    of_mean = reference.scores(mean, 0.5 * spread)
    assert of_mean["reference_coverage"] < 0.75
    assert of_mean["reference_z"] > 1.6
    area = (
        np.arctan(of_mean["reference_z"]) / np.pi - 0.25
    )  # of normal z of this standard deviation
    assert of_mean["reference_miscalibration"] == pytest.approx(area, abs=0.005)


def test_where_nothing_scatters_a_prediction_without_spread_is_exact_or_infinitely_wrong():
    _, mean, spread = drawn(0.05, 0.0)
    exact = Reference(np.zeros((len(mean), 4)), mean, 0 * spread)
    assert exact.scores(mean, 0 * spread)["reference_z"] == 0.0
    assert exact.scores(mean + 0.01, 0 * spread)["reference_z"] > 1e6


def test_the_reference_is_scaled_as_the_rves_are(tmp_path):
    X = named_design("reference", count=8, replicates=1).inputs
    mean = OUTPUT_SCALING.inverse_transform(RNG.uniform(-1, 1, (8, 5)))
    covariance = np.tile(np.diag((OUTPUT_SCALING.half_range * 0.1) ** 2), (8, 1, 1))
    saved = Statistics(np.arange(8), X, mean, covariance, np.full(8, 25))
    save_statistics(saved, tmp_path / "reference.csv")
    reference = load_reference(tmp_path / "reference.csv")
    np.testing.assert_allclose(reference.X, INPUT_SCALING.transform(X))
    np.testing.assert_allclose(reference.mean, OUTPUT_SCALING.transform(mean), rtol=1e-7, atol=1e-7)
    assert reference.standard_error == pytest.approx(np.full((8, len(OUTPUT_NAMES)), 0.1 / 5))
