"""Covariance of a functional prior at given points, and realisations continued to these points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from sklearn.covariance import ledoit_wolf

from bnn._seeding import RandomState, member_generators, seed_sequence, spawn
from bnn._validation import Array, Ints
from bnn.function_priors.conditioning import output_vectors
from bnn.function_priors.gaussian_process import GaussianProcessPrior
from bnn.function_priors.means import RandomMean
from bnn.function_priors.samplers import FunctionalPrior, TablePrior, draw_realisations


def sample_covariance(values: Array) -> Array:
    """Estimate a covariance from realisations.

    The estimate is shrunk towards a diagonal matrix with one variance for each output, since
    variances of outputs may differ by orders of magnitude in the user's units.

    Args:
        values: Realisations, (R, n, n_out).

    Returns:
        The covariance as one block, (1, n_out n, n_out n).

    Source: Ledoit & Wolf (2004).
    """
    scales = np.sqrt(values.var(axis=0).mean(axis=0))
    scales[scales == 0.0] = 1.0
    shrunk: Array = ledoit_wolf(output_vectors(values / scales))[0]
    factors = np.repeat(scales, values.shape[1])
    covariance: Array = shrunk * np.outer(factors, factors)
    return covariance[None]


def prior_covariance(
    prior: FunctionalPrior, X: Array, n_realisations: int, random_state: RandomState = None
) -> Array:
    """Return the covariance C of a functional prior at given points.

    The covariance of a Gaussian process is the one of its kernels, plus the sample covariance of a
    random mean; bounds are left out. That of any other prior is estimated from realisations.

    Args:
        prior: The prior.
        X: (n, n_in).
        n_realisations: Number of realisations where there is no closed form; from a table, no more
            than the table has.
        random_state: Seed of these.

    Returns:
        Diagonal blocks of C, (n_out, n, n), or one block (1, n_out n, n_out n).
    """
    seeds = seed_sequence(random_state)
    if isinstance(prior, TablePrior):  # repeated rows would count as independent ones
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


@dataclass(frozen=True)
class DrawnPrior:
    """A functional prior, and how its realisations were drawn for pre-training.

    Attributes:
        prior: The prior.
        X: Points at which the realisations were drawn, (m, n_in).
        n_samples: Number of realisations.
        seeds: Seed with which they were drawn.
        networks: X (n, n_in) → values of the pre-trained networks that stayed finite,
            (K, n, n_out). They replace a table without interpolation, which has no values between
            its points.
    """

    prior: FunctionalPrior
    X: Array
    n_samples: int
    seeds: np.random.SeedSequence
    networks: Callable[[Array], Array]

    @property
    def only_tabulated(self) -> bool:
        """Whether the prior can be evaluated at its own points only."""
        return isinstance(self.prior, TablePrior) and self.prior.interpolation is None

    @property
    def bounds(self) -> Array:
        """Bounds of a Gaussian process, (2, 1 or n_out), infinite ones for any other prior."""
        if not isinstance(self.prior, GaussianProcessPrior):
            return np.array([[-np.inf], [np.inf]])
        infinite = np.full((2, self.prior.n_outputs), [[-np.inf], [np.inf]])
        return np.stack([self.prior.clip(infinite[0]), self.prior.clip(infinite[1])])

    def at(self, X: Array, members: Ints, centred: bool) -> Array:
        """Continue some of the realisations to other points.

        A Gaussian process is conditioned on what was drawn; bounds are left out. Any other prior
        is drawn again with the same seed. That gives the same realisation if the prior's random
        parameters do not depend on the points, and an independent one otherwise, which costs
        iterations but stays correct.

        Args:
            X: (n, n_in).
            members: Numbers of the realisations.
            centred: Whether realisations of a Gaussian process with a fixed mean are shifted so
                that their average is that mean.

        Returns:
            Realisations, (len(members), n, n_out).
        """
        if self.only_tabulated:
            return self.networks(X)[: len(members)]
        if not isinstance(self.prior, GaussianProcessPrior):
            return draw_realisations(self.prior, X, self.n_samples, self.seeds)[members]
        unbounded = replace(self.prior, bounds=(None, None))
        values = unbounded.extend(X, self.X, self.n_samples, self.seeds)[members]
        if centred and not isinstance(self.prior.mean, RandomMean):
            values = values + (self.prior.mean_values(X) - values.mean(axis=0))
        return values

    def covariance(self, X: Array, n_realisations: int, random_state: RandomState = None) -> Array:
        """Return prior_covariance, of the networks where the prior is only tabulated."""
        if self.only_tabulated:
            return sample_covariance(self.networks(X))
        return prior_covariance(self.prior, X, n_realisations, random_state)
