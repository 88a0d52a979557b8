"""Pictures of predicted stress-strain curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.knowledge import panels

STRAIN = np.array([0.001, 0.002, 0.003])
MEAN = np.array([[100.0, 200.0, 250.0], [120.0, 230.0, 280.0]])


def test_bands_are_two_standard_deviations_about_the_mean_and_simulations_relative_to_it():
    simulated = [MEAN[i] * [[1.01], [0.98]] for i in range(2)]
    deviations = np.full((2, 3), 0.01), np.full((2, 3), 0.03)
    figure = panels.curve_fans(STRAIN, ["a", "b"], MEAN, *deviations, simulated)
    assert [axes.get_title() for axes in figure.axes] == ["a", "b", "", ""]
    above = figure.axes[1]
    below = figure.axes[3]
    for axes, low, high in ((above, 263.2, 296.8), (below, -6.0, 6.0)):
        ends = axes.collections[0].get_paths()[0].vertices
        at_end = ends[np.isclose(ends[:, 0], 0.3)][:, 1]
        assert (at_end.min(), at_end.max()) == pytest.approx((low, high))
    drawn = [line.get_ydata() for line in below.lines[2:]]  # after two means
    np.testing.assert_allclose(drawn, [[1.0] * 3, [-2.0] * 3])
    np.testing.assert_allclose([line.get_ydata() for line in above.lines][2:], simulated[1])
    plt.close(figure)


def test_errors_are_percentages_beside_the_scatter():
    errors = {"50 cells": np.array([0.004, 0.003, 0.002])}
    figure = panels.curve_errors(STRAIN, errors, np.array([0.005, 0.006, 0.007]))
    (line,) = figure.axes[0].lines
    np.testing.assert_allclose(line.get_xydata(), [[0.1, 0.4], [0.2, 0.3], [0.3, 0.2]])
    assert figure.axes[0].collections[0].get_paths()[0].vertices[:, 1].max() == pytest.approx(0.7)
    assert line.get_label() == "error, 50 cells"
    plt.close(figure)
