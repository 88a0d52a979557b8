"""Statistics of the weights of a pre-trained ensemble: Table 1, Figs. 2, 3 and 5 of the paper."""

from dataclasses import dataclass

import numpy as np

from bnn import MLP, LowRankGaussian
from bnn.ensembles.weight_priors.statistics import layer_statistics

BOOTSTRAPS = 400
COUNTED_WEIGHTS = 400  # weights of a kernel from which the mean |r| is computed
PERMUTATIONS = 99  # for the level of the mean |r| of independent weights
LEVEL = 0.95


@dataclass(frozen=True)
class WeightStatistics:
    """Statistics of demeaned weights ω - μ0, for G groups of weights or for the kernels W0..WL."""

    groups: np.ndarray  # names: "all" for all weights and biases together, then the kernels
    variance: np.ndarray  # σ0², (G,)
    variance_error: np.ndarray  # bootstrap standard error of σ0² over the K networks, (G,)
    excess_kurtosis: np.ndarray  # (G,); zero for a Gaussian
    alpha: np.ndarray  # α0 of the generalised normal fit, (G,)
    beta: np.ndarray  # β0 of the generalised normal fit, (G,); 2 is Gaussian, 1 is Laplace
    mean_correlation: np.ndarray  # mean |r| between different weights of each kernel, (L+1,)
    null_correlation: np.ndarray  # 95 % level of mean |r| for independent weights, (L+1,)
    singular_values: np.ndarray  # of the centred weight matrix W0, (K-1,)


def weight_statistics(weights: np.ndarray, architecture: MLP, seed: int = 0) -> WeightStatistics:
    """Return statistics of the weights ω0^[k] of an ensemble, (K, d); `seed` is for resampling."""
    weights = np.asarray(weights, dtype=float)
    centred = weights - weights.mean(axis=0)
    kernels = [centred[:, layer.kernel] for layer in architecture.layers]
    names = ["all", *(f"W{layer.index}" for layer in architecture.layers)]
    described = layer_statistics(weights, architecture)
    columns = {
        key: np.array([described[name][key] for name in names])
        for key in ("variance", "excess_kurtosis", "alpha", "beta")
    }
    return WeightStatistics(
        groups=np.array(names),
        variance_error=np.array([variance_error(g, seed) for g in (centred, *kernels)]),
        mean_correlation=np.array([mean_correlation(kernel) for kernel in kernels]),
        null_correlation=np.array([null_correlation(kernel, seed) for kernel in kernels]),
        singular_values=LowRankGaussian.fit(weights, architecture).singular_values,
        **columns,
    )


def variance_error(centred: np.ndarray, seed: int = 0) -> float:
    """Return the bootstrap standard error, over networks, of the variance of weights (K, n)."""
    K, n = centred.shape
    gram = centred @ centred.T
    draws = np.random.default_rng(seed).multinomial(K, np.full(K, 1.0 / K), BOOTSTRAPS)
    about_mean = draws @ np.diag(gram) - np.einsum("bk,kl,bl->b", draws, gram, draws) / K
    return float(np.std(about_mean / ((K - 1) * n)))


def mean_correlation(centred: np.ndarray) -> float:
    """Return the mean |r| between different weights of a kernel (K, n)."""
    return _mean_size(np.corrcoef(_spread_evenly(centred, COUNTED_WEIGHTS), rowvar=False))


def null_correlation(centred: np.ndarray, seed: int = 0) -> float:
    """Return the 95 % quantile of mean |r| if the weights of a kernel (K, n) were independent."""
    # The K values of each weight are permuted independently, which keeps their distribution.
    chosen = _spread_evenly(centred, COUNTED_WEIGHTS)
    standard = chosen - chosen.mean(axis=0)
    standard /= np.linalg.norm(standard, axis=0)
    rng = np.random.default_rng(seed)
    permuted = (rng.permuted(standard, axis=0) for _ in range(PERMUTATIONS))
    return float(np.quantile([_mean_size(z.T @ z) for z in permuted], LEVEL, method="higher"))


def _spread_evenly(centred: np.ndarray, count: int) -> np.ndarray:
    chosen = np.linspace(0, centred.shape[1] - 1, min(count, centred.shape[1])).astype(int)
    return centred[:, chosen]


def _mean_size(matrix: np.ndarray) -> float:
    """Return the mean absolute value off the diagonal."""
    sizes = np.abs(matrix)
    return float((sizes.sum() - np.trace(sizes)) / (sizes.size - len(sizes)))


def held(singular_values: np.ndarray) -> np.ndarray:
    """Return the cumulative share of the weights' variance along leading directions, (K-1,)."""
    return np.cumsum(singular_values**2) / np.sum(singular_values**2)


def directions(singular_values: np.ndarray, share: float = 0.9) -> int:
    """Return the number of leading directions that contain a share of the weights' variance."""
    return int(np.searchsorted(held(singular_values), share)) + 1
