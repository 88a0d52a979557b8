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
from scipy.stats import qmc
from sklearn.covariance import ledoit_wolf

from bnn.gaussian_processes import GaussianProcessPrior, RandomMean
from bnn.priors import FunctionalPrior, draw_realisations
from bnn.seeding import RandomState, derived, generator, member_generators, seed_sequence


def uniform_points(n: int, n_features: int, random_state: RandomState = None) -> np.ndarray:
    """Draw a Latin hypercube in [-1, 1]^n_features, (n, n_features)."""
    return 2.0 * qmc.LatinHypercube(n_features, seed=generator(random_state)).random(n) - 1.0


def output_vectors(values: np.ndarray) -> np.ndarray:
    """Lay values (K, n, n_out) out as vectors, (K, n_out n)."""
    return np.swapaxes(values, 1, 2).reshape(len(values), -1)


def sample_covariance(values: np.ndarray) -> np.ndarray:
    """Estimate the covariance of realisations (R, n, n_out), shrunk towards a multiple of I.

    Returns:
        One block, (1, n_out n, n_out n).

    Source: Ledoit & Wolf (2004).
    """
    return ledoit_wolf(output_vectors(values))[0][None]


def prior_covariance(
    prior: FunctionalPrior, X: np.ndarray, n_realisations: int, random_state: RandomState = None
) -> np.ndarray:
    """Return the covariance C of a functional prior at some points.

    Args:
        prior: A Gaussian process has its kernels', plus the sample covariance of a random mean;
            its bounds are left out. Any other prior is sampled.
        X: (n, n_in).
        n_realisations: Drawn where there is no closed form.
        random_state: Seed of these.

    Returns:
        Diagonal blocks of C, (n_out, n, n), or one block (1, n_out n, n_out n).
    """
    seeds = seed_sequence(random_state)
    if not isinstance(prior, GaussianProcessPrior):
        return sample_covariance(draw_realisations(prior, X, n_realisations, seeds))
    blocks = np.stack([prior.covariance(X, X, j) for j in range(prior.n_outputs)])
    if not isinstance(prior.mean, RandomMean):
        return blocks
    generators = member_generators(derived(seeds, 0), n_realisations)
    means = output_vectors(np.stack([prior.mean_values(X, rng) for rng in generators]))
    return (block_diag(*blocks) + np.cov(means, rowvar=False))[None]


def squared_distance(differences: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Return vᵀ C⁻¹ v of differences v (K, n, n_out), (K,).

    Args:
        differences: (K, n, n_out).
        blocks: Diagonal blocks of C, (B, m, m), positive definite.
    """
    vectors = output_vectors(differences).reshape(len(differences), len(blocks), -1)
    roots = np.linalg.cholesky(blocks)
    whitened = [
        solve_triangular(R, v.T, lower=True)
        for R, v in zip(roots, vectors.swapaxes(0, 1), strict=True)
    ]
    return np.square(whitened).sum(axis=(0, 1))


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
