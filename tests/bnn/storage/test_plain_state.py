"""The state of fitted estimators has only plain keys, which packages such as skops need."""

from types import FunctionType, MethodType

import numpy as np
import pytest

import bnn
from tests.bnn.small import small

X = np.linspace(-1.0, 1.0, 8)[:, None]
Y = np.column_stack([np.sin(3.0 * X[:, 0]), X[:, 0] ** 2])
GAPS = np.where(np.arange(16).reshape(8, 2) == 3, np.nan, Y)
PRIOR = bnn.GaussianProcessPrior(0.0, [bnn.RBF(1.0, 0.5), bnn.Matern52(1.0, 0.5)], 2)
MIXTURE = bnn.MixturePrior([PRIOR, PRIOR], [0.5, 0.5])
FULL = 0.01 * np.array([[1.0, 0.5], [0.5, 1.0]])
CHEAP = bnn.GPRegressor(bnn.GaussianProcessPrior(), noise=0.1).fit(X, Y[:, 0])
MODELS = {
    "two kernels": (bnn.GPRegressor(PRIOR, noise=0.1), Y),
    "correlated": (bnn.GPRegressor(PRIOR, noise=FULL), Y),
    "mixture": (bnn.GPRegressor(MIXTURE, noise=FULL), Y),
    "gaps": (bnn.GPRegressor(PRIOR, noise=0.1), GAPS),
    "heavy tails": (bnn.GPRegressor(PRIOR, noise=bnn.StudentNoise(0.1, 4.0)), Y),
    "cheap runs": (bnn.GPRegressor(mean=CHEAP, noise=0.1), Y[:, 0] + X[:, 0] ** 3),
    "components": (bnn.PCARegressor(bnn.GPRegressor(noise="constant")), Y),
    "vanilla": (small(bnn.VanillaEnsemble), Y),
    "anchored": (small(bnn.AnchoredEnsemble, PRIOR), Y),
    "in function space": (small(bnn.FunctionAnchoredEnsemble, PRIOR), Y),
}


def keys_of(value, seen):
    """Yield the keys of all dictionaries in a value and in the objects that it refers to."""
    if id(value) in seen or isinstance(value, type | np.ndarray | FunctionType):
        return
    seen.append(id(value))
    if isinstance(value, dict):
        yield from value
        parts = list(value.values())
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, MethodType):
        parts = [value.__self__]
    else:
        parts = [vars(value)] if hasattr(value, "__dict__") else []
    for entry in parts:
        yield from keys_of(entry, seen)


@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("name", MODELS)
def test_keys_of_a_fitted_estimator_are_plain(name):
    estimator, y = MODELS[name]
    fitted = estimator.fit(X, y)
    fitted.predict(X, return_std=True)
    keys = set(keys_of(vars(fitted), []))
    assert {key for key in keys if not isinstance(key, str | int | float)} == set()


@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("name", MODELS)
def test_skops_writes_and_reads_a_fitted_estimator(name):
    io = pytest.importorskip("skops.io", reason="skops is not a dependency")
    estimator, y = MODELS[name]
    fitted = estimator.fit(X, y)
    data = io.dumps(fitted)
    loaded = io.loads(data, trusted=io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
