"""Figures and numbers of the study, and of the one-dimensional example."""

import json
from dataclasses import asdict

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import chi2

from bnn import Architecture
from figures.example_1d import ensembles as example_1d
from figures.example_1d import panels as example_1d_panels
from figures.example_1d.metrics import claims, row, rows
from figures.pipeline.settings import Example1D
from figures.prior_study import panels as prior_study_panels
from figures.prior_study.metrics import claims as study_claims
from figures.prior_study.metrics import directions, distance_table, variance_table, weight_table

BRIEF = Example1D(
    repeats=2, n_pretrained=6, n_members=4, prior_points=40, pretrain_epochs_scale=0.02
)


@pytest.fixture(scope="module")
def repeats():
    return example_1d.repeat(BRIEF, seed=1)


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


def test_tables_of_the_study_are_plain_values(study):
    tables = [f(study) for f in (variance_table, distance_table, weight_table)]
    tables.append([asdict(claim) for claim in study_claims(study)])
    assert json.loads(json.dumps(tables, allow_nan=False)) == tables


def test_claim_of_growing_variance_is_borne_out(study):
    (claim,) = [each for each in study_claims(study) if each.about == "Table 1"]
    assert claim.holds


def test_every_figure_and_table_of_the_study_has_a_claim(study):
    places = {each.about for each in study_claims(study)}
    assert places == {"Fig. 1", "Fig. 2", "Fig. 3", "Fig. 4", "Fig. 5", "Table 1"}


def test_directions_that_hold_most_of_the_variance_are_counted():
    assert directions(np.array([3.0, 1.0, 1.0, 1.0]), share=0.75) == 1
    assert directions(np.array([1.0, 1.0, 1.0, 1.0]), share=0.9) == 4


def test_published_data_lie_around_the_truth_as_the_noise_says():
    X, y = example_1d.load_data()
    assert X.shape == (30, 1)
    # Rounding x to two decimals adds slope² · 0.01² / 12 to the variance, slope up to 9.5.
    squares = np.sum((y - example_1d.truth(X[:, 0])) ** 2) / (0.1**2 + 9.5**2 * 0.01**2 / 12)
    assert chi2.ppf(0.001, 30) < squares < chi2.ppf(0.999, 30)


def test_exact_posterior_is_certain_at_the_data_and_the_prior_far_away():
    found = example_1d.exact_posterior(0.1)
    x = example_1d.GRID[:, 0]
    assert found.std[np.argmin(np.abs(x + 0.46))] < 0.1
    assert found.std[0] == pytest.approx(1.0, abs=0.01)
    assert found.mean[0] == pytest.approx(2 * x[0], abs=0.05)


def test_exact_posterior_has_no_distance_from_itself():
    exact = example_1d.exact_posterior(1.0)
    numbers = row(exact, exact)["to_exact"]
    assert max(numbers.values()) == pytest.approx(0, abs=1e-5)


def test_published_anchors_repeat_the_first_kernel_and_leave_the_start_alone():
    architecture = Architecture((1, 5, 5, 5, 1))
    weights = architecture.initial_weights(3, 0)
    before = weights.copy()
    anchors = example_1d.first_layer_anchors(weights, architecture)
    np.testing.assert_array_equal(weights, before)
    unpacked = architecture.unpack(anchors)
    for kernel, _ in unpacked[1:-1]:
        np.testing.assert_array_equal(kernel, np.repeat(unpacked[0][0], 5, axis=1))
    for layer in (0, 3):
        part = slice(architecture.layers[layer].start, architecture.layers[layer].stop)
        np.testing.assert_array_equal(anchors[:, part], weights[:, part])


def test_every_method_of_the_example_is_summed_up(repeats):
    table = rows(repeats)
    assert len(table) == 11
    assert len(table["vanilla"]["rmse"].values) == 2
    assert len(claims(table)) == 15


def test_repeats_differ_but_the_exact_posterior_does_not(repeats):
    first, second = repeats
    assert np.abs(first["vanilla"].mean - second["vanilla"].mean).max() > 1e-3
    np.testing.assert_array_equal(first["exact 1"].mean, second["exact 1"].mean)


def test_pictures_of_the_example_show_data_and_bands(repeats):
    found, scales = repeats[0], example_1d.LENGTHSCALES
    figures = [
        example_1d_panels.vanilla(found),
        example_1d_panels.anchored(found, scales),
        example_1d_panels.factorised(found, scales),
    ]
    for figure in figures:
        assert all(axes.collections and axes.get_xlabel() for axes in figure.axes)
        plt.close(figure)
