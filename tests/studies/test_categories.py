"""Categories as columns of zeros and ones, and as a kernel."""

import numpy as np
import pytest

import bnn
from studies.categories import __main__ as categories


def test_columns_with_one_length_scale_are_compound_symmetry():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((12, 2)), rng.integers(0, 3, 12), rng.integers(0, 4, 12)])
    columns = bnn.RBF(2.0, (0.3, 0.5) + (0.8,) * 3 + (1.7,) * 4)
    kernel = categories.CompoundSymmetry((0.8**2, 1.7**2))
    expected = bnn.RBF(2.0, (0.3, 0.5, np.inf, np.inf)) * kernel
    np.testing.assert_allclose(columns(categories.shown(X, [3, 4])), expected(X), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(kernel(X)), kernel.diag(X))


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(None,), (None, None), (None, 0.5)])
def test_each_category_of_the_kernel_gets_its_length(lengths):
    rng = np.random.default_rng(0)
    Z = rng.integers(0, 3, (24, len(lengths)))
    y = (Z == 1) @ np.linspace(1.0, 2.0, len(lengths))
    prior = bnn.GaussianProcessPrior(y.mean(), categories.CompoundSymmetry(lengths))
    model = bnn.GPRegressor(prior, noise=0.1).fit(Z, y)
    for component in model.prior_.components:
        pairs = list(zip(component.kernels[0].lengths, lengths, strict=True))
        assert all(value == length for value, length in pairs if length)
        assert all(value > 0.0 for value, _ in pairs)
    assert np.abs(model.predict(Z) - y).max() < 0.2
