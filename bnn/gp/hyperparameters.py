"""A few settings of hyperparameters that represent many, and how many fit in memory."""

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
# Draws differ less, the more data there are. So the number of components falls as
# COMPONENT_ROWS / N within these limits: 16 up to 187 data, 10 for 300, 4 from 750 on.
COMPONENTS = (4, 16)
COMPONENT_ROWS = 3000
N_CHECK_POINTS = 64  # places within and near the data at which means and variances are compared
N_FAR = 16  # places at each of the distances FAR from the data, in ranges of an input
FAR = (1.0, 2.0)
AROUND = 1.25  # width of the box in which a few draws represent all, relative to the data
NEGLIGIBLE_DRAW = 1e-5  # draws with smaller weights, relative to the largest, are left out
CONSIDERED = 150  # most draws that are considered as representatives, those of largest weight
DIRECTIONS = 40  # most principal directions in which moments of draws are compared
GROUP_WEIGHT = 0.3  # of a share of a group, against a deviation of f
SUM_WEIGHT = 30.0  # of the condition that weights sum to one, in non-negative least squares
RIDGE = 1e-3  # of the weights, in the same units as the misfit
NNLS_STEPS = 100  # most steps of non-negative least squares for each weight
REMOVED = 12  # draws of least weight, one of which is removed
ROUNDING = 1e-4  # relative error of a bound of the misfit, by rounding


def threads_for(n_data: int) -> threadpool_limits:
    """Return a context that limits BLAS to one thread if there are few data, see ONE_THREAD."""
    return threadpool_limits(limits=1 if n_data <= ONE_THREAD else None, user_api="blas")


def check_points(n: int, around: float = AROUND) -> Array:
    """Return places at which a few draws represent all, (m, n), for n inputs scaled to [0, 1].

    N_CHECK_POINTS places are in a box that is `around` times as wide as the data. If it is wider
    than the data, N_FAR places more lie at each of the distances FAR beyond the data.
    """
    unit = qmc.LatinHypercube(n, seed=generator(0)).random(N_CHECK_POINTS)
    places = [0.5 + (2.0 * unit - 1.0) * around * 0.5]
    if around > 1.0:
        away = qmc.LatinHypercube(n, seed=generator(1)).random(N_FAR) - 0.5
        away /= np.abs(away).max(axis=1, keepdims=True)
        places += [0.5 + away * (1.0 + 2.0 * ranges) * 0.5 for ranges in FAR]
    return np.concatenate(places)


def components_for(n_data: int) -> int:
    """Return how many components represent the draws of hyperparameters given N data."""
    return int(np.clip(np.ceil(COMPONENT_ROWS / n_data), *COMPONENTS))


def representatives(
    moments: Array, logs: Array, most: int, groups: Ints | None = None
) -> tuple[Ints, Array]:
    """Choose a few of S weighted settings, with new weights, that represent all of them.

    At each of n places the mixture of the chosen settings has about the mean and variance of f of
    the mixture of all settings. The misfit is Σ (m' - m)² / v + ¼ Σ (v' / v - 1)² over the places,
    with v' around m. Each group of settings also has about its share of the weights: rough and
    smooth functions may have equal variances.

    Non-negative least squares over the settings of largest weight gives the first weights. Then one
    setting after another is removed: of those with the least weights that without which the others,
    with new weights, fit best.

    Args:
        moments: Means and variances of f at n places under each setting, (S, 2 n). Those of
            settings that `noticeable` leaves out have no effect.
        logs: Logarithms of the weights of the settings, (S,).
        most: Most settings to choose.
        groups: Group of each setting, (S,), such as its family; None for a single group.

    Returns:
        Indices of the k chosen settings, (k,), and their weights, (k,), which are positive and sum
        to 1.
    """
    seen = np.flatnonzero(noticeable(logs))
    weights = softmax(logs[seen])
    groups = np.zeros(len(logs), dtype=int) if groups is None else groups
    misfits = _misfits(moments[seen], weights, groups[seen])
    if most == 1:
        # The setting whose moments are nearest to the averages.
        return seen[[np.argmin(np.sum(misfits**2, axis=0))]], np.ones(1)
    likeliest = np.sort(np.argsort(-weights, kind="stable")[:CONSIDERED])
    chosen, shares, left = _fitted_weights(misfits, likeliest)
    while len(chosen) > most:
        chosen, shares, left = _without_one(misfits, chosen, shares, left)
    return seen[chosen], shares / shares.sum()


