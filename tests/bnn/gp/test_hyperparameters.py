"""The average over hyper-parameters by brute force, and time."""

import numpy as np
import pytest
from scipy.special import softmax

from bnn import RBF, GaussianProcessPrior, GPRegressor
from bnn.gp.evidence import fit_prior
from bnn.gp.hyperparameters import most_components, representatives

PLAIN = {"mean_features": (), "intercept": False}


def drawn(n_data, scales, seed):
    """Data with noise 0.1 of a known process, and 40 new points."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n_data + 40, len(scales)))
    f = GaussianProcessPrior(0.0, RBF(1.0, scales)).sample(points, 1, seed)[0, :, 0]
    y = f[:n_data] + 0.1 * rng.standard_normal(n_data)
    return points[:n_data], y, points[n_data:]


def integral(X, y, new):
    """Mean and deviation of f by 40,000 hyper-parameters from the hyperprior, written out."""
    n_in = X.shape[1]
    rng = np.random.default_rng(0)
    k0 = y.var() * np.exp(2.0 * rng.standard_normal((40_000, 1, 1)))
    L = np.ptp(X, axis=0) * np.exp(1.5 * rng.standard_normal((40_000, n_in)))

    def kernel(A, B, rows):
        squares = (A[:, None] - B[None]) ** 2
        return k0[rows] * np.exp(-0.5 * np.einsum("abi,ki->kab", squares, L[rows] ** -2.0))

    logs = []
    moments = []
    for rows in np.arange(40_000).reshape(40, -1):
        data = kernel(X, X, rows) + 0.01 * np.eye(len(y))
        cross = kernel(new, X, rows)
        solved = np.linalg.solve(data, np.broadcast_to(y[:, None], (1000, len(y), 1)))
        logs.append(-0.5 * (y @ solved[..., 0].T) - 0.5 * np.linalg.slogdet(data)[1])
        mean = (cross @ solved)[..., 0]
        explained = np.sum(
            cross * np.linalg.solve(data, cross.swapaxes(1, 2)).swapaxes(1, 2), axis=-1
        )
        moments.append([mean, mean**2 + k0[rows, 0] - explained])
    weights = softmax(np.concatenate(logs))
    assert 1.0 / np.sum(weights**2) > 100.0
    first, second = np.einsum("k,kmn->mn", weights, np.concatenate(np.swapaxes(moments, 1, 2)))
    return first, np.sqrt(second - first**2)


@pytest.mark.parametrize("n_data", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_the_average_is_as_wide_as_the_integral(n_data):
    """Six functions rougher than the hyperprior's median: a cubature was 13 % too narrow."""
    ratios = []
    errors = []
    for seed in range(6):
        X, y, new = drawn(n_data, (0.5, 0.9), seed)
        mean, std = integral(X, y, new)
        model = GPRegressor(fit_prior(X, y, 0.1, **PLAIN), noise=0.1).fit(X, y)
        ours, spread = model.predict(new, return_std=True)
        ratios.append(np.mean(spread / std))
        errors.append(np.sqrt(np.mean(((ours - mean) / std) ** 2)))
    print(np.round(ratios, 3), np.round(errors, 3))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.05)
    assert np.mean(errors) < 0.1


def test_components_take_a_gigabyte_at_most_up_to_the_permitted_rows():
    for n_data in (1000, 3000, 5000, 10_000):
        for n_outputs in (1, 2, 5):
            found = most_components(28, n_data, n_outputs)
            assert 1 <= found <= 28
            assert found == 1 or 8 * found * n_outputs * n_data**2 <= 1e9
    assert most_components(28, 2000, 1) == 28


def test_a_single_representative_is_near_the_average():
    """Of settings with means -1, 0.1 and 1 of equal weight the one in the middle."""
    levels = np.array([-1.0, 0.1, 1.0])

    def moments(s, places):
        mean = np.full(len(places), levels[s])
        return np.concatenate([mean, mean**2 + 0.5])

    X = np.linspace(0.0, 1.0, 5)[:, None]
    chosen, weights = representatives(X, moments, np.log(np.full(3, 1.0 / 3.0)), 1)
    assert levels[chosen].tolist() == [0.1]
    assert weights.tolist() == [1.0]
