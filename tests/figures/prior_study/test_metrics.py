"""Figures and numbers of the study."""

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.prior_study import panels as prior_study_panels
from figures.prior_study.metrics import claims, variance_table, weight_table
from figures.scores import write_json
from prior_study.study import SOURCES


@pytest.mark.parametrize(
    "name",
    ["priors", "histograms", "correlations", "reconstructed", "distances", "singular_values"],
)
def test_every_panel_of_the_study_shows_something_with_a_name(study, name):
    figure = getattr(prior_study_panels, name)(study)
    for axes in figure.axes:
        assert axes.lines or axes.images or axes.patches or axes.collections
        assert axes.get_title() or axes.get_xlabel() or axes.get_ylabel()
    plt.close(figure)


def claim(starts, identifier):
    """The claim of an id."""
    (found,) = [each for each in claims(starts) if each.id == identifier]
    return found


def changed(study, prior, **values):
    """The study with other values in the results, or statistics, of a prior."""
    result = study.results[prior]
    own = {key: value for key, value in values.items() if hasattr(result, key)}
    others = {key: value for key, value in values.items() if key not in own}
    result = replace(result, statistics=replace(result.statistics, **others), **own)
    return replace(study, results=study.results | {prior: result})


def with_wasserstein(study, distance):
    """The study with another Wasserstein distance of the multivariate Gaussian of prior D."""
    distances = study.results["D"].distances.copy()
    distances[SOURCES.index("low_rank"), 2] = distance
    return changed(study, "D", distances=distances)


def test_tables_of_the_study_are_plain_values(study, tmp_path):
    tables = [f(study) for f in (variance_table, weight_table)]
    assert json.loads(json.dumps(tables, allow_nan=False)) == tables
    write_json(tmp_path / "claims.json", {"claims": claims([study])})


def test_claim_of_growing_variance_is_borne_out(study):
    assert claim([study], "variance_grows").holds


def test_kernels_of_equal_variance_are_isotropic(study):
    assert claim([study], "anisotropic").holds
    statistics = study.results["A"].statistics
    within = statistics.variance[0] * (1 + 0.01 * np.array([0, 1, -1, 1, -1, 0]))
    error = np.full(6, 0.01 * statistics.variance[0])
    assert not claim(
        [changed(study, "A", variance=within, variance_error=error)], "anisotropic"
    ).holds


def test_a_kernel_at_its_level_is_not_correlated(study):
    statistics = study.results["B"].statistics
    above = statistics.null_correlation + 0.001
    at = statistics.null_correlation.copy()
    both = changed(changed(study, "B", mean_correlation=above), "D", mean_correlation=above + 1)
    assert claim([both], "correlated").holds
    one = np.where(np.arange(5) == 2, at, above)
    assert not claim([changed(both, "B", mean_correlation=one)], "correlated").holds


def test_slower_decay_of_one_start_refutes_the_fastest(study):
    fast = np.r_[9.0, np.ones(14)]
    slow = np.ones(15)
    first, other = (changed(study, "D", singular_values=values) for values in (fast, slow))
    assert claim([first, first], "decay_of_D").holds
    assert not claim([first, other], "decay_of_D").holds


def test_singular_values_that_cross_do_not_grow_at_every_index(study):
    values = {
        name: scale * np.linspace(2, 1, 15) for name, scale in zip("ABC", (1, 2, 3), strict=True)
    }
    for name, each in values.items():
        study = changed(study, name, singular_values=each)
    assert claim([study], "singular_values_grow").holds
    values["A"][-1] = 100.0
    crossing = changed(study, "A", singular_values=values["A"])
    assert not claim([crossing], "singular_values_grow").holds


@pytest.mark.parametrize("source", ["isotropic", "factorised"])
def test_width_of_networks_drawn_with_the_same_numbers_is_compared(study, source):
    index = SOURCES.index(source)
    functions = study.results["A"].functions
    for prior, scale in zip("ABDC", (1.0, 2.0, 3.0, 4.0), strict=True):
        scaled = study.results[prior].functions.copy()
        scaled[index] = scale * functions[index]
        study = changed(study, prior, functions=scaled, variance=np.full(6, scale))
    assert claim([study], f"wider/{source}").holds
    shrunk = study.results["C"].functions.copy()
    shrunk[index] *= 0.1
    assert claim([changed(study, "C", functions=shrunk)], f"wider/{source}").holds is False


@pytest.mark.parametrize(
    ("distances", "holds"),
    [((0.01, 0.02, 0.015), True), ((90.0, 80.0, 85.0), False), ((0.01, 90.0, 0.02), None)],
)
def test_what_the_starts_of_prior_d_say_is_the_verdict(study, distances, holds):
    starts = [with_wasserstein(study, distance) for distance in distances]
    further = [replace(each, results={"D": each.results["D"]}) for each in starts[1:]]
    found = claim([starts[0], *further], "closest/D")
    assert found.holds is holds
    assert found.ours["low_rank"].values == distances
    assert found.claim.endswith("(starts: 3)")


def test_every_figure_and_table_of_the_study_has_a_claim(study):
    places = {each.about for each in claims([study])}
    assert places == {"Fig. 1", "Fig. 2", "Fig. 3", "Fig. 4", "Fig. 5", "Table 1"}
