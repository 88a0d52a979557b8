"""Sobol indices and main effects of functions whose are known."""

import numpy as np

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
    found = bnn.sensitivity(Ishigami(), BOX, n=4096)
    expected = np.array([alone, second, 0.0]) / variance
    np.testing.assert_allclose(found.first[0], expected, atol=0.01)
    expected = np.array([alone + both, second, both]) / variance
    np.testing.assert_allclose(found.total[0], expected, atol=0.01)
    assert np.isnan(found.first[1]).all()  # a constant has no variance to be shared


def test_main_effects_are_means_over_the_other_inputs():
    found = bnn.sensitivity(Ishigami(), BOX)
    x, y, z = found.levels
    assert (x[0], x[-1]) == BOX[0]
    by_x = np.sin(x) * (1.0 + B * np.pi**4 / 5.0) + A / 2.0
    np.testing.assert_allclose(found.effects[0, 0], by_x, atol=0.15)
    np.testing.assert_allclose(found.effects[0, 1], A * np.sin(y) ** 2, atol=0.15)
    np.testing.assert_allclose(found.effects[0, 2], np.full_like(z, A / 2.0), atol=0.3)
    np.testing.assert_array_equal(found.effects[1], np.full((3, 25), 3.0))
