"""Figures and numbers of the study."""

from dataclasses import replace

import numpy as np
import pytest

from figures.prior_study import metrics
from figures.prior_study.metrics import (
    SMALL,
    claims,
    distance_table,
    pattern_claim,
    small_ensemble_claim,
    small_ensembles,
    variance_table,
)
from figures.scores import Interval
from prior_study.study import SOURCES

NEAR = {"low_rank": Interval((0.2, 0.3, 0.2)), "factorised": Interval((1.0, 1.1, 1.0))}


@pytest.fixture
def known_small(monkeypatch):
    """Errors of small ensembles, which take seconds to compute and decide no other claim."""
    monkeypatch.setattr(metrics, "small_ensembles", lambda _: NEAR)


def holds(starts, identifier):
    """What a claim says of some starts."""
    (claim,) = [candidate for candidate in claims(starts) if candidate.id == identifier]
    return claim.holds


def changed(study, prior, **values):
    """The study with other values in the results, or statistics, of a prior."""
    result = study.results[prior]
    fields = {key: value for key, value in values.items() if hasattr(result, key)}
    others = {key: value for key, value in values.items() if key not in fields}
    result = replace(result, statistics=replace(result.statistics, **others), **fields)
    return replace(study, results=study.results | {prior: result})


def test_numbers_are_means_over_the_starts_that_a_prior_has(study):
    doubled = changed(study, "A", variance=3 * study.results["A"].statistics.variance)
    doubled = changed(doubled, "A", distances=3 * study.results["A"].distances)
    doubled = replace(doubled, results={"A": doubled.results["A"]})
    variance = variance_table([study, doubled])
    one = study.results["A"].statistics.variance
    assert [cell.mean for cell in variance["A"].values()] == pytest.approx(2 * one)
    assert variance["A"]["W4"].std == pytest.approx(np.sqrt(2) * one[-1])
    assert variance["B"]["all"].values == (study.results["B"].statistics.variance[0],)
    distance = distance_table([study, doubled])["A"]["low_rank"]["wasserstein"]
    assert distance.mean == pytest.approx(2 * study.results["A"].comparison.wasserstein["low_rank"])


@pytest.mark.parametrize(
    ("identifier", "prior", "worse"),
    [
        ("variance_grows", "A", {"variance": 1e3}),
        ("anisotropic", "A", {"variance_error": 1e9}),
        ("heavy_tails", "A", {"beta": 10.0}),
        ("correlated", "B", {"mean_correlation": -1.0}),
        ("singular_values_grow", "A", {"singular_values": 1e3}),
    ],
)
@pytest.mark.usefixtures("known_small")
def test_no_start_decides_alone(study, identifier, prior, worse):
    """What holds in one start and not in another is open, whichever comes first."""
    for name in "ABCD":
        study = changed(study, name, beta=np.ones(6), null_correlation=np.zeros(5))
        study = changed(study, name, singular_values=ord(name) * np.ones(15))
    assert holds([study], identifier)
    values = study.results[prior].statistics
    factors = {name: factor * getattr(values, name) for name, factor in worse.items()}
    other = changed(study, prior, **factors)
    assert holds([other], identifier) is False
    starts = [study, other]
    assert holds(starts, identifier) is None
    assert holds(starts[::-1], identifier) is None


def test_a_small_ensemble_has_the_first_networks_and_half_the_error_is_needed(study):
    errors = small_ensembles([study])
    result = study.results["D"]
    first = replace(study, results={"D": replace(result, weights=result.weights[:SMALL])})
    assert small_ensembles([first]) == errors
    assert small_ensemble_claim(NEAR).holds
    far = NEAR | {"low_rank": Interval((0.9, 1.0, 0.9))}
    assert small_ensemble_claim(far).holds is False


def test_patterns_vary_only_if_every_kernel_differs_by_more_than_chance():
    B = {"mean_correlation": [0.1] * 5, "null_correlation": [0.08] * 5}
    for last, holds in ((0.3, True), (0.17, False)):
        D = B | {"mean_correlation": [0.3] * 4 + [last]}
        assert pattern_claim({"B": B, "D": D}).holds is holds


@pytest.mark.parametrize(
    ("width", "mean", "holds"), [(0.2, 0.1, True), (1.2, 0.1, False), (0.2, 0.6, False)]
)
@pytest.mark.usefixtures("known_small")
def test_mean_and_widths_decide_what_correlations_recover(study, width, mean, holds):
    """Both factorised densities have errors of 1 in width and 0.1 in mean."""
    for name, result in study.results.items():
        distances, widths = result.distances.copy(), np.ones_like(result.width_errors)
        distances[:, 0] = 0.1
        distances[SOURCES.index("low_rank"), 0] = mean
        distances[SOURCES.index("isotropic"), 0] = 0.9
        widths[SOURCES.index("low_rank")] = width
        study = changed(study, name, distances=distances, width_errors=widths)
    by_id = {claim.id: claim for claim in claims([study])}
    assert by_id["recovered"].holds is holds
    assert by_id["similar_tails"].holds is (width < 0.5)
    assert not by_id["closest/C"].of_paper
