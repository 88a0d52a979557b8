"""A few settings of hyper-parameters that represent many, and how many fit in memory."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import softmax
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from bnn._seeding import generator
from bnn._validation import Array, Ints

# Up to this many data BLAS uses one thread. If other processes run, several threads wait for each
# other and take up to eight times as long.
ONE_THREAD = 1500
MEMORY = 1.25e8  # most numbers in the covariance matrices of all components and outputs: 1 GB
N_CHECK_POINTS = 64  # points at which means of f and f² are compared
AROUND = 1.25  # width of the box in which a few draws represent all, relative to the data
# Largest error of means and standard deviations of f under a few draws, in standard deviations.
ACCURATE = 0.01
TRIED = 30  # settings that may be added are those with the largest inner products with the error
OF_SUM = 10.0  # weight of the sum of the weights in least squares
NEGLIGIBLE = 1e-4  # draws with smaller weights, relative to the largest, are left out


def threads_for(n_data: int) -> threadpool_limits:
    """Return a context that limits BLAS to one thread if there are few data, see ONE_THREAD."""
    return threadpool_limits(limits=1 if n_data <= ONE_THREAD else None, user_api="blas")


def check_points(X: Array, around: float = AROUND) -> Array:
    """Return N_CHECK_POINTS places in a box that is `around` times as wide as X (N, n_in)."""
    middle = 0.5 * (X.min(axis=0) + X.max(axis=0))
    reach = 0.5 * around * np.ptp(X, axis=0)
    unit = qmc.LatinHypercube(len(middle), seed=generator(0)).random(N_CHECK_POINTS)
    return np.asarray(middle + (2.0 * unit - 1.0) * reach)


def representatives(moments: Array, logs: Array, most: int) -> tuple[Ints, Array]:
    """Choose a few of S weighted settings, with new weights, that represent all of them.

    The means and standard deviations of f at some places are nearly the same under the chosen
    settings as under all of them. If `most` settings suffice, they differ by at most ACCURATE
    standard deviations of f, as a root mean square over the places. Settings are added one by one:
    that one which leaves the least error, with weights from non-negative least squares.

    Args:
        moments: Means of f and of f² at n places under each setting, (S, 2 n). Those of settings
            that `noticeable` leaves out have no effect.
        logs: Logarithms of the weights of the settings, (S,).
        most: Most settings to choose.

    Returns:
        Indices of the k chosen settings, (k,), and their weights, (k,), which are positive and sum
        to 1.

    Source: Soussen, Gribonval, Idier & Herzet (2013), IEEE Transactions on Information Theory 59,
    on orthogonal least squares.
    """
    seen = np.flatnonzero(noticeable(logs))
    weights = softmax(logs[seen])
    rows = _relative(moments[seen].T, weights)
    away = (rows - (rows @ weights)[:, None]) / np.sqrt(0.5 * len(rows))
    # Least squares of Σ_s w_s away_s = 0 and of Σ_s w_s = 1
    columns = np.vstack([away, np.full(len(seen), OF_SUM)])
    target = np.append(np.zeros(len(away)), OF_SUM)
    chosen = [int(np.argmin(np.sum(away**2, axis=0)))]
    shares = np.ones(1)
    while len(chosen) < min(most, len(seen)):
        if np.linalg.norm(away[:, chosen] @ shares) <= ACCURATE:
            break
        left = target - columns[:, chosen] @ shares
        gains = left @ columns
        gains[chosen] = -np.inf
        tried = np.argsort(-gains, kind="stable")[: min(TRIED, len(seen) - len(chosen))]
        solutions = [nnls(columns[:, [*chosen, s]], target) for s in tried]
        best = int(np.argmin([error for _, error in solutions]))
        chosen.append(int(tried[best]))
        shares = solutions[best][0] / solutions[best][0].sum()
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > 0.0]
    return seen[np.array(chosen)[order]], shares[order]


def _relative(moments: Array, weights: Array) -> Array:
    """Return moments about the average of f, relative to its standard deviation.

    Args:
        moments: Means of f and of f² at n places under each of S settings, (2 n, S).
        weights: Weights of the settings, (S,), which sum to 1.

    Returns:
        Means of (f - m) / s and of (f - m)² / 2 s² with mean m and standard deviation s of f at
        each place, averaged over all settings, (2 n, S). The factor ½ makes an error of the second
        that of the standard deviation.
    """
    means, squares = np.split(moments, 2)
    middle = (means @ weights)[:, None]
    squares = squares - 2.0 * middle * means + middle**2
    # Rounding errors may exceed the variance of f where it is known exactly.
    least = np.finfo(float).eps * middle**2 + np.finfo(float).tiny
    variances = np.maximum((squares @ weights)[:, None], least)
    return np.vstack([(means - middle) / np.sqrt(variances), 0.5 * squares / variances])


def noticeable(logs: Array) -> NDArray[np.bool_]:
    """Return whether each weight counts, from the logarithms of the weights (S,)."""
    return np.asarray(logs > logs.max() + np.log(NEGLIGIBLE))


def most_components(most: int, n_data: int, n_outputs: int, room: float = 1.0) -> int:
    """Return how many components fit in room * MEMORY numbers, at least 1 and at most `most`."""
    # Each component has an (N, N) matrix per output.
    return int(np.clip(room * MEMORY / (n_outputs * n_data**2), 1, most))


def moments_of(
    cross: Array, variances: Array, solved: tuple[Array, Array], mean: Array | float = 0.0
) -> Array:
    """Return the means of f and of f² at n places given data, (2 n,).

    Args:
        cross: k(X, x), covariances between data and places, (N, n).
        variances: k(x, x), (n,).
        solved: L, (N, N), of the covariance Σ = L Lᵀ of the data, and α = Σ⁻¹ (y - m), (N,).
        mean: Mean of the prior at the places, (n,).
    """
    root, alpha = solved
    whitened = solve_triangular(root, cross, lower=True, check_finite=False)
    # m(x) + k(x, X) α, and its square + k(x, x) - |L⁻¹ k(X, x)|²
    mean = mean + cross.T @ alpha
    variance = variances - np.sum(whitened**2, axis=0)
    return np.concatenate([mean, mean**2 + variance])
