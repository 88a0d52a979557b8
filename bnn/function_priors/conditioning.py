"""Functional anchoring: prior realisations conditioned on perturbed data, in closed form.

The objective of member k with its prior realisation g and perturbed data ỹ,

    Σ_i (ỹ_i - f(x_i))ᵀ Σ_noise⁻¹ (ỹ_i - f(x_i)) + (f - g)(X)ᵀ C⁺ (f - g)(X),

is, completing the square, (f - f*)(X)ᵀ S⁻¹ (f - f*)(X) plus a constant, with

    f* = g + C Hᵀ (H C Hᵀ + Σ_noise)⁻¹ (ỹ - H g),   S = C - C Hᵀ (H C Hᵀ + Σ_noise)⁻¹ H C,

where H picks the data among the points X. f* is Matheron's rule, and S the posterior covariance.
Entry j n + i of a vector is point i of output j; the data are the first of the points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, solve_triangular


def output_vectors(values: np.ndarray) -> np.ndarray:
    """Lay values (K, n, n_out) out as vectors, (K, n_out n)."""
    return np.swapaxes(values, 1, 2).reshape(len(values), -1)


def scaled_blocks(blocks: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Divide a covariance by the scales of the outputs.

    Args:
        blocks: Its diagonal blocks, (n_out, n, n) or (1, n_out n, n_out n).
        scales: (n_out,).

    Returns:
        The blocks in scaled units.
    """
    size = blocks.shape[0] * blocks.shape[1]
    factors = np.repeat(scales, size // len(scales)).reshape(len(blocks), -1)
    return blocks / (factors[:, :, None] * factors[:, None, :])


def squared_distance(differences: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Return vᵀ C⁻¹ v of differences, (K,).

    Args:
        differences: v, (K, n, n_out).
        blocks: Diagonal blocks of C, (B, m, m), positive definite.
    """
    vectors = output_vectors(differences).reshape(len(differences), len(blocks), -1)
    pairs = zip(np.linalg.cholesky(blocks), vectors.swapaxes(0, 1), strict=True)
    return np.square([solve_triangular(R, v.T, lower=True) for R, v in pairs]).sum(axis=(0, 1))


def check_nugget(nugget: float, blocks: np.ndarray, n_outputs: int) -> None:
    """Refuse a nugget beside which all functions of the prior are close to each other.

    Args:
        nugget: δ.
        blocks: Diagonal blocks of C, see scaled_blocks.
        n_outputs: Number of outputs.

    Raises:
        ValueError: If it is a third of the prior's standard deviation, or more, for some output.
    """
    deviations = np.sqrt(np.diagonal(blocks, axis1=1, axis2=2).reshape(n_outputs, -1).mean(axis=1))
    j = deviations.argmin()
    if deviations[j] < 3.0 * nugget:
        raise ValueError(
            f"nugget = {nugget}: must be below a third of the prior's standard deviation, "
            f"{deviations[j]:.2g} for output {j} in the networks' units; output_bounds scales these"
        )


@dataclass(frozen=True)
class Conditioning:
    """The affine map from prior realisations to posterior ones at the points X.

    Attributes:
        gains: C Hᵀ (H C Hᵀ + Σ_noise)⁻¹ by blocks, (B, m, p) with p data a block.
        covariance: S by blocks, (B, m, m).
    """

    gains: np.ndarray
    covariance: np.ndarray

    @classmethod
    def of(cls, prior_blocks: np.ndarray, noise: np.ndarray, n_data: int) -> Conditioning:
        """Condition on the first n_data points.

        Args:
            prior_blocks: C, (n_out, n, n) or (1, n_out n, n_out n).
            noise: Σ_noise, (n_out, n_out), in the same units.
            n_data: N.

        Returns:
            The map. Blocks stay apart while Σ_noise is diagonal.
        """
        n_outputs = len(noise)
        if len(prior_blocks) == n_outputs and np.array_equal(noise, np.diag(np.diag(noise))):
            noises = [variance * np.eye(n_data) for variance in np.diag(noise)]
            data = np.arange(n_data)
        else:
            prior_blocks = block_diag(*prior_blocks)[None]
            noises = [np.kron(noise, np.eye(n_data))]
            n = prior_blocks.shape[1] // n_outputs
            data = (np.arange(n_outputs)[:, None] * n + np.arange(n_data)).ravel()
        gains, covariances = [], []
        for C, variance in zip(prior_blocks, noises, strict=True):
            cross = C[:, data]
            gains.append(cho_solve(cho_factor(cross[data] + variance), cross.T).T)
            covariances.append(C - gains[-1] @ cross.T)
        return cls(np.stack(gains), np.stack(covariances))

    def apply(self, realisations: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return f*, (K, n, n_out).

        Args:
            realisations: g at X, the data first, (K, n, n_out).
            targets: ỹ, (K, N, n_out).
        """
        K, n, n_out = realisations.shape
        misfit = output_vectors(targets - realisations[:, : targets.shape[1]])
        by_block = misfit.reshape(K, len(self.gains), -1)
        correction = np.einsum("bmp,kbp->kbm", self.gains, by_block, optimize=True)
        return realisations + correction.reshape(K, n_out, n).swapaxes(1, 2)
