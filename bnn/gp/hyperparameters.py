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
NEGLIGIBLE = 1e-5  # draws with smaller weights, relative to the largest, are left out


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

    Take the means of f and of f² at some places. Averaged over the chosen settings they equal their
    averages over all settings, along the most - 1 directions in which they vary most. By
    Carathéodory's theorem `most` settings suffice for that. Non-negative least squares finds them.

    Args:
        moments: Means of f and of f² at n places under each setting, (S, 2 n). Those of settings
            that `noticeable` leaves out have no effect.
        logs: Logarithms of the weights of the settings, (S,).
        most: Most settings to choose.

    Returns:
        Indices of the k chosen settings, (k,), and their weights, (k,), which are positive and sum
        to 1.
    """
    seen = np.flatnonzero(noticeable(logs))
    weights = softmax(logs[seen])
    rows = moments[seen].T
    # A moment may be zero: the mean of f, for data that contradict each other without noise.
    sizes = np.sqrt(rows**2 @ weights)
    rows /= np.where(sizes > 0.0, sizes, 1.0)[:, None]
    if most == 1:
        # The setting whose moments are nearest to the averages.
        away = np.sum((rows - (rows @ weights)[:, None]) ** 2, axis=0)
        return seen[[np.argmin(away)]], np.ones(1)
    # Averages of the moments along their principal directions, and the sum of the weights.
    directions = np.linalg.svd((rows - (rows @ weights)[:, None]) * np.sqrt(weights))[0]
    few = np.vstack([np.ones(len(seen)), directions[:, : most - 1].T @ rows])
    shares = nnls(few, few @ weights)[0]
    chosen = np.argsort(-shares)[:most]
    chosen = chosen[shares[chosen] > 0.0]
    return seen[chosen], shares[chosen] / shares[chosen].sum()


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
