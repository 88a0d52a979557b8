"""Gaussian conditioning: posterior moments and realisations of a Gaussian f given noisy data.

With prior mean m and covariance C of f(X), and data ỹ = H f + ε with ε ~ N(0, Σ_noise), where H
picks the data among the points X, the posterior has

    gain G = C Hᵀ (H C Hᵀ + Σ_noise)⁻¹,   mean m + G (ỹ - H m),   covariance S = C - G H C.

Matheron's rule f* = g + G (ỹ - H g) turns a prior realisation g and perturbed data ỹ into a
posterior realisation f*. By completing the square, the objective of `anchor_functions` is
(f - f*)(X)ᵀ S⁻¹ (f - f*)(X) plus a constant.

Entry j n + i of a vector is point i of output j. Matrices are given by their diagonal blocks,
(n_out, n, n) for independent outputs and (1, n_out n, n_out n) for dependent ones.

Source: Rasmussen & Williams (2006), equations 2.22 to 2.24 and 2.30.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, solve_triangular

from bnn._validation import Array


def output_vectors(values: Array) -> Array:
    """Lay values (K, n, n_out) out as vectors, (K, n_out n)."""
    return np.swapaxes(values, 1, 2).reshape(len(values), -1)


def scaled_blocks(blocks: Array, scales: Array) -> Array:
    """Divide the diagonal blocks of a covariance by the scales (n_out,) of the outputs."""
    size = blocks.shape[0] * blocks.shape[1]
    factors = np.repeat(scales, size // len(scales)).reshape(len(blocks), -1)
    return blocks / (factors[:, :, None] * factors[:, None, :])


def squared_distance(differences: Array, blocks: Array) -> Array:
    """Return vᵀ C⁻¹ v, (K,), of differences v (K, n, n_out) and diagonal blocks of C (B, m, m)."""
    vectors = output_vectors(differences).reshape(len(differences), len(blocks), -1)
    pairs = zip(np.linalg.cholesky(blocks), vectors.swapaxes(0, 1), strict=True)
    whitened = np.array([solve_triangular(R, v.T, lower=True) for R, v in pairs])
    distances: Array = np.square(whitened).sum(axis=(0, 1))
    return distances


def check_nugget(nugget: float, blocks: Array, n_outputs: int) -> None:
    """Refuse a nugget δ of a third of the prior's standard deviation or more, for some output."""
    deviations = np.sqrt(np.diagonal(blocks, axis1=1, axis2=2).reshape(n_outputs, -1).mean(axis=1))
    j = deviations.argmin()
    if deviations[j] < 3.0 * nugget:
        raise ValueError(
            f"nugget = {nugget}: must be below a third of the prior's standard deviation, "
            f"{deviations[j]:.2g} for output {j} in the networks' units; output_bounds scales these"
        )


class NoisyData:
    """H C Hᵀ + Σ_noise, factorised, from blocks of H C Hᵀ, which diagonal noise leaves apart."""

    def __init__(self, blocks: Array, noise: Array) -> None:
        n_data = blocks.shape[0] * blocks.shape[1] // len(noise)
        variances, identity = np.diag(noise), np.eye(n_data)
        self.apart = len(blocks) == len(noise) and np.array_equal(noise, np.diag(variances))
        each = variances[:, None, None] * identity
        noises = each if self.apart else np.kron(noise, identity)[None]
        self._factors = [cho_factor(block) for block in self.arranged(blocks) + noises]

    def arranged(self, blocks: Array) -> Array:
        """Join blocks into one where the noise couples the outputs."""
        return blocks if self.apart else block_diag(*blocks)[None]

    def solve(self, values: Array) -> Array:
        """Return (H C Hᵀ + Σ_noise)⁻¹ v by blocks, for v (B, p, k)."""
        pairs = zip(self._factors, values, strict=True)
        return np.stack([cho_solve(factor, v) for factor, v in pairs])

    def gains(self, cross: Array) -> Array:
        """Return G by blocks, (B, m, p), for the arranged blocks of C Hᵀ (B, m, p)."""
        return self.solve(cross.swapaxes(1, 2)).swapaxes(1, 2)

    def log_density(self, residual: Array) -> float:
        """Return log N(ỹ - H m; 0, H C Hᵀ + Σ_noise) of a residual ỹ - H m (N, n_out)."""
        blocks = output_vectors(residual[None]).reshape(len(self._factors), -1, 1)
        quadratic = np.sum(blocks * self.solve(blocks))
        log_determinant = 2.0 * sum(np.log(np.diag(factor)).sum() for factor, _ in self._factors)
        return float(-0.5 * (quadratic + log_determinant + residual.size * np.log(2.0 * np.pi)))


@dataclass(frozen=True)
class Conditioning:
    """The affine map from prior realisations to posterior ones at the points X."""

    gains: Array  # G by blocks, (B, m, p), for p data in a block
    covariance: Array  # S by blocks, (B, m, m)

    @classmethod
    def of(cls, prior_blocks: Array, noise: Array, n_data: int) -> Self:
        """Condition a prior with the blocks of C on the first N = n_data points."""
        outputs = len(noise) // len(prior_blocks)  # in each block
        n = prior_blocks.shape[1] // outputs
        data = (np.arange(outputs)[:, None] * n + np.arange(n_data)).ravel()
        cross = prior_blocks[:, :, data]
        return cls.given(NoisyData(cross[:, data], noise), cross, prior_blocks)

    @classmethod
    def given(cls, data: NoisyData, cross: Array, prior_blocks: Array) -> Self:
        """Condition on factorised data, with the blocks of C Hᵀ (cross) and of C (prior)."""
        cross = data.arranged(cross)
        gains = data.gains(cross)
        return cls(gains, data.arranged(prior_blocks) - gains @ cross.swapaxes(1, 2))

    def apply(self, realisations: Array, targets: Array) -> Array:
        """Return f*, (K, n, n_out), of realisations g, data first, and targets ỹ (K, N, n_out)."""
        return realisations + self.correction(targets - realisations[:, : targets.shape[1]])

    def correction(self, misfit: Array) -> Array:
        """Return G v at X, (K, n, n_out), for v (K, N, n_out)."""
        K, _, n_out = misfit.shape
        by_block = output_vectors(misfit).reshape(K, len(self.gains), -1)
        correction: Array = np.einsum("bmp,kbp->kbm", self.gains, by_block, optimize=True)
        return correction.reshape(K, n_out, -1).swapaxes(1, 2)
