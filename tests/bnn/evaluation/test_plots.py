"""Pictures show what they were given."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

import bnn
from bnn.evaluation.plots import plot_1d, plot_calibration, plot_parity, plot_singular_values


@pytest.fixture(autouse=True)
def close_figures():
    """No figure outlives its test."""
    yield
    plt.close("all")


def test_plot_1d_shows_mean_band_members_data_and_truth():
    """The line is the mean; the band ends two standard deviations away."""
    X = np.linspace(-1, 1, 20)[:, None]
    samples = np.random.default_rng(0).standard_normal((30, 20, 2))
    axes = plot_1d(X, samples, data=(X[:3], np.zeros((3, 2))), truth=X, members=4, output=1)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["mean ± 2 std", "mean", "truth", "data"]
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["mean"].get_ydata(), samples[:, :, 1].mean(axis=0))
    assert len(axes.lines) == 4 + 3
    top = axes.collections[0].get_paths()[0].vertices[:, 1].max()
    mean, std = samples[:, :, 1].mean(axis=0), samples[:, :, 1].std(axis=0, ddof=1)
    assert top == pytest.approx((mean + 2 * std).max())


def test_plot_parity_has_one_panel_per_output():
    """Names become titles."""
    y = np.random.default_rng(0).standard_normal((10, 3))
    figure = plot_parity(y, y, np.ones_like(y), ["a [m]", "b [N]", "c"])
    assert [axes.get_title() for axes in figure.axes] == ["a [m]", "b [N]", "c"]


def test_plot_calibration_states_the_area():
    """A shifted prediction shows the larger area in the legend."""
    y = np.random.default_rng(0).standard_normal((500, 2))
    good, bad = (np.zeros_like(y), np.ones_like(y)), (np.ones_like(y), np.ones_like(y))
    axes = plot_calibration(y, {"good": good, "bad": bad})
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    areas = [float(text.split()[-1]) for text in texts[1:]]
    assert areas[0] < 0.05 < 0.2 < areas[1]


def test_plot_singular_values():
    """One falling line for each prior."""
    axes = plot_singular_values({"A": np.array([3.0, 2.0, 1.0]), "B": np.array([1.0, 0.1])})
    assert [len(line.get_xdata()) for line in axes.lines] == [3, 2]


def test_names_that_the_package_lacks_are_refused():
    """The pictures come by name when they are asked for, other names do not."""
    with pytest.raises(AttributeError, match="module 'bnn' has no attribute 'plot'"):
        _ = bnn.plot
