"""Pictures of notebook 05."""

import matplotlib.pyplot as plt
import numpy as np

from figures import style
from figures.beyond.other_methods import panels
from figures.beyond.other_methods.example_1d import Curves
from figures.composite.scores import Distance
from figures.example_1d.ensembles import GRID


def test_every_panel_shows_something_with_a_name(results):
    rows = results.cases["outd"]
    zero = np.zeros(len(GRID))
    curves = Curves(zero, zero + 0.5, Distance(0.1, 0.2))
    cases = {f"L = {scale}": dict.fromkeys([*panels.SHOWN_1D, "exact"], curves) for scale in (1, 2)}
    for figure in (
        panels.methods(rows, results.exact["outd"]),
        panels.span(rows, results.spans),
        panels.example(cases),
        panels.noise(np.eye(2), ["a", "b"]),
    ):
        assert all(style.shows_something(axes) for axes in figure.axes)
        assert any(axes.get_xlabel() or axes.get_xticklabels() for axes in figure.axes)
        plt.close(figure)
