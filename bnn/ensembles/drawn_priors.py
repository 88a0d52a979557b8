"""Covariance of a functional prior at given points, and its realisations continued to them."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from bnn._seeding import RandomState, generator, member_generators, seed_sequence, spawn
from bnn._validation import Array, Ints
from bnn.ensembles.conditioning import Conditioning, output_vectors
from bnn.gp.means import RandomMean
from bnn.gp.process import GaussianProcessPrior, covariance_root
from bnn.priors.function_prior import FunctionalPrior
from bnn.priors.samplers import TablePrior, draw_realisations
from bnn.scaling import BoundsScaler

# Added to the covariance where realisations were drawn, relative to the variance, so that it is
# invertible.
JITTER = 1e-8
_VARIANCES = np.logspace(-24.0, 0.0, 49)  # candidates for τ², for outputs of unit variance


def sample_covariance(values: Array) -> Array:
    """Estimate a covariance, (1, n_out n, n_out n), from realisations (R, n, n_out)."""
    if len(values) < 2:
        raise ValueError("prior: at least 2 realisations are needed to estimate a covariance")
    # Scale each output to unit variance, since the variances may differ by orders of magnitude.
    scales = np.sqrt(values.var(axis=0).mean(axis=0))
    scales[scales == 0.0] = 1.0
    vectors = output_vectors(values / scales)
    covariance = np.cov(vectors, rowvar=False)
    covariance[np.diag_indices_from(covariance)] += _held_out_variance(vectors)
    factors = np.repeat(scales, values.shape[1])
    scaled: Array = covariance * np.outer(factors, factors)
    return scaled[None]


def _held_out_variance(vectors: Array) -> float:
    """Choose τ² by cross-validation: Σ + τ² I from four fifths of the rows predicts the others."""
    # If the realisations span fewer directions than their number, τ² is about a rounding error.
    fold = np.arange(len(vectors)) % min(5, len(vectors))
    total = np.zeros(len(_VARIANCES))
    for i in range(fold.max() + 1):
        rest = vectors[fold != i]
        # Σ = Vᵀ diag(s² / (n - 1)) V of the other rows
        _, s, directions = np.linalg.svd(rest - rest.mean(axis=0), full_matrices=False)
        centred = vectors[fold == i] - rest.mean(axis=0)
        along = centred @ directions.T
        across = np.square(centred - along @ directions).sum()
        variances = s**2 / max(len(rest) - 1, 1) + _VARIANCES[:, None]
        n_across = vectors.shape[1] - len(s)
        # -2 log density: Σ_i a_i² / v_i + Σ_i log v_i with v_i = s_i² / (n - 1) + τ² along the rows
        # of V, and v = τ² in all orthogonal directions
        total += (np.square(along).sum(axis=0) / variances).sum(axis=1) + across / _VARIANCES
        total += len(along) * (np.log(variances).sum(axis=1) + n_across * np.log(_VARIANCES))
    return float(_VARIANCES[total.argmin()])


def prior_covariance(
    prior: FunctionalPrior, X: Array, n_realisations: int, random_state: RandomState = None
) -> Array:
    """Return the blocks of the covariance C at X, (n_out, n, n) or (1, n_out n, n_out n)."""
    seeds = seed_sequence(random_state)
    # If there is no closed form, C is estimated from realisations. Bounds are ignored.
    if isinstance(prior, TablePrior):
        # A row of the table that is drawn twice would count as two independent realisations.
        n_realisations = min(n_realisations, len(prior.values))
    if not isinstance(prior, GaussianProcessPrior):
        return sample_covariance(draw_realisations(prior, X, n_realisations, seeds))
    blocks = prior.covariances(X, X)
    if not isinstance(prior.mean, RandomMean):
        return blocks
    generators = member_generators(spawn(seeds, 0), n_realisations)
    means = output_vectors(np.stack([prior.mean_values(X, rng) for rng in generators]))
    covariance: Array = block_diag(*blocks) + np.cov(means, rowvar=False)
    return covariance[None]


def continued(
    prior: GaussianProcessPrior,
    X: Array,
    drawn_at: Array,
    n_samples: int,
    random_state: RandomState,
) -> Array:
    """Continue realisations that the prior drew at the points `drawn_at` to X; ignore bounds."""
    seeds = seed_sequence(random_state)
    K_XX = prior.covariances(X, X)
    K_XD = prior.covariances(X, drawn_at)
    K_DD = prior.covariances(drawn_at, drawn_at)
    jitter = JITTER * np.diagonal(K_XX, axis1=1, axis2=2).mean(axis=1)
    conditioning = Conditioning.from_blocks(K_DD, np.diag(jitter), K_XD, K_XX)
    # With the points D where the realisations g were drawn:
    # g(X) = m(X) + G (g - m)(D) + R z, with R Rᵀ = K(X, X) - G K(D, X) and z ~ N(0, I)
    values = conditioning.correction(prior.fluctuations(drawn_at, n_samples, seeds))
    for j, covariance in enumerate(conditioning.covariance):
        noise = generator(spawn(seeds, 2, j)).standard_normal((n_samples, len(X)))
        values[:, :, j] += noise @ covariance_root(covariance, K_XX[j].max()).T
    return values + prior.means(X, n_samples, seeds)


@dataclass(frozen=True)
class DrawnPrior:
    """A functional prior, with points and seed of the realisations that it drew in pre-training."""

    prior: FunctionalPrior
    X: Array  # points at which the realisations were drawn, (m, n_in)
    n_samples: int
    seeds: np.random.SeedSequence

    @property
    def bounds(self) -> Array:
        """Bounds of a Gaussian process, (2, 1 or n_out); infinite for other priors."""
        if not isinstance(self.prior, GaussianProcessPrior):
            return np.array([[-np.inf], [np.inf]])
        return self.prior.limits

    def at(self, X: Array, members: Ints, centred: bool) -> Array:
        """Continue the realisations of some members to X (n, n_in), (len(members), n, n_out)."""
        if not isinstance(self.prior, GaussianProcessPrior):
            # The seed gives the same realisations, if the random parameters of the prior do not
            # depend on the points. Otherwise they are independent ones: training needs more
            # iterations, but its result is still correct.
            return draw_realisations(self.prior, X, self.n_samples, self.seeds)[members]
        values = continued(self.prior, X, self.X, self.n_samples, self.seeds)[members]
        if centred and not isinstance(self.prior.mean, RandomMean):
            # Shift the realisations so that they average to the mean of the prior.
            values = values + (self.prior.mean_values(X) - values.mean(axis=0))
        return values

    def scaled_covariance(
        self, X: Array, scaler: BoundsScaler, n_realisations: int, random_state: RandomState
    ) -> Array:
        """Return the blocks of the covariance C at X, of outputs scaled to [-1, 1].

        For a prior without a kernel, C is estimated from n_realisations realisations.
        """
        C = prior_covariance(self.prior, X, n_realisations, random_state)
        # C_jk / (h_j h_k) with the half ranges h of the outputs
        scales = np.repeat(scaler.half_range, len(X)).reshape(len(C), -1)
        return np.asarray(C / (scales[:, :, None] * scales[:, None, :]))
