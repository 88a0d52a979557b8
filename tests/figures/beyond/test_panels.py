"""Pictures of notebook 05."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.beyond import panels as beyond_panels
from figures.beyond.example_1d import Curves
from figures.beyond.scores import Distance
from figures.example_1d.ensembles import GRID
from figures.scores import Interval


def legend(figure):
    return {text.get_text() for text in figure.legends[0].get_texts()}


def test_scores_are_labelled_without_a_number_of_cells(results):
    figure = beyond_panels.methods(results.cases["outd"], results.exact["outd"])
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["RMSE (scaled)", "miscalibration", "ELPPD, sum over test cells"]
    plt.close(figure)


def test_intervals_do_not_reach_below_the_least_that_a_score_can_be(results):
    spread = {score: Interval((0.01, 0.2)) for score in ("rmse", "miscalibration", "elppd")}
    assert spread["elppd"].margin > spread["elppd"].mean
    row = dataclasses.replace(next(iter(results.cases["outd"].values())), **spread)
    figure = beyond_panels.methods({"vanilla": row}, results.exact["outd"])
    ends = [axes.collections[0].get_segments()[0][:, 0].min() for axes in figure.axes]
    assert ends[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert ends[2] < -0.5
    plt.close(figure)


def test_every_colour_of_the_example_has_an_entry_in_the_legend():
    zero = np.zeros(len(GRID))
    curves = Curves(zero, zero + 0.5, Distance(0.1, 0.2))
    cases = {"L = 1": dict.fromkeys([*beyond_panels.SHOWN_1D, "exact"], curves)}
    figure = beyond_panels.example({**cases, "L = 0.1": cases["L = 1"]})
    words = legend(figure)
    assert {"data", "exact posterior, mean", *beyond_panels.COLOURS.values()} <= words
    assert len(words) == 9
    plt.close(figure)