def _misfits(moments: Array, weights: Array, groups: Ints) -> Array:
    """Return the misfit of moments and groups of each setting to the averages, (r, S).

    The misfits, in r main directions, have averages of zero over settings with these weights (S,).
    """
    means, variances = np.split(moments, 2, axis=1)
    away = means - weights @ means
    squares = variances + away**2
    # Variance of f under all settings together. It may be zero, for data without noise.
    total = weights @ squares
    total = np.where(total > 0.0, total, 1.0)
    rows = np.concatenate([away / np.sqrt(total), 0.5 * (squares - weights @ squares) / total], 1)
    belongs = GROUP_WEIGHT * (groups[:, None] == np.unique(groups)).astype(float)
    rows = np.hstack([rows / np.sqrt(len(total)), belongs - weights @ belongs])
    # The sums of squares of all combinations of settings stay the same.
    _, sizes, directions = np.linalg.svd(rows.T, full_matrices=False)
    return np.asarray(sizes[:DIRECTIONS, None] * directions[:DIRECTIONS])


def _without_one(
    misfits: Array, chosen: Ints, shares: Array, left: float
) -> tuple[Ints, Array, float]:
    """Remove the setting without which the others fit best; arguments and result as below."""
    least = np.argsort(shares, kind="stable")[:REMOVED]
    # Without setting i, least squares leaves m² + w_i² / Σ_j (R⁻¹)_ij² with A = QR, if m² was left.
    # That is a lower bound where the other weights may not be negative.
    R = np.linalg.qr(_rows(misfits, chosen), mode="r")
    inverse = solve_triangular(R, np.eye(len(R)), check_finite=False)
    bounds = np.sqrt(left**2 + shares[least] ** 2 / np.sum(inverse[least] ** 2, axis=1))
    fits = {}
    best = np.inf
    for place in np.argsort(bounds, kind="stable"):
        if bounds[place] > (1.0 + ROUNDING) * best:
            break
        fits[place] = _fitted_weights(misfits, np.delete(chosen, least[place]))
        best = min(best, fits[place][2])
    return min((fits[place] for place in sorted(fits)), key=lambda fit: fit[2])


def _rows(misfits: Array, chosen: Ints) -> Array:
    """Return the matrix A of least squares for the weights of the chosen settings."""
    # A little of the sum of squares of the weights is added, so that the solution is unique.
    sum_of_weights = np.full(len(chosen), SUM_WEIGHT)
    return np.vstack([sum_of_weights, misfits[:, chosen], RIDGE * np.eye(len(chosen))])


def _fitted_weights(misfits: Array, chosen: Ints) -> tuple[Ints, Array, float]:
    """Return the chosen settings of positive weight, these weights, and the misfit that is left."""
    rows = _rows(misfits, chosen)
    target = np.zeros(len(rows))
    target[0] = SUM_WEIGHT
    shares, left = nnls(rows, target, maxiter=NNLS_STEPS * len(chosen))
    positive = shares > 0.0
    return chosen[positive], shares[positive], float(left)


def noticeable(logs: Array) -> NDArray[np.bool_]:
    """Return whether each weight counts, from the logarithms of the weights (S,)."""
    return np.asarray(logs > logs.max() + np.log(NEGLIGIBLE_DRAW))


def most_components(most: int, n_data: int, n_outputs: int, room: float = 1.0) -> int:
    """Return how many components fit in room * MEMORY numbers, at least 1 and at most `most`."""
    # Each component has an (N, N) matrix per output.
    return int(np.clip(room * MEMORY / (n_outputs * n_data**2), 1, most))
