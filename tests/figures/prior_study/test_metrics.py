"""Figures and numbers of the study."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.prior_study import panels
from figures.prior_study.metrics import claims, distance_table, variance_table
from figures.style import shows_something
from prior_study.study import SOURCES


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["priors", "histograms", "correlations", "reconstructed", "singular_values"],
)
def test_every_panel_of_the_study_shows_something_with_a_name(study, name):
    figure = getattr(panels, name)(study)
    for axes in figure.axes:
        assert shows_something(axes)
        assert axes.get_title() or axes.get_xlabel() or axes.get_ylabel()
    plt.close(figure)


def test_distances_of_a_prior_are_averaged_over_its_starts(study):
    row = study.results["A"].distances.copy()
    doubled = changed(study, "A", distances=2 * row)
    doubled = replace(doubled, results={"A": doubled.results["A"]})
    figure = panels.distances([study, doubled])
    points = {line.get_label(): line.get_xdata() for line in figure.axes[0].lines}
    plt.close(figure)
    assert points["prior A, starts: 2"] == pytest.approx(1.5 * row[:, -1])
    assert points["prior B, starts: 1"] == pytest.approx(study.results["B"].distances[:, -1])


def holds(starts, identifier):
    """What a claim says of some starts."""
    (found,) = [each for each in claims(starts) if each.id == identifier]
    return found.holds


def changed(study, prior, **values):
    """The study with other values in the results, or statistics, of a prior."""
    result = study.results[prior]
    own = {key: value for key, value in values.items() if hasattr(result, key)}
    others = {key: value for key, value in values.items() if key not in own}
    result = replace(result, statistics=replace(result.statistics, **others), **own)
    return replace(study, results=study.results | {prior: result})


def test_kernels_of_equal_variance_are_isotropic(study):
    assert holds([study], "variance_grows")
    assert holds([study], "anisotropic")
    statistics = study.results["A"].statistics
    within = statistics.variance[0] * (1 + 0.01 * np.array([0, 1, -1, 1, -1, 0]))
    error = np.full(6, 0.01 * statistics.variance[0])
    equal = changed(study, "A", variance=within, variance_error=error)
    assert not holds([equal], "anisotropic")


def test_a_kernel_at_its_level_is_not_correlated(study):
    statistics = study.results["B"].statistics
    above = statistics.null_correlation + 0.001
    both = changed(changed(study, "B", mean_correlation=above), "D", mean_correlation=above + 1)
    assert holds([both], "correlated")
    one = np.where(np.arange(5) == 2, statistics.null_correlation, above)
    assert not holds([changed(both, "B", mean_correlation=one)], "correlated")


def test_decay_is_the_fastest_where_all_starts_agree(study):
    for name in "ABC":
        study = changed(study, name, singular_values=np.ones(15))
    fast, slow = (
        changed(study, "D", singular_values=np.r_[first, np.ones(14)]) for first in (9.0, 0.1)
    )
    assert holds([fast, fast], "decay_of_D")
    assert holds([fast, slow], "decay_of_D") is None
    assert holds([slow, slow], "decay_of_D") is False


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


def test_singular_values_that_cross_do_not_grow_at_every_index(study):
    for name, scale in zip("ABC", (1, 2, 3), strict=True):
        study = changed(study, name, singular_values=scale * np.linspace(2, 1, 15))
    assert holds([study], "singular_values_grow")
    crossing = np.r_[np.linspace(2, 1, 15)[:-1], 100.0]
    assert not holds([changed(study, "A", singular_values=crossing)], "singular_values_grow")


@pytest.mark.parametrize("source", ["isotropic", "factorised"])
def test_width_of_networks_drawn_with_the_same_numbers_is_compared(study, source):
    index = SOURCES.index(source)
    functions = study.results["A"].functions
    for prior, scale in zip("ABDC", (1.0, 2.0, 3.0, 4.0), strict=True):
        scaled = study.results[prior].functions.copy()
        scaled[index] = scale * functions[index]
        study = changed(study, prior, functions=scaled, variance=np.full(6, scale))
    assert holds([study], f"wider/{source}")
    shrunk = study.results["C"].functions.copy()
    shrunk[index] *= 0.1
    assert holds([changed(study, "C", functions=shrunk)], f"wider/{source}") is False


@pytest.mark.parametrize(("widths", "expected"), [("ADBC", True), ("ABDC", None)])
def test_priors_stand_in_the_order_of_their_variance_in_each_start(study, widths, expected):
    """In the second start B and D change places by variance, and by width or not."""
    first = with_isotropic(study, "ABDC", "ABDC")
    second = with_isotropic(study, "ADBC", widths)
    assert holds([first, first], "wider/isotropic")
    assert holds([first, second], "wider/isotropic") is expected


def with_isotropic(study, by_variance, by_width):
    """The study with priors in an order of their variance, and of the width of their functions."""
    index = SOURCES.index("isotropic")
    common = study.results["A"].functions[index]
    for rank, name in enumerate(by_variance, start=1):
        study = changed(study, name, variance=np.full(6, float(rank)))
    for rank, name in enumerate(by_width, start=1):
        functions = study.results[name].functions.copy()
        functions[index] = rank * common
        study = changed(study, name, functions=functions)
    return study


@pytest.mark.parametrize(
    ("wasserstein", "verdict"),
    [((0.01, 0.02, 0.015), True), ((90.0, 80.0, 85.0), False), ((0.01, 90.0, 0.02), None)],
)
def test_what_the_starts_of_prior_d_say_is_the_verdict(study, wasserstein, verdict):
    starts = []
    for distance in wasserstein:
        distances = study.results["D"].distances.copy()
        distances[SOURCES.index("low_rank"), 2] = distance
        starts.append(changed(study, "D", distances=distances))
    further = [replace(each, results={"D": each.results["D"]}) for each in starts[1:]]
    assert holds([starts[0], *further], "closest/D") is verdict
