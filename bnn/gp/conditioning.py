"""The posterior of a Gaussian process given data, and the least noise that double precision allows.

Entry j n + i of a vector is point i of output j. Matrices are given by their diagonal blocks,
(n_out, n, n) for independent outputs and (1, n_out n, n_out n) for dependent ones.

Source: Rasmussen & Williams (2006), equations 2.22 to 2.24 and 2.30.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import block_diag, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpocon, dpotrf
from scipy.stats import norm
from sklearn.utils import gen_batches

from bnn._validation import Array, Ints, power_of_two
from bnn.gp.process import MOST_ROWS, GaussianProcessPrior, covariance_root
from bnn.noise.covariances import apart, is_diagonal, noise_blocks
from safe_files.help_page import ExplainedWarning
from safe_files.progress import counted
from safe_files.text import Short

ENTRIES = 2**22  # entries of the part of a matrix that is computed at a time
# Entries of the covariance of predictions with the data that are computed at a time, so that they
# fit in the cache of a processor.
CACHED = 2**18
# The allocator of Linux gives the memory of such a covariance back to the system, which clears it
# before the next one: a fifth to a quarter of the time of a prediction. After an array of 30 MB has
# been freed, it keeps up to 60 MB.
np.empty(30 * 2**20, dtype=np.uint8)
# Rounding errors shift the eigenvalues of the covariance of N data by up to about N eps times its
# largest entry.
EIGENVALUE_ERROR = 4.0 * np.finfo(float).eps

# Means at n points, (n, n_out), covariances between outputs at each point, (n, n_out, n_out), and a
# function that returns the columns of points with the indices (m,), for each block of the joint
# covariance.
JointColumns: TypeAlias = tuple[Array, Array, Callable[[Ints], Array]]


class NuggetWarning(ExplainedWarning):
    """The noise is too small, relative to the prior, for double precision."""


def log_diagonal(roots: Array) -> Array:
    """Return log L_ii of factors L, (..., n, n), as (..., n)."""
    # Of a copy: the last bit of NumPy's logarithm of a strided view depends on its address, and the
    # difference would grow in a search.
    return np.asarray(np.log(np.einsum("...jj->...j", roots).copy()))


def least_variance(n_data: int, variance: Array | float) -> Array:
    """Return the variance of the nugget for N data with this largest variance of the prior."""
    return np.asarray(EIGENVALUE_ERROR * n_data * variance)


def resolved(noise: Array, priors: Sequence[GaussianProcessPrior], X: Array, y: Array) -> Array:
    """Add a nugget to noise that is too small for double precision.

    Args:
        noise: Σ_noise, (n_out, n_out), or one for each datum, (N, n_out, n_out).
        priors: Priors that are conditioned on the data.
        X: Training inputs, (N, n_in).
        y: Training outputs, (N, n_out), NaN for missing outputs.

    Returns:
        The noise, with a nugget added to the diagonal if the noise is smaller than the nugget. An
        output whose noise has no correlations keeps its noise if its covariances can be factorised
        under all priors.
    """
    if not is_diagonal(noise):
        variances = np.max([p.variances(X).max(axis=1) for p in priors], axis=0)
        least = least_variance(len(X), variances)
        # The noise suffices if all eigenvalues of Σ_noise - diag(ℓ) are >= 0. The noise of outputs
        # may differ by orders of magnitude, so outputs are divided by it, which keeps the signs.
        scale = 1.0 / np.sqrt(np.einsum("...jj->...j", noise))
        relative = (noise - np.diag(least)) * scale[..., :, None] * scale[..., None, :]
        small = np.linalg.eigvalsh(relative)[..., :1] < 0.0
        nugget = np.where(small, least, 0.0)
        return np.asarray(noise + nugget[..., None] * np.eye(len(least)))
    missing = np.isnan(y)
    constant = noise.ndim == 2 and not missing.any()
    total = noise.copy() if constant else noise * np.ones((len(X), 1, 1))
    for j, absent in enumerate(missing.T):
        points = X[~absent]
        least = least_variance(len(points), max(p.variances(points)[j].max() for p in priors))
        place: Any = (j, j) if constant else (~absent, j, j)
        variances = total[place]
        small = variances < least
        covariances = (p.covariance(points, points, j) for p in priors)
        if small.any() and not all(_is_factorised(c, variances) for c in covariances):
            total[place] += np.where(small, least, 0.0)
    return np.asarray(total)


def _is_factorised(prior: Array, variances: Array) -> bool:
    """Return whether A = K + σ²I has a factor, and eigenvalues above the rounding errors of K."""
    A = prior + variances * np.eye(len(prior))
    size = np.abs(A).sum(axis=0).max()
    root, failed = dpotrf(A, lower=True)
    # 1 / (|A| |A⁻¹|), in the 1-norm; no eigenvalue is smaller than 1 / |A⁻¹|.
    condition, _ = dpocon(root, size, uplo="L")
    errors = len(prior) * np.finfo(float).eps * np.diagonal(prior).max()
    return not failed and bool(condition * size > errors)


def leave_out(matrix: Array, missing: Ints) -> None:
    """Replace rows and columns of missing data in a covariance by those of the identity."""
    matrix[missing] = 0.0
    matrix[:, missing] = 0.0
    matrix[missing, missing] = 1.0


def factorised(matrix: Array, noise: Array) -> Array:
    """Return the Cholesky factor of a covariance of data (n, n), which it overwrites.

    Raises:
        ValueError: If the covariance is not positive definite in double precision; the message has
            the least noise in it.
    """
    try:
        return np.asarray(cholesky(matrix, lower=True, overwrite_a=True))
    except np.linalg.LinAlgError:
        least = np.sqrt(np.einsum("...jj->...j", noise).min())
        reason = "too small for the prior in double precision"
        other = "or a custom kernel has negative eigenvalues"
        raise ValueError(f"noise = {least:.3g}: {reason}, {other}") from None


def check_joint(X: Array, n_outputs: int) -> None:
    """Raise ValueError if the joint covariance of outputs at the points X has too many rows."""
    size = len(X) * n_outputs
    if size > MOST_ROWS:
        rows = f"their joint covariance has {size} rows, must be at most {MOST_ROWS}"
        raise ValueError(f"X has {len(X)} points: {rows}; predict has no such limit")


class Factor(NamedTuple):
    """The factorised covariance of the data of columns of f U, or of all of them if coupled.

    Attributes:
        output: Index of the output whose kernel it has.
        root: L of K + σ²I = L Lᵀ.
        missing: Rows of L that belong to missing data.
    """

    output: int
    root: Array
    missing: Ints


class ProcessPosterior(Short):
    """A Gaussian process prior given data, which factorises N x N matrices if possible.

    There are three cases:

    - Diagonal noise leaves the outputs independent: U = I.
    - All outputs have the same kernel K, none is missing, and the noise is constant,
      Σ_noise = U diag(σ²) Uᵀ. Then the columns of (y - m) U are independent, because Uᵀ turns
      I ⊗ K + Σ_noise ⊗ I into the blocks K + σ_c² I.
    - In all other cases the outputs are coupled, for example under correlated noise that depends
      on the input.

    A missing output (NaN in y) is left out of K + Σ_noise. The identity replaces its row and
    column, and its covariances with predictions are zero.

    Attributes:
        prior: The prior.
        X: Training inputs, (N, n_in).
        noise: Σ_noise, (n_out, n_out), or one for each datum, (N, n_out, n_out).
        axes: U, (n_out, n_out).
        coupled: Whether the outputs are coupled.
        factors: The different factors.
        columns: Index of the factor of each column of f U, or one index if the outputs are coupled.
        solved: α = (K + σ²I)⁻¹ v of each column v of (y - m) U, (N, n_out).
        log_evidences: log p(v) of each column v of (y - m) U; a single one if coupled.
    """

    def __init__(self, prior: GaussianProcessPrior, noise: Array, X: Array, y: Array) -> None:
        prior.check_kernels(X)
        self.prior = prior
        self.X = X
        self.noise = noise
        self.axes = np.eye(y.shape[1])
        present = ~np.isnan(y)
        self._present = None if present.all() else present
        residual = np.where(present, y - prior.mean_values(X), 0.0)
        alike = prior.alike
        variances = np.einsum("...jj->j...", self.noise)
        self._diagonal = is_diagonal(self.noise)
        varied = self.noise.ndim == 3 or self._present is not None
        self.coupled = not self._diagonal and (any(alike) or varied)
        if not self._diagonal and not self.coupled:
            # Σ_noise = U diag(σ²) Uᵀ
            variances, self.axes = np.linalg.eigh(self.noise)
        # Columns of (y - m) U; one column if the outputs are coupled.
        vectors = (residual @ self.axes).T.reshape(1 if self.coupled else y.shape[1], -1)
        if self._present is not None:
            # An infinite variance marks a missing output.
            by_datum = variances.reshape(len(variances), -1) * np.ones(len(X))
            variances = np.where(present.T, by_datum, np.inf)
        keys = map(tuple, variances.reshape(len(variances), -1).tolist())
        sources = list(zip(alike, keys, strict=True))[: len(vectors)]
        different = list(dict.fromkeys(sources))
        with_bar = counted(different, "conditioning", "output")
        self.factors = [self._factor(*source) for source in with_bar]
        self.columns = [different.index(source) for source in sources]
        roots = [self.factors[k].root for k in self.columns]
        # α = (K + σ²I)⁻¹ v for each column v of (y - m) U
        solved = np.array([cho_solve((L, True), v) for L, v in zip(roots, vectors, strict=True)])
        self.solved = solved.reshape(residual.shape[::-1]).T
        # log p(v) = -½ (vᵀ α + log |K + σ²I| + N log 2π), with log |L Lᵀ| = 2 Σ log L_ii
        log_determinants = [2.0 * log_diagonal(root).sum() for root in roots]
        quadratic = np.sum(vectors * solved, axis=1)
        counts = present.sum() if self.coupled else present.sum(axis=0)
        constant = counts * np.log(2.0 * np.pi)
        self.log_evidences = -0.5 * (quadratic + log_determinants + constant)  # of each column

    def _factor(self, output: int, variances: tuple[float, ...]) -> Factor:
        """Return the factor for one variance σ², or one for each datum, infinite if missing."""
        missing = np.zeros(0, dtype=int)
        if self.coupled:
            # L Lᵀ = blockdiag(K_1, .., K_n_out) + noise of all outputs of all data
            matrix = self._prior_covariance(self.X, self.X, 0)
            matrix = matrix + noise_blocks(self.noise, len(self.X), 1)[0]
            if self._present is not None:
                missing = np.flatnonzero(~self._present.T)
        else:
            # K is computed in parts, in the memory that L overwrites.
            matrix = np.empty((len(self.X), len(self.X)), order="F")
            parts = list(gen_batches(len(self.X), max(ENTRIES // len(self.X), 1)))
            for columns in counted(parts, "covariance of the data", "part"):
                matrix[:, columns] = self.prior.covariance(self.X, self.X[columns], output)
            matrix[np.diag_indices(len(self.X))] += variances
            if self._present is not None:
                missing = np.flatnonzero(np.isinf(variances))
        leave_out(matrix, missing)
        return Factor(output, factorised(matrix, self.noise), missing)

    def _prior_covariance(self, A: Array, B: Array, output: int) -> Array:
        """Return the prior covariance of a column of f U, or of all outputs if they are coupled."""
        if not self.coupled:
            return self.prior.covariance(A, B, output)
        return np.asarray(block_diag(*self.prior.covariances(A, B)))

    def batches(self, n: int) -> list[slice]:
        """Split n points into batches whose covariances with the data fit in the cache."""
        columns = len(self.axes) ** 2 if self.coupled else 1
        return list(gen_batches(n, max(CACHED // (columns * len(self.X)), 1)))

    def mean(self, X: Array) -> Array:
        """Return the posterior mean at X (n, n_in), (n, n_out)."""
        # One covariance at a time is in memory.
        return self._mean(X, (self._cross(X, [j]) for j in sorted(set(self.prior.alike))))

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean (n, n_out) and covariance (n, n_out, n_out) of the outputs at X (n, n_in)."""
        cross = self._cross(X)
        whitened = [self._whitened(cross, factor) for factor in self.factors]
        return self._mean(X, [cross]), self._at_points(X, whitened)

    def _cross(self, X: Array, outputs: Iterable[int] | None = None) -> dict[int, Array]:
        """Return k(X, X_train), (n, N), of each kernel, by the first output with it, or of some."""
        chosen = sorted(set(self.prior.alike)) if outputs is None else outputs
        return {j: self.prior.covariance(X, self.X, j) for j in chosen}

    def _mean(self, X: Array, cross: Iterable[dict[int, Array]]) -> Array:
        """Return the posterior mean at X, (n, n_out), from the covariances with the data."""
        alike = np.array(self.prior.alike)
        latent = np.empty((len(X), len(self.axes)))
        for covariances in cross:
            for output, covariance in covariances.items():
                # E f(X) U = m(X) U + k(X, X_train) α
                latent[:, alike == output] = covariance @ self.solved[:, alike == output]
        return np.asarray(self.prior.mean_values(X) + latent @ self.axes.T)

    def kriging_weights(self, X: Array) -> list[Array]:
        """Return (K + σ²I)⁻¹ k(X_train, X), (N, n), at X (n, n_in), for each column of f U."""
        N = len(self.X)
        n = len(X)
        weights = []
        cross = self._cross(X)
        for factor in self.factors:
            # L⁻ᵀ W, with W = L⁻¹ k(X_train, X)
            W = self._whitened(cross, factor)
            solved = solve_triangular(factor.root, W, lower=True, trans=1, check_finite=False)
            weights.append(solved)
        if not self.coupled:
            return [weights[k] for k in self.columns]
        columns = range(len(self.axes))
        return [weights[0][c * N : (c + 1) * N, c * n : (c + 1) * n] for c in columns]

    def between(self, A: Array, B: Array) -> Array:
        """Return the covariance of each output, (n_out, n, m), between A (n, n_in), B (m, n_in)."""
        n, m = len(A), len(B)
        at_A, at_B = self._cross(A), self._cross(B)
        covariances = []
        for factor in self.factors:
            # S(A, B) = k(A, B) - W(A)ᵀ W(B)
            explained = self._whitened(at_A, factor).T @ self._whitened(at_B, factor)
            covariances.append(self._prior_covariance(A, B, factor.output) - explained)
        blocks = np.stack([covariances[k] for k in self.columns])
        if self.coupled:
            return np.stack([blocks[0, j * n :][:n, j * m :][:, :m] for j in range(len(self.axes))])
        # Cov(f_j(a), f_j(b)) = Σ_c U_jc² S_c(a, b)
        return np.asarray(np.einsum("jc,cil->jil", self.axes**2, blocks))

    def _whitened_alone(self, X: Array, factor: Factor) -> Array:
        """Return `_whitened` for many points, with only the covariances of one factor in memory."""
        return self._whitened(self._cross(X, None if self.coupled else [factor.output]), factor)

    def _whitened(self, cross: dict[int, Array], factor: Factor) -> Array:
        """Return W = L⁻¹ k(X_train, X), (N, n), or of all outputs, (n_out N, n_out n)."""
        root = factor.root
        if not self.coupled:
            right = cross[factor.output].T
            if factor.missing.size:
                right = right.copy()
                right[factor.missing] = 0.0
            return np.asarray(solve_triangular(root, right, lower=True, check_finite=False))
        N = len(self.X)
        n = len(cross[0])
        W = np.zeros((len(root), len(self.axes) * n))
        for j, output in enumerate(self.prior.alike):
            # The columns of output j are zero above the rows of its data.
            right = np.zeros((len(root) - j * N, n))
            right[:N] = cross[output].T
            if self._present is not None:
                right[:N][~self._present[:, j]] = 0.0
            block = root[j * N :, j * N :]
            W[j * N :, j * n : (j + 1) * n] = solve_triangular(
                block, right, lower=True, check_finite=False
            )
        return W

    def _at_points(self, X: Array, whitened: Sequence[Array]) -> Array:
        """Return the covariance between the outputs at each point, (n, n_out, n_out)."""
        variances = self.prior.variances(X)
        n_out = len(self.axes)
        if self.coupled:
            # Cov f(x) = diag k_j(x, x) - W(x)ᵀ W(x)
            parts = whitened[0].reshape(-1, n_out, len(X))
            explained = np.einsum("ajn,akn->njk", parts, parts, optimize=True)
            return np.asarray(np.eye(n_out) * variances.T[:, None] - explained)
        # Cov f(x) = U diag(k_c(x, x) - |w_c(x)|²) Uᵀ. At data with almost no noise the difference
        # consists of rounding errors, which may be negative.
        squares = [np.einsum("an,an->n", W, W) for W in (whitened[k] for k in self.columns)]
        left = variances - squares
        left = np.maximum(left, np.finfo(float).eps * variances)
        return np.asarray(self.axes * left.T[:, None] @ self.axes.T)

    def joint_moments(self, X: Array) -> tuple[Array, Array]:
        """Return the mean, (n, n_out), and the covariance at all points, (n_out n, n_out n)."""
        return self.mean(X), self._of_outputs(self._reduced(X))

    def _of_outputs(self, blocks: Array) -> Array:
        """Return the covariance of all outputs from the covariances of the columns of f U."""
        if self.coupled:
            return np.asarray(blocks[0])
        # Cov(f_j(x_i), f_k(x_l)) = Σ_c U_jc S_c,il U_kc
        joint = np.einsum("jc,cil,kc->jikl", self.axes, blocks, self.axes, optimize=True)
        return np.asarray(joint.reshape(len(self.axes) * blocks.shape[1], -1))

    def joint_columns(self, X: Array) -> JointColumns:
        """Prepare the joint covariance at X, some of whose columns are computed at a time."""
        n_out = len(self.axes)
        n = len(X)
        # W = L⁻¹ k(X_train, X): the covariance is K - Wᵀ W.
        factors = counted(self.factors, "covariances", "output")
        whitened = [self._whitened_alone(X, factor) for factor in factors]
        starts = n * np.arange(n_out if self.coupled else 1)

        def at(rows: Ints) -> Array:
            """Return the columns of X[rows], in a block per output if outputs are independent."""
            columns = np.add.outer(starts, rows).ravel()
            covariances = []
            for factor, W in zip(self.factors, whitened, strict=True):
                # S(X, rows) = k(X, rows) - Wᵀ W(rows)
                of_prior = self._prior_covariance(X, X[rows], factor.output)
                covariances.append(of_prior - W.T @ W[:, columns])
            blocks = np.stack([covariances[k] for k in self.columns])
            return blocks if self._diagonal else self._of_outputs(blocks)[None]

        return self.mean(X), self._at_points(X, whitened), at

    def sample(self, X: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw functions at X (n, n_in), (n_samples, n, n_out); ValueError for too many points."""
        check_joint(X, len(self.axes) if self.coupled else 1)
        # Outputs are divided by the size of their prior, so that none is lost in rounding errors of
        # a larger one; powers of two change no digit.
        variances = self.prior.variances(X).max(axis=1)
        sizes = power_of_two(np.sqrt(variances))
        scales = (variances / sizes**2).reshape(1 if self.coupled else len(sizes), -1).max(axis=1)
        units = np.repeat(sizes, len(X)).reshape(len(scales), -1)
        # f U = E f U + R z, with R Rᵀ = S and z ~ N(0, I)
        blocks = counted(list(self._reduced(X)), "realisations", "output")
        roots = [
            unit[:, None] * covariance_root(block / unit[:, None] / unit, scale)
            for block, unit, scale in zip(blocks, units, scales, strict=True)
        ]
        noise = rng.standard_normal((n_samples, len(roots), len(roots[0])))
        latent = np.stack([noise[:, b] @ root.T for b, root in enumerate(roots)], axis=1)
        latent = latent.reshape(n_samples, -1, len(X)).swapaxes(1, 2)
        return np.asarray(self.mean(X) + latent @ self.axes.T)

    def log_density(self, X: Array, y: Array, noise: Array) -> Array:
        """Return log p(y_i | x_i, data), noise included.

        Args:
            X: Points, (n, n_in).
            y: Values, (n, n_out), NaN for missing values.
            noise: Covariance of the noise, (n_out, n_out) or (n, n_out, n_out), which may have
                further leading axes.

        Returns:
            (..., n, n_out) under diagonal noise of the data, else (..., n, 1), joint over outputs.
        """
        mean, covariances = self.moments(X)
        covariances = covariances + noise
        residuals = np.broadcast_to(y - mean, covariances.shape[:-1])
        missing = np.isnan(y)
        if self._diagonal:
            deviations = np.sqrt(np.einsum("...jj->...j", covariances))
            logs = norm.logpdf(residuals, scale=deviations)
            return np.asarray(np.where(missing, 0.0, logs))
        if missing.any():
            # The marginal density of present outputs: missing ones contribute N(0; 0, 1 / 2π) = 1.
            residuals = np.where(missing, 0.0, residuals)
            covariances = apart(covariances, missing, np.eye(y.shape[1]) / (2.0 * np.pi))
        # -½ (rᵀ Σ⁻¹ r + log |2π Σ|), with Σ = L Lᵀ and log |Σ| = 2 Σ_j log L_jj
        roots = np.linalg.cholesky(covariances)
        away = np.linalg.solve(roots, residuals[..., None])[..., 0]
        logs = log_diagonal(roots) + 0.5 * np.log(2.0 * np.pi)
        return np.asarray(np.sum(-0.5 * np.square(away) - logs, axis=-1, keepdims=True))

    def _reduced(self, X: Array) -> Array:
        """Return the posterior covariance of each column of f U, or one for all if coupled."""
        blocks = []
        for factor in counted(self.factors, "joint covariance", "output"):
            # S = K - Wᵀ W
            W = self._whitened_alone(X, factor)
            blocks.append(self._prior_covariance(X, X, factor.output) - W.T @ W)
        return np.stack([blocks[k] for k in self.columns])
