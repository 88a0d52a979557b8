"""Mixtures under correlated noise against sums over all combinations of components."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import bnn
from bnn.gp import coupling
from bnn.gp.coupling import thin_out
from tests.bnn.small import small

N = 10
X_NEW = np.linspace(-1.0, 1.0, 7)[:, None]
# Components, outputs, correlation, what else; and the tolerance of means, in standard deviations
CASES = {
    "9 of 9": (3, 2, 0.99, "", 1e-8),
    "27 of 27": (3, 3, 0.9, "", 1e-8),
    "64 of 64": (4, 3, 0.95, "", 1e-8),
    "missing outputs": (3, 2, 0.95, "missing", 1e-8),
    "noise by row": (3, 2, 0.95, "by row", 1e-8),
    "weight of zero": (3, 2, 0.95, "zero", 1e-8),
    "of one output": (3, 2, 0.95, "single", 1e-8),
    "64 of 256": (16, 2, 0.99, "", 0.05),
    "64 of 243": (3, 5, 0.9, "", 0.05),
}


def problem(S, n_out, correlation, what, seed=7):
    """Return a mixture, the noise of each row, and data that are drawn from both."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-1.0, 1.0, (N, 1)), axis=0)
    lengths = np.geomspace(0.15, 1.5, S)
    components = [bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, L), n_out) for L in lengths]
    noise = 0.25 * (correlation + (1.0 - correlation) * np.eye(n_out))
    roots = [np.linalg.cholesky(bnn.RBF(1.0, L)(X) + 1e-9 * np.eye(N)) for L in lengths]
    chosen = rng.integers(S, size=n_out)
    y = np.column_stack([roots[s] @ rng.standard_normal(N) for s in chosen])
    y += rng.multivariate_normal(np.zeros(n_out), noise, N)
    weights = np.full((S, n_out), 1.0 / S)
    by_row = noise * np.ones((N, 1, 1))
    if what == "by row":
        by_row = by_row * rng.uniform(0.5, 2.0, (N, 1, 1))
    if what == "missing":
        y[[0, 3], 0] = np.nan
        y[5, 1] = np.nan
    if what == "zero":
        weights[:, 0] = [0.5, 0.5, 0.0]
    if what == "single":
        weights[:, 0] = [0.0, 1.0, 0.0]
    return bnn.MixturePrior(components, weights), by_row, X, y


def summed(prior, noise, X, y):
    """Return log evidence, means and standard deviations (n, n_out) of all combinations."""
    n_out = y.shape[1]
    n = len(X_NEW)
    present = np.flatnonzero(~np.isnan(y.T))
    noise = np.einsum("ijk,il->jikl", noise, np.eye(N)).reshape(n_out * N, n_out * N)
    logs, means, variances = [], [], []
    for numbers in product(range(len(prior.components)), repeat=n_out):
        weight = np.prod([prior.shares[s, j] for j, s in enumerate(numbers)])
        if not weight:
            continue
        kernels = [prior.components[s].kernels[j] for j, s in enumerate(numbers)]
        A = (block_diag(*(k(X) for k in kernels)) + noise)[np.ix_(present, present)]
        cross = block_diag(*(k(X_NEW, X) for k in kernels))[:, present]
        data = y.T.ravel()[present]
        gain = np.linalg.solve(A, cross.T).T
        logs.append(np.log(weight) + multivariate_normal.logpdf(data, cov=A))
        means.append((gain @ data).reshape(n_out, n).T)
        variances.append((1.0 - np.sum(gain * cross, axis=1)).reshape(n_out, n).T)
    p = np.exp(logs - logsumexp(logs))
    mean = np.einsum("s,snj->nj", p, means)
    spread = np.einsum("s,snj->nj", p, variances + (means - mean) ** 2)
    return logsumexp(logs), mean, np.sqrt(spread)


