"""Posterior density of a Gaussian process' hyper-parameters: its maximum, and points around it."""

import warnings
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize, nnls
from scipy.spatial.distance import pdist
from scipy.special import logsumexp, softmax
from scipy.stats import chi2, multivariate_t, norm, qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from bnn._progress import progress_bar, titled
from bnn._seeding import generator
from bnn._validation import MOST_RESTARTS, Array, Ints, check_count, varies
from bnn.gp.conditioning import least_variance, log_diagonal
from bnn.gp.kernels import Linear

# Bounds of the search. Length scales are relative to the range of the input, and all variances to
# the variance of the output.
LENGTHSCALES = (0.025, 25.0)
VARIANCES = (1e-4, 1e2)
NOISES = (1e-8, 1.0)
# Log-normal hyperprior of the variance, of each length scale and of the variance of the noise:
# medians, relative as above, and standard deviations of the logarithms. For the noise they are the
# default of BoTorch.
MEDIANS = (1.0, 1.0, np.exp(-4.0))
DEVIATIONS = (2.0, 1.5, 1.0)
WIDE = 10.0  # prior deviation of a coefficient of the mean, for x and y of unit deviation
STEP = 1e-3  # of the finite differences of gradients
FARTHEST = 5.0  # slope of the noise in the search, relative to its prior deviation
# Largest number of data with one BLAS thread. Several threads would wait for each other, and take
# up to eight times as long where other work runs.
ONE_THREAD = 1500
SCREENED = 16  # random points of which the best is the start of a search
# Points of the average over hyper-parameters are drawn from Student's t around the largest density,
# wider than the normal distribution with its curvature, and for a share from the hyperprior.
DRAWS = 512
FREEDOM = 8.0
WIDTH = 1.15
OF_HYPERPRIOR = 0.25
UNLIKELY = 1e-9  # probability beyond which no point is drawn
FEWEST = 16  # components of an average over hyper-parameters
MEMORY = 1.25e8  # numbers in the covariance matrices of all components and outputs, 1 GB
N_CHECK_POINTS = 64  # where mean and variance are compared
BEYOND = 2.0  # ranges beyond the data, within which a trend goes on
AROUND = 1.25  # width of the box in which an average is kept, relative to that of the data
NEGLIGIBLE = 1e-5  # weight of a point that is left out, relative to the largest


class Density(Protocol):
    """A density of hyper-parameters η with normal hyperpriors, such as HyperparameterDensity."""

    centre: Array
    precision: Array

    def __call__(self, eta: Array) -> tuple[float, Array]:
        """Return log p(y | X, η) + log p(η) and its gradient by η."""
        ...

    def value(self, eta: Array) -> float:
        """Return the value alone."""
        ...


