"""Bounds are read as SciPy reads them, and data far outside of them are pointed out."""

import numpy as np
import pytest
from scipy.optimize import Bounds

from bnn import AnchoredEnsemble, BoundsScaler, BoundsWarning, Scaling, VanillaEnsemble
from bnn.scaling import scaler_of
from tests.bnn.small import small


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ([(0, 1), (10, 30)], [0, 10], [1, 30]),
        (Bounds([0, 10], [1, 30]), [0, 10], [1, 30]),
        ((-2, 5), [-2, -2], [5, 5]),
        (Bounds(-2, 5), [-2, -2], [5, 5]),
    ],
)
def test_each_column_has_a_pair_or_one_pair_is_for_all(bounds, low, high):
    scaler = scaler_of("input_bounds", bounds, None, 2)
    np.testing.assert_array_equal([scaler.low, scaler.high], [low, high])


def test_a_column_that_is_constant_to_rounding_is_constant():
    values = np.array([[0.3], [0.1 + 0.2]])
    assert values[0] != values[1]
    scaler = BoundsScaler.fit(values)
    np.testing.assert_allclose(scaler.transform(values), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaler.transform([[0.45]]), 1.0, atol=1e-12)


def test_a_constant_column_has_room_around_it():
    """Without leaving the sign of what may be a modulus or a length."""
    scaler = BoundsScaler.fit(np.column_stack([np.full(4, 200.0), np.zeros(4), np.arange(4.0)]))
    np.testing.assert_array_equal([scaler.low, scaler.high], [[100, -1, 0], [300, 1, 3]])


@pytest.mark.slow
@pytest.mark.parametrize("make", [VanillaEnsemble, AnchoredEnsemble])
def test_data_far_outside_the_bounds_are_pointed_out(make):
    """Standardised data without bounds are not: they reach 4 standard deviations."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = rng.standard_normal(300)
    unscaled = small(make, scaling=Scaling(None, None))
    unscaled.fit(X, 3.9 * y / np.abs(y).max())
    with pytest.warns(BoundsWarning, match="scaling.outputs: 40. in column 0 .* bounds -1 and 1"):
        unscaled.fit(X, 400.0 + y)