def fitted(prior, noise, X, y, what=""):
    """Return a model under noise that is constant, or known for each row."""
    if what != "by row":
        return bnn.GPRegressor(prior, noise=noise[0]).fit(X, y)
    weights = noise[0, 0, 0] / noise[:, 0, 0]
    return bnn.GPRegressor(prior, noise=noise[0]).fit(X, y, sample_weight=weights)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_all_combinations_are_mixed_by_their_evidence(name):
    S, n_out, correlation, what, tolerance = CASES[name]
    prior, noise, X, y = problem(S, n_out, correlation, what)
    evidence, mean, std = summed(prior, noise, X, y)
    model = fitted(prior, noise, X, y, what)
    m, s = model.predict(X_NEW, return_std=True)
    assert model.log_evidence() == pytest.approx(evidence, abs=1e-3 if tolerance > 0.01 else 1e-8)
    np.testing.assert_array_less(np.abs(m - mean) / std, tolerance)
    np.testing.assert_array_less(np.abs(s / std - 1.0), tolerance)
    shares = model.posterior_.shares
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-12)
    assert len(model.posterior_.posteriors) <= 64


def test_draws_are_added_until_they_suffice_and_a_warning_says_if_they_do_not(monkeypatch):
    """Of 27 combinations of three outputs 2 mislead; 9 are enough."""
    prior, noise, X, y = problem(3, 4, 0.5, "")
    evidence, mean, std = summed(prior, noise, X, y)
    monkeypatch.setattr(coupling, "EXTENDED", (2,))
    with pytest.warns(
        ConvergenceWarning, match=r"of the 3\^4 combinations .* count like"
    ) as caught:
        few = fitted(prior, noise, X, y)
    assert len(caught) == 1
    assert few.posterior_.effective < coupling.ENOUGH_DRAWS
    monkeypatch.setattr(coupling, "EXTENDED", (2, 9))
    enough = fitted(prior, noise, X, y)
    assert enough.posterior_.effective > coupling.ENOUGH_DRAWS
    assert enough.log_evidence() == pytest.approx(evidence, abs=0.1)
    assert np.abs((enough.predict(X_NEW) - mean) / std).max() < 0.1


def test_no_combination_is_weighted_twice(monkeypatch):
    """Twice as many combinations include most of those before."""
    weighted = []
    weights_of = coupling._CoupledData._log_weights

    def noted(data, numbers):
        weighted.append((*numbers.tolist(),))
        return weights_of(data, numbers)

    monkeypatch.setattr(coupling._CoupledData, "_log_weights", noted)
    monkeypatch.setattr(coupling, "EXTENDED", (2, 9))
    fitted(*problem(3, 4, 0.5, ""))
    assert len(weighted) == len({*weighted})


def test_an_ensemble_warns_too(monkeypatch):
    monkeypatch.setattr(coupling, "EXTENDED", (1,))
    prior, noise, X, y = problem(3, 2, 0.5, "")
    anchoring = {"n_points": 20, "max_iter": 1, "tol": 1e9}
    settings = {f"anchoring__{name}": value for name, value in anchoring.items()}
    ensemble = small(bnn.FunctionAnchoredEnsemble, prior, noise=noise[0], **settings)
    with pytest.warns(ConvergenceWarning, match="count like"):
        ensemble.fit(X, y)


def test_thinning_keeps_large_weights_and_the_expectation_of_all():
    """Over 1,000 seeds, within five standard errors; the sum stays 1 in each."""
    weights = np.geomspace(1.0, 0.05, 20)
    weights /= weights.sum()
    totals = np.zeros(20)
    squares = np.zeros(20)
    for seed in range(1000):
        rows, new, drawn = thin_out(np.log(weights), 8, np.random.default_rng(seed))
        new = np.exp(new)
        assert len(set(rows)) == 8
        assert new.sum() == pytest.approx(1.0, rel=1e-12)
        np.testing.assert_allclose(new[~drawn], weights[rows[~drawn]], rtol=1e-12)
        totals[rows] += new
        squares[rows] += new**2
    mean = totals / 1000
    error = np.sqrt(np.maximum(squares / 1000 - mean**2, 0.0) / 1000)
    np.testing.assert_array_less(np.abs(mean - weights), 5.0 * error + 1e-12)