class HyperparameterDensity:
    """log p(y | X, η) + log p(η) up to a constant, a function of η = log (k0, L_1 .. L_n [, σ²]).

    With a basis b the variance of the noise of datum i is σ² exp(2 β·b_i), and η ends with the
    slopes β.

    Symmetric matrices are computed by their entries above the diagonal, which stand in vectors of
    N (N - 1) / 2 numbers.

    Attributes:
        X: Training inputs, (N, n).
        y: Training outputs, (N,).
        fixed: Covariance of known noise and of the mean's coefficients, (N, N).
        centre: Mean of η, (n + 1,), or (n + 2 + p,) if η has the variance σ² of the noise too.
        precision: Precision of each entry of η; with zeros the density is the evidence alone.
        basis: b of the data, (N, p); p is zero where the noise is constant.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        fixed: Array,
        centre: Array,
        precision: Array,
        basis: Array | None = None,
    ) -> None:
        self.X = X
        self.y = y
        self.centre = centre
        self.precision = precision
        self.basis = np.zeros((len(X), 0)) if basis is None else basis
        self._places = np.ravel_multi_index(np.triu_indices(len(X), 1), fixed.shape)
        self._fixed = fixed.ravel()[self._places]
        self._fixed_diagonal = np.diag(fixed)
        # (x_pi - x_qi)² for each input i, of differences, so that origins do not matter.
        self._squares = np.stack([pdist(column[:, None], "sqeuclidean") for column in X.T])

    def variances(self, eta: Array) -> Array:
        """Return the variances of the unknown noise of the data, (N,)."""
        n = len(self._squares) + 1
        return np.asarray(np.exp(eta[n : n + 1]).sum() * np.exp(2.0 * self.basis @ eta[n + 1 :]))

    def __call__(self, eta: Array) -> tuple[float, Array]:
        """Return the value and its gradient by η."""
        n = len(self._squares) + 1
        kernel, root = self._factorised(eta)
        if root is None:
            return -np.inf, np.zeros_like(eta)
        evidence, solved = self._evidence(root)
        # ∂ log p(y) / ∂η = ½ tr(M ∂Σ/∂η), with M = α αᵀ - Σ⁻¹ and ∂Σ/∂ log σ_i² = σ_i² e_i e_iᵀ
        inverse = dpotri(root, lower=True, overwrite_c=True)[0]
        M = np.outer(solved, solved) - inverse.T
        trace = np.trace(M)
        # ∂K/∂ log k0 = K, and ∂K_pq/∂ log L_i = K_pq (x_pi - x_qi)² / L_i²
        weighted = M.ravel()[self._places] * kernel
        by_variance = weighted.sum() + 0.5 * np.exp(eta[0]) * trace
        by_lengths = self._squares @ weighted * np.exp(-2.0 * eta[1:n])
        each = 0.5 * np.diag(M) * self.variances(eta)
        by_noise = np.append(each.sum(), 2.0 * self.basis.T @ each)[: len(eta) - n]
        slopes = np.concatenate([[by_variance], by_lengths, by_noise])
        value = evidence + float(self.log_prior(eta))
        return value, slopes - self.precision * (eta - self.centre)

    def value(self, eta: Array) -> float:
        """Return the value alone, for half the cost."""
        return self.log_evidence(eta) + float(self.log_prior(eta))

    def log_evidence(self, eta: Array) -> float:
        """Return log p(y | X, η) up to a constant."""
        root = self._factorised(eta)[1]
        return -np.inf if root is None else self._evidence(root)[0]

    def log_prior(self, eta: Array) -> Array:
        """Return log p(η) up to a constant, of one η, (m,), or of several, (..., m)."""
        # log p(η) = -½ (η - c)ᵀ diag(precision) (η - c) + const
        return np.asarray(-0.5 * (eta - self.centre) ** 2 @ self.precision)

    def solved(self, eta: Array) -> tuple[Array, Array]:
        """Return L, below its diagonal, and α for η that can be factorised."""
        root = self._factorised(eta)[1]
        assert root is not None
        return root, self._evidence(root)[1]

    def _factorised(self, eta: Array) -> tuple[Array, Array | None]:
        """Return K above the diagonal, and L of Σ = K + Σ_fixed + σ²I = L Lᵀ, if it exists."""
        n = len(self._squares) + 1
        N = len(self.y)
        # K_pq = k0 exp(-½ Σ_i (x_pi - x_qi)² / L_i²)
        kernel = np.exp(eta[0] - 0.5 * np.exp(-2.0 * eta[1:n]) @ self._squares)
        matrix = np.zeros((N, N))
        matrix.ravel()[self._places] = kernel + self._fixed
        matrix[np.diag_indices(N)] = self._fixed_diagonal + np.exp(eta[0]) + self.variances(eta)
        # Entries above the diagonal by rows are those below it by columns, as LAPACK takes them.
        root, failed = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
        return kernel, None if failed else root

    def _evidence(self, root: Array) -> tuple[float, Array]:
        """Return log p(y | X, η) and α = Σ⁻¹ y, with L of Σ = L Lᵀ."""
        solved = dpotrs(root, self.y, lower=True)[0]
        # log p(y) = -½ yᵀ α - Σ_i log L_ii + const
        return float(-0.5 * self.y @ solved - log_diagonal(root).sum()), solved


def linear_trend(
    X: Array, spread: float, chosen: list[int], intercept: bool, variance: float | None
) -> Linear | None:
    """Return the kernel of a linear mean, for outputs of variance `spread`; None without a mean."""
    if not chosen and not intercept:
        return None
    offset = WIDE**2 * spread if variance is None else variance
    slopes = np.zeros(X.shape[1])
    slopes[chosen] = offset / X.var(axis=0)[chosen] if variance is None else variance
    offset = offset if intercept else 0.0
    if variance is not None:
        return Linear(tuple(slopes), offset)
    origin = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
    reach = np.abs(X - origin).max(axis=0) + BEYOND * search_widths(X)
    return Linear(tuple(slopes), offset, tuple(origin), tuple(reach))


def density_of(
    X: Array,
    y: Array,
    trend: Callable[[Array, Array], Array] | None,
    variance: ArrayLike | None,
    hyperprior: bool,
    basis: Array | None = None,
    slope_deviation: float = 1.0,
) -> HyperparameterDensity:
    """Return the density of the hyper-parameters of one output, with σ² if the variance is None.

    A known variance is a number, or one for each of the data, (N,). With a basis (N, p) the noise
    has slopes, of a prior standard deviation.
    """
    n = X.shape[1] + 1
    if variance is None:
        n += 1
    spread = y.var()
    medians = [MEDIANS[0] * spread, *(MEDIANS[1] * search_widths(X)), MEDIANS[2] * spread]
    deviations = [DEVIATIONS[0], *[DEVIATIONS[1]] * X.shape[1], DEVIATIONS[2]]
    fixed = np.zeros((len(X), len(X))) if trend is None else trend(X, X)
    if variance is not None:
        # Rounding errors are those of the largest variance in the search.
        least = least_variance(len(X), VARIANCES[1] * spread + fixed.max())
        fixed = fixed + np.maximum(variance, least) * np.eye(len(X))
    precision = np.array(deviations[:n]) ** -2.0 if hyperprior else np.zeros(n)
    basis = np.zeros((len(X), 0)) if basis is None else basis
    slopes = np.zeros(basis.shape[1])
    centre = np.append(np.log(medians[:n]), slopes)
    precision = np.append(precision, slopes + slope_deviation**-2.0)
    return HyperparameterDensity(X, y, fixed, centre, precision, basis)


def search_widths(X: Array) -> Array:
    """Return the ranges of the inputs, (n,), and one for those that do not vary."""
    # The density is flat along the length scale of an input that does not vary.
    return np.where(varies(X), np.ptp(X, axis=0), 1.0)


def left_out(X: Array, lengthscale: Array) -> tuple[float, ...]:
    """Return length scales (n,), infinite for inputs of the data that do not vary."""
    return tuple(np.where(varies(X), lengthscale, np.inf).tolist())


def threads_for(n_data: int) -> threadpool_limits:
    """Return a context in which the linear algebra of few data has one thread, see ONE_THREAD."""
    return threadpool_limits(limits=1 if n_data <= ONE_THREAD else None, user_api="blas")


def search_bar(title: str, n_outputs: int, restarts: int, more: int) -> "tqdm[NoReturn]":
    """Return a bar of `maximise` for each output, with `more` further steps of each."""
    check_count("restarts", restarts, 0, MOST_RESTARTS)
    return progress_bar(n_outputs * (restarts + 1 + more), titled(title, None), "step")


def maximise(
    density: HyperparameterDensity, restarts: int, seed: int | None, step: Callable[[], object]
) -> Array:
    """Return the η of largest density, from the hyperprior's median and from random starts.

    Each random start is the best of SCREENED points, whose densities cost half as much as those of
    a search with their gradients. `step` is called after each search.

    Raises:
        ValueError: If the noise is too small for double precision.
    """
    spread = density.y.var()
    width = search_widths(density.X)
    ends = []
    for v, scale, noise in zip(VARIANCES, LENGTHSCALES, NOISES, strict=True):
        values = np.log([v * spread, *(scale * width), noise * spread])
        ends.append(values[: len(density.centre)])
    slopes = FARTHEST / np.sqrt(density.precision[len(width) + 2 :])
    low = np.append(ends[0], -slopes)
    high = np.append(ends[1], slopes)
    drawn = generator(seed).uniform(low, high, (restarts, SCREENED, len(low)))

    def negative(eta: Array) -> tuple[float, Array]:
        value, gradient = density(eta)
        return -value, -gradient

    box: dict[str, Any] = {
        "method": "L-BFGS-B",
        "jac": True,
        "bounds": np.column_stack([low, high]),
    }
    found = [minimize(negative, density.centre, **box)]
    step()
    for points in drawn:
        found.append(minimize(negative, max(points, key=density.value), **box))
        step()
    best = min(found, key=lambda result: result.fun)
    if not np.isfinite(best.fun):
        raise ValueError("noise: too small for data at these X in double precision")
    # "ABNORMAL" says that rounding errors hide any further gain along the last direction.
    if not best.success and "ABNORMAL" not in best.message:
        warnings.warn(f"the search did not end: {best.message}", ConvergenceWarning, stacklevel=3)
    return np.asarray(best.x)


def curvature(density: Density, best: Array) -> Array:
    """Return -∂² log p / ∂η² by central differences of the gradient, (m, m)."""
    steps = STEP * np.eye(len(best))
    rows = [density(best - step)[1] - density(best + step)[1] for step in steps]
    return np.array(rows) / (2.0 * STEP)


def importance_sample(
    density: Density,
    best: Array,
    seed: int | None,
    hessian: Array | None = None,
    draws: int | None = None,
) -> tuple[Array, Array, float]:
    """Return points η (draws, m), logarithms of their posterior weights, and log p(y | X).

    There are DRAWS of them, or as many as are asked for.

    The weights sum to 1. The log evidence is up to a constant that is the same for all priors. The
    Hessian matrix of -log p(η | y), (m, m), is that of finite differences if it is not given.

    Source: Ionides (2008), Journal of Computational and Graphical Statistics 17, for the largest
    weight.
    """
    m = len(best)
    draws = DRAWS if draws is None else draws
    hessian = curvature(density, best) if hessian is None else hessian
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # R Rᵀ = H⁻¹, with H = V diag(λ) Vᵀ. λ is at least the hyperprior's precision, so that the
    # points stay within its width where the density is nearly flat or curved upwards.
    root = WIDTH * vectors / np.sqrt(np.maximum(values, density.precision.min()))
    uniform = qmc.Sobol(m + 1, seed=generator(seed)).random(draws)
    z = norm.ppf(np.clip(uniform[:, :m], UNLIKELY, 1.0 - UNLIKELY))
    radii = np.sqrt(FREEDOM / chi2.ppf(np.maximum(uniform[:, m:], UNLIKELY), FREEDOM))
    deviations = density.precision**-0.5
    n = int(OF_HYPERPRIOR * draws)
    points = np.concatenate([density.centre + z[:n] * deviations, best + (radii * z)[n:] @ root.T])
    # log w = log p(y | η) + log p(η) - log q(η), with q(η) = s p(η) + (1 - s) t(η)
    of_hyperprior = norm.logpdf(points, density.centre, deviations).sum(axis=1)
    of_student = multivariate_t.logpdf(points, best, root @ root.T, df=FREEDOM)
    shares = np.array([[OF_HYPERPRIOR], [1.0 - OF_HYPERPRIOR]])
    logs = np.array([density.value(eta) for eta in points])
    logs -= logsumexp(np.stack([of_hyperprior, of_student]), axis=0, b=shares)
    total = logsumexp(logs)
    # log p(y | X) = log 1/S Σ_s w_s, with the constant of log p(η)
    normaliser = 0.5 * np.sum(np.log(density.precision) - np.log(2.0 * np.pi))
    evidence = float(total - np.log(draws) + normaliser)
    # No weight counts more than √draws times the average, so that none outweighs all others.
    logs = np.minimum(logs, total - 0.5 * np.log(draws))
    return points, logs - logsumexp(logs), evidence


def representatives(
    X: Array,
    moments: Callable[[int, Array], Array],
    logs: Array,
    most: int,
    around: float = AROUND,
) -> tuple[Ints, Array]:
    """Return numbers of few of S weighted settings, (most,), with weights, that stand for all.

    Means of f and f² averaged over the few are those averaged over all, at N_CHECK_POINTS places
    among the data, along the directions in which they vary most. So many points are enough for
    that, as Carathéodory's theorem says, and least squares with weights that are not negative finds
    them.

    Args:
        X: Training inputs, (N, n_in).
        moments: Number of a setting, places (n, n_in) → means of f and of f² there, (2 n,).
        logs: Logarithms of the weights of the settings, (S,).
        most: Number of settings to choose.
        around: Width of the box of the places, relative to that of the data.
    """
    middle = 0.5 * (X.min(axis=0) + X.max(axis=0))
    reach = 0.5 * around * np.ptp(X, axis=0)
    unit = qmc.LatinHypercube(len(middle), seed=generator(0)).random(N_CHECK_POINTS)
    places = middle + (2.0 * unit - 1.0) * reach
    seen = np.flatnonzero(logs > logs.max() + np.log(NEGLIGIBLE))
    weights = softmax(logs[seen])
    rows = np.array([moments(s, places) for s in seen]).T
    # A moment may be zero at a place: the mean of data that contradict each other without noise.
    sizes = np.sqrt(rows**2 @ weights)
    rows /= np.where(sizes > 0.0, sizes, 1.0)[:, None]
    if most == 1:
        # The one whose moments are nearest to the averages.
        away = np.sum((rows - (rows @ weights)[:, None]) ** 2, axis=0)
        return seen[[np.argmin(away)]], np.ones(1)
    # Averages of the moments along their principal directions, and the sum of the weights.
    directions = np.linalg.svd((rows - (rows @ weights)[:, None]) * np.sqrt(weights))[0]
    few = np.vstack([np.ones(len(seen)), directions[:, : most - 1].T @ rows])
    shares = nnls(few, few @ weights)[0]
    found = np.argsort(-shares)[:most]
    chosen = np.resize(found, most)
    # Where there are no more points, the others have weights of zero.
    kept = np.where(np.arange(most) < len(found), shares[chosen], 0.0)
    return seen[chosen], kept / kept.sum()


def most_components(most: int, n_data: int, n_outputs: int, room: float = 1.0) -> int:
    """Return how many of `most` components have matrices within `room` MEMORY, at least one."""
    # Each component has a matrix (N, N) for each output.
    return int(np.clip(room * MEMORY / (n_outputs * n_data**2), 1, most))


def moments_of(kernel: sk.Kernel, X: Array, solved: tuple[Array, Array], places: Array) -> Array:
    """Return the means of f and of f² at places (n, n_in), given L and α of the data X, (2 n,)."""
    root, alpha = solved
    cross = kernel(X, places)
    whitened = solve_triangular(root, cross, lower=True, check_finite=False)
    # m(x) = k(x, X) α, and m(x)² + k(x, x) - |L⁻¹ k(X, x)|²
    mean = cross.T @ alpha
    variance = kernel.diag(places) - np.sum(whitened**2, axis=0)
    return np.concatenate([mean, mean**2 + variance])
