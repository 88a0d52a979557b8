"""Pictures show the numbers that they were given."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bnn
from bnn import plots
from bnn.evaluation.prior_check import PriorCheck


@pytest.fixture(autouse=True)
def close_figures():
    """No figure outlives its test."""
    yield
    plt.close("all")


def top(axes):
    """The upper end of a band."""
    return axes.collections[0].get_paths()[0].vertices[:, 1].max()


def test_plot_1d_shows_mean_band_members_data_and_truth():
    """The line is the mean; the band ends two standard deviations away."""
    X = np.linspace(-1, 1, 20)[:, None]
    samples = np.random.default_rng(0).standard_normal((30, 20, 2))
    axes = plots.plot_1d(
        X, samples, data=(X[:3], np.zeros((3, 2))), reference=X, members=4, output=1
    )
    lines = {line.get_label(): line for line in axes.lines}
    mean = samples[:, :, 1].mean(axis=0)
    std = samples[:, :, 1].std(axis=0, ddof=1)
    np.testing.assert_allclose(lines["mean"].get_ydata(), mean)
    assert len(axes.lines) == 4 + 3
    assert top(axes) == pytest.approx((mean + 2 * std).max())


class Plane:
    """f = (x0 + 10 x1, -x1) with standard deviations 1 and |x0|."""

    def predict(self, X, return_std):
        assert return_std
        a, b = np.asarray(X).T
        return np.column_stack([a + 10 * b, -b]), np.column_stack([np.ones_like(a), np.abs(a)])


X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 5.0], [3.0, 2.0], [4.0, 2.0]])  # median (2, 2)


def test_plot_rounds_shows_earlier_runs_and_those_of_the_round():
    """Inputs in pairs, the third with the first."""
    rounds = [pd.DataFrame(np.eye(n, 3) + n, columns=["a", "b", "c"]) for n in (4, 2)]
    panels = np.reshape(plots.plot_rounds(rounds).axes, (2, 2))
    for shown, table in zip(panels[1, 1].collections, rounds, strict=True):
        np.testing.assert_array_equal(shown.get_offsets(), table[["c", "a"]])


def test_plot_slices_follows_each_input_through_the_point():
    """Closed-form lines and bands through the median, in rows of outputs."""
    panels = np.reshape(plots.plot_slices(Plane(), X).axes, (2, 2))
    x = np.linspace(0, 4, 100)
    b = np.linspace(1, 5, 100)
    expected = [[(x, x + 20), (b, 2 + 10 * b)], [(x, np.full(100, -2.0)), (b, -b)]]
    for place, axes in np.ndenumerate(panels):
        np.testing.assert_allclose(axes.lines[0].get_data(), expected[place[0]][place[1]])
    assert top(panels[1, 0]) == pytest.approx(-2.0 + 2 * 4)


def test_plot_prior_check_sorts_the_data_by_the_median():
    """The band is the interval, and each datum stands where its median does."""
    median = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    quantiles = np.stack([median - 1.0, median, median + 2.0])
    check = PriorCheck(np.array([1.0, 4.0]), np.array([0.4, 0.002]), quantiles, median + 0.5)
    first, _ = plots.plot_prior_check(check, ["a [m]", "b [N]"]).axes
    assert first.lines[0].get_ydata().tolist() == [1.0, 2.0, 3.0]
    assert first.lines[1].get_ydata().tolist() == [1.5, 2.5, 3.5]
    assert top(first) == 5.0


def test_plot_sensitivity_shows_effects_and_both_indices():
    first = np.array([[0.7, 0.1], [0.0, 1.0]])
    effects = np.arange(12.0).reshape(2, 2, 3)
    sensitivity = bnn.Sensitivity(first, first + 0.05, np.zeros((2, 3)), effects)
    panels = np.reshape(plots.plot_sensitivity(sensitivity, ["a", "b"], ["f", "g"]).axes, (2, 2))
    np.testing.assert_array_equal([line.get_ydata() for line in panels[1, 0].lines], effects[1])
    heights = [bar.get_height() for bar in panels[0, 1].patches]
    np.testing.assert_allclose(heights, [0.75, 0.7, 0.15, 0.1])


def test_plot_parity_leaves_out_missing_values():
    y = np.array([[1.0, np.nan], [3.0, 2.0]])
    first, second = plots.plot_parity(y, *np.ones((2, 2, 2))).axes
    assert first.lines[-1].get_xdata().tolist() == [1.0, 3.0]
    assert second.lines[-1].get_xdata().tolist() == [1.0, 2.0]


LINE = np.linspace(0.0, 1.0, 9)
CHECK = PriorCheck(np.ones(2), np.ones(2), np.ones((3, 5, 2)), np.ones((5, 2)))
INDICES = bnn.Sensitivity(np.eye(2), np.eye(2), np.zeros((2, 3)), np.zeros((2, 2, 3)))
# Plots of two inputs or outputs that show names
NAMED = {
    "parity": lambda names: plots.plot_parity(X, X, X, names),
    "slices, inputs": lambda names: plots.plot_slices(Plane(), X, input_names=names),
    "slices, outputs": lambda names: plots.plot_slices(Plane(), X, output_names=names),
    "rounds": lambda names: plots.plot_rounds([X, X + 1.0], names),
    "prior check": lambda names: plots.plot_prior_check(CHECK, names),
    "sensitivity, inputs": lambda names: plots.plot_sensitivity(INDICES, names),
    "sensitivity, outputs": lambda names: plots.plot_sensitivity(INDICES, output_names=names),
}


@pytest.mark.slow
@pytest.mark.parametrize("plot", NAMED)
def test_names_may_be_any_sequence_of_one_each(plot):
    names = ["vf", "E_f"]
    for labels in (names, tuple(names), np.array(names), pd.DataFrame(X, columns=names).columns):
        figure = NAMED[plot](labels)
        texts = [axes.get_xlabel() + axes.get_ylabel() + axes.get_title() for axes in figure.axes]
        texts += [text.get_text() for axes in figure.axes for text in axes.get_xticklabels()]
        assert all(any(name in text for text in texts) for name in names)
    for wrong in (names[:1], np.array(["a", "b", "c"])):
        with pytest.raises(ValueError, match=rf"names has {len(wrong)} entries: must be 2"):
            NAMED[plot](wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.plot_1d(bnn.VanillaEnsemble(), LINE), "X is a VanillaEnsemble"),
        (lambda: plots.plot_1d(LINE, LINE), "samples has shape"),
        (lambda: plots.plot_parity(LINE, LINE, LINE[:3]), "shapes"),
        (lambda: plots.plot_parity(LINE, LINE, LINE, ["a", "b"]), "names has 2 entries"),
        (lambda: plots.plot_slices(Plane(), X, at=[1.0]), "at has shape"),
        (lambda: plots.plot_slices(Plane(), X, np.zeros((5, 3))), "y has 3 outputs"),
        (lambda: plots.plot_rounds([X, X[:, :1]]), "rounds have"),
        (lambda: plots.plot_rounds([]), "at least one round"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
