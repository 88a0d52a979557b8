"""Sobol indices and main effects of functions whose are known."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import bnn

BOX = [(-np.pi, np.pi)] * 3
A = 7.0
B = 0.1


class Ishigami:
    """sin x0 + a sin² x1 + b x2⁴ sin x0, and a constant."""

    def predict(self, X):
        x, y, z = X.T
        f = np.sin(x) + A * np.sin(y) ** 2 + B * z**4 * np.sin(x)
        return np.column_stack([f, np.full(len(X), 3.0)])


def test_the_indices_of_ishigamis_function():
    """Ishigami & Homma (1990), in closed form."""
    alone = 0.5 * (1.0 + B * np.pi**4 / 5.0) ** 2
    second = A**2 / 8.0
    both = B**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = alone + second + both
    indices = bnn.sensitivity(Ishigami(), BOX, n=np.int64(4096))
    expected = np.array([alone, second, 0.0]) / variance
    np.testing.assert_allclose(indices.first[0], expected, atol=0.01)
    expected = np.array([alone + both, second, both]) / variance
    np.testing.assert_allclose(indices.total[0], expected, atol=0.01)
    assert np.isnan(indices.first[1]).all()  # a constant has no variance to be shared


def test_main_effects_are_means_over_the_other_inputs():
    indices = bnn.sensitivity(Ishigami(), BOX)
    x, y, z = indices.levels
    assert (x[0], x[-1]) == BOX[0]
    by_x = np.sin(x) * (1.0 + B * np.pi**4 / 5.0) + A / 2.0
    np.testing.assert_allclose(indices.effects[0, 0], by_x, atol=0.15)
    np.testing.assert_allclose(indices.effects[0, 1], A * np.sin(y) ** 2, atol=0.15)
    np.testing.assert_allclose(indices.effects[0, 2], np.full_like(z, A / 2.0), atol=0.3)
    np.testing.assert_array_equal(indices.effects[1], np.full((3, 25), 3.0))


class Formula:
    """A function of inputs (n, n_in), times a size, plus an offset."""

    def __init__(self, function, size=1.0, offset=0.0):
        self.function = function
        self.size = size
        self.offset = offset

    def predict(self, X):
        return self.size * (self.function(X) + self.offset)


def sobol_g(X):
    a = np.array([0.0, 1.0, 4.5, 9.0])
    return np.prod((np.abs(4.0 * X - 2.0) + a) / (1.0 + a), axis=1)


def exact_g():
    """Saltelli & Sobol (1995): V_i = 1 / (3 (1 + a_i)²), V = Π (1 + V_i) - 1."""
    V = 1.0 / (3.0 * (1.0 + np.array([0.0, 1.0, 4.5, 9.0])) ** 2)
    whole = np.prod(1.0 + V)
    return V / (whole - 1.0), V * whole / (1.0 + V) / (whole - 1.0)


def exact_product():
    """Of x_1 .. x_5: V_i = 1/12 (1/4)⁴ and V = (1/3)⁵ - (1/4)⁵."""
    variance = (1.0 / 3.0) ** 5 - 0.25**5
    alone = 0.25**4 / 12.0 / variance
    total = (1.0 / 3.0) ** 4 / 12.0 / variance
    return np.full(5, alone), np.full(5, total)


FUNCTIONS = {
    "linear": (lambda X: X[:, 0] + 0.5 * X[:, 1], (np.array([0.8, 0.2]),) * 2),
    "g-function": (sobol_g, exact_g()),
    "product": (lambda X: np.prod(X, axis=1), exact_product()),
}
ERRORS = {32: 1.0, 256: 0.28, 1024: 0.08, 4096: 0.02}  # as in the docstring


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", ERRORS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_indices_and_their_intervals_of_functions_in_closed_form(name, n):
    """At least 85 % of the indices of ten seeds lie in their intervals, far more on average."""
    function, exact = FUNCTIONS[name]
    inside = []
    for seed in range(10):
        indices = bnn.sensitivity(Formula(function), [(0.0, 1.0)] * len(exact[0]), n, seed)
        pairs = ((indices.first, indices.first_interval), (indices.total, indices.total_interval))
        for (index, interval), true in zip(pairs, exact, strict=True):
            assert np.abs(index[0] - true).max() < ERRORS[n]
            low, high = interval[0].T
            inside.append((low <= true) & (true <= high))
    assert np.mean(inside) > 0.85


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e307])
def test_indices_do_not_depend_on_the_size_of_the_outputs(size):
    box = [(0.0, 1.0)] * 2
    one = bnn.sensitivity(Formula(FUNCTIONS["linear"][0]), box)
    indices = bnn.sensitivity(Formula(FUNCTIONS["linear"][0], size), box)
    np.testing.assert_allclose(indices.first, one.first, rtol=1e-9)
    np.testing.assert_allclose(indices.total_interval, one.total_interval, rtol=1e-6)
    np.testing.assert_allclose(indices.effects / size, one.effects, rtol=1e-9)


def test_an_offset_does_not_hide_the_variance():
    indices = bnn.sensitivity(Formula(FUNCTIONS["linear"][0], 1.0, 1e9), [(0.0, 1.0)] * 2)
    np.testing.assert_allclose(indices.first[0], [0.8, 0.2], atol=1e-3)


def test_wide_intervals_and_values_that_are_not_finite_are_reported():
    box = [(0.0, 1.0)] * 5
    with pytest.warns(ConvergenceWarning, match="n = 64: the 95 % intervals .* use a larger n"):
        bnn.sensitivity(Formula(FUNCTIONS["product"][0]), box, 64)
    with pytest.raises(ValueError, match=r"n = 16: must be .*32"):
        bnn.sensitivity(Formula(FUNCTIONS["product"][0]), box, 16)
    with pytest.raises(ValueError, match="model predicts inf for output 0"):
        bnn.sensitivity(Formula(lambda X: X[:, 0], np.inf), box)
