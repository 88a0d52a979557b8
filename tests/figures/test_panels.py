"""Our pictures have the panels, axes and limits of the paper's, so that they can be compared."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.composite import load_designs
from figures.composite.problem import INPUT_LABELS, LABELS, load_samples
from figures.example_1d import panels as example
from figures.example_1d.ensembles import GRID, Prediction, exact_posterior
from figures.materials_data import SETS
from figures.materials_data import panels as data
from figures.materials_surrogate import panels as surrogate
from figures.materials_surrogate.surrogate import Prediction as Surrogate
from figures.materials_surrogate.surrogate import score_rows
from figures.pipeline.paths import REPLICATES, SHIPPED_TABLES, TEST
from figures.prior_study import panels as prior


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def designs():
    return load_designs(SHIPPED_TABLES, [*SETS, *REPLICATES])


@pytest.mark.parametrize(
    ("draw", "x", "y"),
    [
        (prior.priors, (-1, 1), (-4, 4)),  # Fig. 1
        (prior.histograms, (-0.4, 0.4), (0, 15)),  # Fig. 2
        (prior.reconstructed, (-1, 1), (-4, 4)),  # Fig. 4
    ],
)
def test_figures_of_the_prior_study_have_the_limits_of_the_paper(draw, x, y, study):
    axes = draw(study).axes
    assert {panel.get_xlim() for panel in axes} == {x}
    assert {panel.get_ylim() for panel in axes} == {y}


def test_fitted_parameters_are_printed_in_the_ten_panels_of_fig_2(study):
    axes = prior.histograms(study).axes
    statistics = study.results["D"].statistics
    sigma = np.sqrt(statistics.variance[3])
    printed = (
        f"$σ_0$ = {sigma:.3f}\n$α_0$ = {statistics.alpha[3]:.3f}\n$β_0$ = {statistics.beta[3]:.2f}"
    )
    assert len(axes) == 10
    assert axes[7].texts[0].get_text() == printed


def test_fig_3_has_the_first_250_weights_of_three_kernels(study):
    images = [axes.images[0].get_array() for axes in prior.correlations(study).axes if axes.images]
    assert [image.shape[0] for image in images] == [250, 250, 250, 50, 50] * 2
    weights = study.results["B"].weights[:, [100, 149]].astype(float)  # of the first unit, to two
    assert images[0][0, 49] == pytest.approx(np.corrcoef(weights, rowvar=False)[0, 1])


def test_fig_5_is_linear(study):
    assert prior.singular_values(study).axes[0].get_yscale() == "linear"


@pytest.fixture(scope="module")
def ensembles():
    """A wide ensemble of 20 functions as each of the ensembles of the example."""
    scales = np.random.default_rng(0).normal(size=(20, 1, 1))
    prediction = Prediction.of_networks(lambda X: 4.0 * scales * np.ones((1, len(X), 1)))
    kinds = ("prior", "anchored", "factorised", "published")
    predictions = {f"{kind} {scale:g}": prediction for kind in kinds for scale in (0.1, 1.0)}
    exact = {f"exact {scale:g}": exact_posterior(scale) for scale in (0.1, 1.0)}
    return {"vanilla": prediction} | predictions | exact


def test_fig_6_shows_realisations_and_networks_within_the_limits_of_the_paper(ensembles):
    axes = example.anchored(ensembles).axes
    for first in (0, 4):  # the paper's panels of each length scale
        for panel in axes[first : first + 2]:
            thin = [line for line in panel.lines if line.get_linewidth() == 0.5]
            assert len(thin) == 20
            assert panel.get_ylim() == (-3.5, 3.5)
    (vanilla,) = example.vanilla(ensembles).axes
    assert vanilla.get_ylim() == (-3.5, 3.5)


def test_fig_7_begins_with_the_published_anchors_inside_their_panels(ensembles):
    axes = example.factorised(ensembles).axes
    assert all("as published" in panel.get_title() for panel in axes[:2])
    band = np.abs(ensembles["published 1"].mean) + 2 * ensembles["published 1"].std
    assert len(band) == len(GRID)
    for panel in axes:
        assert panel.get_ylim()[1] > band.max()


def test_fig_9_has_counts_of_two_sets_of_fifty(designs):
    axes = data.histograms({name: designs[name] for name in SETS}).axes
    for panel in axes[:9]:
        for container in panel.containers:
            assert sum(patch.get_height() for patch in container) == 50
        assert [len(bars) for bars in panel.containers] == [10, 10]


def test_fig_10_has_seven_inputs_in_colours(designs):
    axes = data.scatter({name: designs[name] for name in REPLICATES}).axes
    for panel in axes[:5]:
        assert len({line.get_color() for line in panel.lines}) == len(panel.lines) == 7
        assert {len(line.get_xdata()) for line in panel.lines} == {10}


def test_fig_11_has_equal_limits_and_networks_before_realisations():
    test_set = load_samples(SHIPPED_TABLES, TEST)
    theta = np.full(len(LABELS), 0.5)
    for panel in surrogate.prior_mean(test_set, theta, dict.fromkeys(LABELS, 0.5)).axes:
        assert panel.get_xlim() == panel.get_ylim()
    networks = SimpleNamespace(sample=lambda X: np.ones((3, len(X), len(LABELS))))
    axes = surrogate.prior_functions(theta, 0, networks).axes
    rows = [panel.get_ylabel().split("\n")[0] for panel in axes[:: len(INPUT_LABELS)]]
    assert rows == ["networks"] * 2 + ["further: realisations"] * 2


@pytest.fixture(scope="module")
def predicted():
    """Predictions of three ensembles of different spread for 50 test points."""
    rng = np.random.default_rng(0)
    observed = rng.uniform(-1, 1, (50, 5))
    return {
        name: Surrogate(observed + spread * rng.normal(size=(10, 50, 5)), observed)
        for name, spread in (("prior", 0.5), ("outd_anchored", 0.3), ("outd_vanilla", 0.1))
    }


def test_figs_12_and_13_have_one_set_of_limits_for_all_predictions(predicted):
    rows = score_rows([predicted])
    laws = [16, 5, 6, 7]
    limits = []
    compared = list(predicted.values())
    for name, prediction in predicted.items():
        axes = surrogate.predictions(prediction, rows[name], laws, compared).axes
        limits.append([(panel.get_xlim(), panel.get_ylim()) for panel in axes])
        for x, y in limits[-1][: len(LABELS)]:
            assert x == y
    assert limits[0] == limits[1] == limits[2]


def test_fig_14_has_a_panel_per_method_with_its_average_area(predicted):
    rows = score_rows([predicted])
    methods = {"prior": "prior", "anchored": "outd_anchored", "vanilla": "outd_vanilla"}
    axes = surrogate.calibration([predicted], rows, methods).axes
    for panel, (label, method) in zip(axes, methods.items(), strict=False):
        area = rows[method].miscalibration.mean
        assert panel.get_title() == f"{label}, average area {area:.2f}"
        assert len(panel.lines) == len(LABELS) + 1  # and the diagonal
