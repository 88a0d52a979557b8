"""MAPIE's jackknife+ on the estimators, against its definition."""

import numpy as np
import pytest
from sklearn.base import clone

import bnn
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (24, 1))
Y = np.sin(3.0 * X[:, 0]) + 0.1 * RNG.standard_normal(24)
NEW = np.linspace(-1.0, 1.0, 7)[:, None]
EXACT = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5)), noise=0.1)
SMALL = small(bnn.VanillaEnsemble)


@pytest.mark.parametrize(
    "estimator",
    [EXACT, SMALL],
    ids=lambda estimator: type(estimator).__name__,
)
def test_intervals_are_those_of_the_definition(estimator):
    """Barber et al. (2021), Annals of Statistics 49, equation 1.4, with level 0.8."""
    regression = pytest.importorskip("mapie.regression", reason="needs the extra mapie")
    jackknife = regression.CrossConformalRegressor(estimator, confidence_level=0.8, cv=-1)
    _, found = jackknife.fit_conformalize(X, Y).predict_interval(NEW)
    means = []
    residuals = []
    for i in range(len(X)):
        left = clone(estimator).fit(np.delete(X, i, axis=0), np.delete(Y, i))
        means.append(left.predict(NEW))
        residuals.append(abs(Y[i] - left.predict(X[[i]])))
    low = np.sort(np.array(means) - residuals, axis=0)
    high = np.sort(np.add(means, residuals), 0)
    rank = int(np.ceil(0.8 * (len(X) + 1)))
    np.testing.assert_allclose(found[:, 1, 0], high[rank - 1], rtol=1e-6)
    np.testing.assert_allclose(found[:, 0, 0], low[len(X) - rank], rtol=1e-6)
