"""Pictures of predicted stress-strain curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from figures.beyond.prior_knowledge import panels

STRAIN = np.array([0.001, 0.002, 0.003])
MEAN = np.array([[100.0, 200.0, 250.0], [120.0, 230.0, 280.0]])


def test_bands_are_two_standard_deviations_about_the_mean_and_simulations_relative_to_it():
    simulated = [MEAN[i] * [[1.01], [0.98]] for i in range(2)]
    deviations = np.full((2, 3), 0.01), np.full((2, 3), 0.03)
    figure = panels.curve_fans(STRAIN, ["a", "b"], MEAN, *deviations, simulated)
    for axes, low, high in ((figure.axes[1], 263.2, 296.8), (figure.axes[3], -6.0, 6.0)):
        ends = axes.collections[0].get_paths()[0].vertices
        at_end = ends[np.isclose(ends[:, 0], 0.3)][:, 1]
        assert (at_end.min(), at_end.max()) == pytest.approx((low, high))
    drawn = [line.get_ydata() for line in figure.axes[3].lines[2:]]  # after two means
    np.testing.assert_allclose(drawn, [[1.0] * 3, [-2.0] * 3])
    figure = panels.curve_errors(STRAIN, {"50 cells": STRAIN}, 2 * STRAIN)
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), 100 * STRAIN)
    assert figure.axes[0].get_xlabel()
    plt.close("all")
