"""Figures and numbers of the study."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.prior_study import panels
from figures.prior_study.metrics import claims
from figures.style import shows_something
from prior_study.study import SOURCES


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


def test_slower_decay_of_one_start_refutes_the_fastest(study):
    fast = np.r_[9.0, np.ones(14)]
    slow = np.ones(15)
    first, other = (changed(study, "D", singular_values=values) for values in (fast, slow))
    assert holds([first, first], "decay_of_D")
    assert not holds([first, other], "decay_of_D")


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
