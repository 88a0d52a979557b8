"""Combinations of components of a mixture, whose outputs are coupled by correlated noise.

Output j of a combination z comes from component z_j, with the prior weight π_j(z_j). Outputs are
added one by one: the posterior weight of z_1, .., z_j is proportional to

    Π_k π_k(z_k) p(y_k | y_1, .., y_k-1, z_1, .., z_k).

If there are too many combinations of the first outputs, some of them are drawn with new weights.
The expectation of each new weight is the weight itself.

Source: Fearnhead & Clifford (2003), Journal of the Royal Statistical Society B 65.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, solve_triangular
from scipy.special import logsumexp, softmax

from bnn._seeding import generator
from bnn._validation import Array, Ints
from bnn.gp.conditioning import factorised, leave_out, log_diagonal
from bnn.gp.process import GaussianProcessPrior
from bnn.noise.covariances import noise_blocks
from safe_files.progress import counted

EXTENDED = (64, 256, 1024)  # most combinations to which an output is added, if fewer do not suffice
ENOUGH_DRAWS = 32.0  # effective number of draws at which they suffice
LEAST_WEIGHT = 1e-12  # combinations with smaller weights, relative to the largest, are left out


@dataclass(frozen=True)
class Combinations:
    """Weighted combinations of components.

    Attributes:
        numbers: The component of each output, (M, n_out).
        weights: Posterior weights, (M,), which sum to 1.
        log_evidence: Log evidence of all outputs.
        effective: Effective number of draws; infinite if no combination was drawn.
    """

    numbers: Ints
    weights: Array
    log_evidence: float
    effective: float


def combinations_of(
    components: Sequence[GaussianProcessPrior],
    shares: Array,
    noise: Array,
    X: Array,
    y: Array,
    most: int,
) -> Combinations:
    """Return the combinations of components that are probable given the data.

    These are all whose weight is not negligible, or `most` draws of them. The components have the
    prior weights `shares`, (S, n_out).

    Raises:
        ValueError: If the noise is too small for double precision.
    """
    data = _CoupledData(components, shares, noise, X, y)
    for limit in EXTENDED:
        combinations = _compared(data, limit, most)
        if combinations.effective >= ENOUGH_DRAWS:
            break
    return combinations


class _CoupledData:
    """Data with correlated noise, and the covariances of their outputs under each component.

    Rows and columns of missing data are zero in K, and those of the identity in Σ_noise.
    """

    def __init__(
        self,
        components: Sequence[GaussianProcessPrior],
        shares: Array,
        noise: Array,
        X: Array,
        y: Array,
    ) -> None:
        self.N, self.n_out = y.shape
        # Log weights by combination: a larger limit mostly adds combinations to those before.
        self._computed: dict[tuple[int, ...], Array] = {}
        present = ~np.isnan(y)
        self.shares = shares
        self.counts = present.sum(axis=0)
        self.noise = noise
        self.covariance = noise_blocks(noise, self.N, 1)[0]  # Σ_noise of all data
        leave_out(self.covariance, np.flatnonzero(~present.T))
        self.kernels = []
        self.residuals = []
        for component in counted(components, "covariance of the data", "component"):
            component.check_kernels(X)
            pairs = zip(component.covariances(X, X), present.T, strict=True)
            self.kernels.append([K * np.outer(of_output, of_output) for K, of_output in pairs])
            self.residuals.append(np.where(present, y - component.mean_values(X), 0.0))

    def log_weights(self, numbers: Ints) -> Array:
        """Return log π_j(s) p(y_j | y_1, .., y_j-1, s) of each component s of output j, (S,).

        Args:
            numbers: The components of the outputs before output j, (j - 1,).
        """
        key = (*numbers.tolist(),)
        if key not in self._computed:
            self._computed[key] = self._log_weights(numbers)
        return self._computed[key]

    def _log_weights(self, numbers: Ints) -> Array:
        """Compute what `log_weights` returns."""
        j = len(numbers)
        mean, covariance = self._noise_of_next(numbers)
        logs = np.full(len(self.shares), -np.inf)
        for s in np.flatnonzero(self.shares[:, j]):
            # -½ (rᵀ A⁻¹ r + log |A| + N log 2π), with A = K + Σ = L Lᵀ, for r = y - m - E ε
            L = factorised(self.kernels[s][j] + covariance, self.noise)
            white = solve_triangular(
                L, self.residuals[s][:, j] - mean, lower=True, check_finite=False
            )
            quadratic = white @ white + self.counts[j] * np.log(2.0 * np.pi)
            logs[s] = np.log(self.shares[s, j]) - 0.5 * quadratic - log_diagonal(L).sum()
        return logs

    def _noise_of_next(self, numbers: Ints) -> tuple[Array, Array]:
        """Return the mean (N,) and covariance (N, N) of the noise ε of output j, see above."""
        j = len(numbers)
        before = slice(0, j * self.N)
        following = slice(j * self.N, (j + 1) * self.N)
        variances = self.covariance[following, following]
        if j == 0:
            return np.zeros(self.N), variances
        # A = K + Σ = L Lᵀ of the outputs before, C = Σ between them and output j
        K = block_diag(*(self.kernels[s][k] for k, s in enumerate(numbers)))
        residuals = np.concatenate([self.residuals[s][:, k] for k, s in enumerate(numbers)])
        L = factorised(K + self.covariance[before, before], self.noise)
        W = solve_triangular(L, self.covariance[before, following], lower=True, check_finite=False)
        white = solve_triangular(L, residuals, lower=True, check_finite=False)
        # E ε = Cᵀ A⁻¹ r = Wᵀ L⁻¹ r and Cov ε = Σ_jj - Cᵀ A⁻¹ C = Σ_jj - Wᵀ W
        return W.T @ white, variances - W.T @ W


def _compared(data: _CoupledData, limit: int, most: int) -> Combinations:
    """Add the outputs one by one to at most `limit` combinations; return at most `most`."""
    rng = generator(0)
    S = len(data.shares)
    numbers = np.zeros((1, 0), dtype=int)
    logs = np.zeros(1)
    draws = []
    for j in range(data.n_out):
        rows = counted(list(numbers), "comparing", f"combination of {j + 1} outputs")
        logs = (logs[:, None] + [data.log_weights(row) for row in rows]).ravel()
        numbers = np.column_stack([np.repeat(numbers, S, axis=0), np.tile(range(S), len(numbers))])
        possible = np.isfinite(logs)
        every, of_every = numbers[possible], logs[possible]
        number = limit if j < data.n_out - 1 else most
        chosen, logs, drawn = thin_out(of_every, number, rng)
        numbers = every[chosen]
        draws.append(numbers[drawn])
    total = float(logsumexp(of_every))
    # 1 / n of a sum of draws: Σ (share of a draw)², where its share is that of all combinations
    # that begin with it
    shares = np.exp(of_every - total)
    inverse = sum(np.sum(_shares(begin, every, shares) ** 2) for begin in draws)
    weights = softmax(logs)
    noticeable = weights > LEAST_WEIGHT * weights.max()
    return Combinations(
        numbers[noticeable],
        weights[noticeable] / weights[noticeable].sum(),
        total,
        1.0 / inverse if inverse else np.inf,
    )


def _shares(begin: Ints, numbers: Ints, weights: Array) -> Array:
    """Return the weights of all combinations, of rows `numbers`, that begin with a row, (n,)."""
    firsts = numbers[:, : begin.shape[1]]
    return np.array([weights[np.all(firsts == row, axis=1)].sum() for row in begin])


def thin_out(
    logs: Array, most: int, rng: np.random.Generator
) -> tuple[Ints, Array, NDArray[np.bool_]]:
    """Draw a few weighted items such that the expectation of each new weight is its weight.

    Items whose weight is above a threshold keep it. All others are drawn by systematic sampling,
    and get the threshold as weight. This is the choice with the least sum of squared errors.

    Args:
        logs: Logarithms of the weights of the items, (n,).
        most: Most items to draw. If there are no more, all are returned.
        rng: Generator of the draws.

    Returns:
        Indices of the items by decreasing weight, the logarithms of their new weights, and whether
        each was drawn.
    """
    order = np.argsort(-logs, kind="stable")
    falling = logs[order]
    if len(order) <= most:
        return order, falling, np.zeros(len(order), dtype=bool)
    weights = np.exp(falling - falling[0])
    # After k items that keep their weights, the threshold is c_k = Σ_rest w / (most - k).
    rest = weights[::-1].cumsum()[::-1][:most]
    thresholds = rest / np.arange(most, 0, -1)
    above = int(np.argmax(weights[:most] <= thresholds))
    n_draws = most - above
    # No weight exceeds the spacing of the places, so no item is drawn twice.
    sums = weights[above:].cumsum()
    places = (np.arange(n_draws) + rng.uniform()) / n_draws * sums[-1]
    drawn = above + np.minimum(np.searchsorted(sums, places, side="right"), len(sums) - 1)
    threshold = falling[0] + np.log(thresholds[above])
    new = np.append(falling[:above], np.full(n_draws, threshold))
    return order[np.append(np.arange(above), drawn)], new, np.arange(most) >= above
