"""Scores against reference data that have an error themselves."""

from dataclasses import replace

import numpy as np
import pytest

import bnn
from bnn import evidence
from fe_data.dataset.design import named_design
from fe_data.statistics.replicates import Statistics, save_statistics
from figures.beyond.prior_knowledge.study import training_sets
from figures.composite.draws import load_draws
from figures.composite.problem import (
    INPUT_SCALING,
    OUTPUT_NAMES,
    OUTPUT_SCALING,
    load_designs,
    scaled,
)
from figures.composite.reference import Reference, load_reference
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.profiles import load_profile

RNG = np.random.default_rng(0)


def drawn(std, error, n=4000):
    """A calibrated prediction: it misses f by `std`, and the simulated mean misses f by `error`."""
    f = RNG.uniform(-1, 1, (n, 5))
    simulated = f + error * RNG.standard_normal((n, 5))
    reference = Reference(RNG.uniform(-1, 1, (n, 4)), simulated, np.full((n, 5), error))
    return reference, f + std * RNG.standard_normal((n, 5)), np.full((n, 5), std)


@pytest.mark.parametrize(("std", "error"), [(0.05, 0.01), (0.02, 0.05), (0.1, 0.0)])
def test_a_calibrated_spread_is_found_calibrated_whatever_the_error_of_the_reference_data(
    std, error
):
    reference, mean, spread = drawn(std, error)
    found = reference.scores(mean, spread)
    assert found["reference_coverage"] == pytest.approx(0.95, abs=0.01)
    assert found["reference_miscalibration"] < 0.01
    assert found["reference_z"] == pytest.approx(1.0, abs=0.02)
    assert found["reference_rmse"] == pytest.approx(np.hypot(std, error), rel=0.03)
    mean[:, 4] += 1.0  # the output that one score leaves out
    moved = reference.scores(mean, spread)
    assert moved["reference_rmse"] > 0.4
    assert moved["reference_rmse_fields"] == pytest.approx(np.hypot(std, error), rel=0.03)


def test_a_spread_that_is_half_too_small_is_found_out():
    reference, mean, spread = drawn(0.05, 0.01)
    found = reference.scores(mean, 0.5 * spread)
    assert found["reference_coverage"] < 0.75
    assert found["reference_z"] > 1.6
    area = np.arctan(found["reference_z"]) / np.pi - 0.25  # of normal z of this standard deviation
    assert found["reference_miscalibration"] == pytest.approx(area, abs=0.005)


def test_where_nothing_scatters_a_prediction_without_spread_is_exact_or_infinitely_wrong():
    _, mean, spread = drawn(0.05, 0.0)
    exact = Reference(np.zeros((len(mean), 4)), mean, 0 * spread)
    assert exact.scores(mean, 0 * spread)["reference_z"] == 0.0
    assert exact.scores(mean + 0.01, 0 * spread)["reference_z"] > 1e6


def test_reference_data_are_scaled_as_the_cells_are(tmp_path):
    X = named_design("reference", count=8, replicates=1).inputs
    mean = OUTPUT_SCALING.inverse_transform(RNG.uniform(-1, 1, (8, 5)))
    covariance = np.tile(np.diag((OUTPUT_SCALING.half_range * 0.1) ** 2), (8, 1, 1))
    saved = Statistics(np.arange(8), X, mean, covariance, np.full(8, 25))
    save_statistics(saved, tmp_path / "reference.csv")
    reference = load_reference(tmp_path / "reference.csv")
    np.testing.assert_allclose(reference.X, INPUT_SCALING.transform(X))
    np.testing.assert_allclose(reference.mean, OUTPUT_SCALING.transform(mean), rtol=1e-7, atol=1e-7)
    assert reference.standard_error == pytest.approx(np.full((8, len(OUTPUT_NAMES)), 0.1 / 5))


@pytest.mark.coverage
@pytest.mark.parametrize("case", ["ind25", "outd"])
def test_noise_by_input_covers_the_reference_data_as_that_of_repeated_runs(case):
    """Draws 8 to 23, which had no part in the choice of the odds of constant noise."""
    reference = load_reference()
    table = load_designs(SHIPPED_TABLES, ["noise"])["noise"]
    cells = scaled(table)
    told = bnn.HeteroscedasticNoise.from_replicates(cells.X, cells.y, table.group, squares=(0,))
    known = replace(told, correlation=None)
    covered = []
    for draw in load_draws(SHIPPED_TABLES, load_profile("full"))[8:]:
        train = draw.cases[case]
        row = []
        for noise in (evidence.fit_heteroscedastic_noise(train.X, train.y), known):
            prior = evidence.fit_prior(train.X, train.y, noise, restarts=1)
            model = bnn.GPRegressor(prior, noise=noise).fit(train.X, train.y)
            found = reference.scores(*model.predict(reference.X, return_std=True))
            row.append(found["reference_coverage"])
        covered.append(row)
    ours, theirs = np.mean(covered, axis=0)
    print(
        f"{case}: covers {ours:.3f} of the reference means, "
        f"with the noise of repeated runs {theirs:.3f}"
    )
    assert ours > theirs - 0.03


CONSTANT = ("ind10", "ind25", "ind50", "ind100", "outd")
KINDS = {"constant": CONSTANT, "student_t": ("ind25", "outd")}  # the others in several minutes more


@pytest.mark.coverage
@pytest.mark.parametrize(
    ("noise", "case"), [(n, case) for n, cases in KINDS.items() for case in cases]
)
def test_how_kinds_of_noise_cover_the_reference_data(noise, case):
    """All draws, for the kinds that notebook 06 does not judge; the numbers of the guide."""
    reference = load_reference()
    profile = load_profile("full")
    covered = []
    for draw in load_draws(SHIPPED_TABLES, profile):
        train = training_sets(draw, profile.prior_knowledge.counts)[case]
        model = bnn.GPRegressor(noise=noise).fit(train.X, train.y)
        found = reference.scores(*model.predict(reference.X, return_std=True))
        covered.append(found["reference_coverage"])
    error = np.std(covered, ddof=1) / np.sqrt(len(covered))
    print(
        f"{noise}, {case}: covers {np.mean(covered):.3f} ± {2.0 * error:.3f} of the reference means"
    )
    assert len(covered) == 24
    assert np.mean(covered) > 0.8
