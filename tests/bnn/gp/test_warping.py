"""Warped and mixed inputs against closed forms, and their refusals."""

import numpy as np
import pytest
from sklearn.base import clone

import bnn

RNG = np.random.default_rng(0)
X = RNG.uniform([1.0, -2.0], [100.0, 3.0], (7, 2))
LOW = (1.0, -2.0)
WIDTH = (99.0, 5.0)


def made(warps=(0.0, 0.0), mixing=None):
    return bnn.Warped(bnn.RBF(2.0, (0.5, 0.8)), LOW, WIDTH, warps, mixing)


def test_a_warp_of_the_logarithm_of_the_span_is_the_logarithm():
    """log(1 + 99 u) / log 100 of x = 1 + 99 u is log(x) / log(100)."""
    z = made((np.log(100.0), 0.0)).coordinates(X)
    np.testing.assert_allclose(z[:, 0], np.log(X[:, 0]) / np.log(100.0), rtol=1e-12)
    # A warp of zero is replaced by 1e-4, which is a straight line within 1e-4 / 8.
    np.testing.assert_allclose(z[:, 1], (X[:, 1] + 2.0) / 5.0, atol=1.3e-5)


def test_no_warp_and_no_mixing_is_the_kernel_in_scaled_inputs():
    plain = bnn.RBF(2.0, tuple(np.multiply((0.5, 0.8), WIDTH)))
    np.testing.assert_allclose(made()(X), plain(X), atol=1e-4)


@pytest.mark.parametrize("warp", [-3.0, 0.0, 2.0])
def test_warps_are_monotone_and_go_on_as_straight_lines(warp):
    points = np.column_stack([np.full(301, 50.0), np.linspace(-7.0, 8.0, 301)])
    z = made((0.0, warp)).coordinates(points)[:, 1]
    steps = np.diff(z)
    assert np.all(steps > 0.0)
    for side in (steps[:99], steps[201:]):
        np.testing.assert_allclose(side, side[0], rtol=1e-9)
    np.testing.assert_allclose(z[[100, 200]], [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("mixing", [None, ((0.0, 0.5), (0.0, 0.0)), [[0, 1], [0, 0]]])
def test_scikit_learn_clones_it(mixing):
    kernel = bnn.Warped(bnn.RBF(), (0.0, 0.0), [1, 2], (1.0, 1.0), mixing)
    copied = clone(kernel)
    assert copied == kernel
    np.testing.assert_array_equal(copied(np.eye(2)), kernel(np.eye(2)))


def test_mixing_turns_the_axes():
    """By the distance written out, z = w + w C."""
    C = ((0.0, 0.3), (-0.2, 0.0))
    w = made((1.0, -1.0)).coordinates(X)
    z = w + w @ np.array(C)
    away = (z[:, None] - z) / (0.5, 0.8)
    expected = 2.0 * np.exp(-0.5 * np.sum(away**2, axis=-1))
    np.testing.assert_allclose(made((1.0, -1.0), C)(X), expected, rtol=1e-12)
