"""Covariance of a functional prior at some points, and its realisations continued to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from sklearn.covariance import ledoit_wolf

from bnn._seeding import RandomState, member_generators, seed_sequence, spawn
from bnn._validation import Array
from bnn.function_priors.conditioning import output_vectors
from bnn.function_priors.gaussian_process import GaussianProcessPrior
from bnn.function_priors.means import RandomMean
from bnn.function_priors.samplers import FunctionalPrior, TablePrior, draw_realisations


def sample_covariance(values: Array) -> Array:
    """Estimate the covariance of realisations (R, n, n_out).

    It is shrunk towards a diagonal matrix with one variance an output, which may differ by orders
    of magnitude in the user's units.

    Returns:
        One block, (1, n_out n, n_out n).

    Source: Ledoit & Wolf (2004).
    """
    scales = np.sqrt(values.var(axis=0).mean(axis=0))
    scales[scales == 0.0] = 1.0
    shrunk = ledoit_wolf(output_vectors(values / scales))[0]
    factors = np.repeat(scales, values.shape[1])
    return (shrunk * np.outer(factors, factors))[None]


def prior_covariance(
    prior: FunctionalPrior, X: Array, n_realisations: int, random_state: RandomState = None
) -> Array:
    """Return the covariance C of a functional prior at some points.

    Args:
        prior: A Gaussian process has its kernels', plus the sample covariance of a random mean;
            its bounds are left out. Any other prior is sampled.
        X: (n, n_in).
        n_realisations: Drawn where there is no closed form; a table gives no more than it has.
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
    return (block_diag(*blocks) + np.cov(means, rowvar=False))[None]


@dataclass(frozen=True)
class DrawnPrior:
    """A functional prior of which some realisations were drawn for pre-training.

    Attributes:
        prior: The prior.
        X: Points where they were drawn, (m, n_in).
        n_samples: How many.
        seeds: The seed they were drawn with.
        networks: X (n, n_in) → what the pre-trained networks, that stayed finite, made of them,
            (K, n, n_out). They stand in for a table without interpolation, which does not say what
            happens between its points.
    """

    prior: FunctionalPrior
    X: Array
    n_samples: int
    seeds: np.random.SeedSequence
    networks: Callable[[Array], Array]

    @property
    def only_tabulated(self) -> bool:
        """Whether the prior cannot be evaluated but at its own points."""
        return isinstance(self.prior, TablePrior) and self.prior.interpolation is None

    @property
    def bounds(self) -> Array:
        """Bounds of a Gaussian process, (2, 1 or n_out), infinite ones for any other prior."""
        if not isinstance(self.prior, GaussianProcessPrior):
            return np.array([[-np.inf], [np.inf]])
        infinite = np.full((2, self.prior.n_outputs), [[-np.inf], [np.inf]])
        return np.stack([self.prior.clip(infinite[0]), self.prior.clip(infinite[1])])

    def at(self, X: Array, members: Array, centred: bool) -> Array:
        """Continue some of the realisations to other points.

        A Gaussian process is conditioned on what was drawn; bounds are left out. Any other prior
        is drawn with the same seed: the same realisation where its random parameters do not depend
        on the points, and an independent one elsewhere, which costs iterations but no correctness.

        Args:
            X: (n, n_in).
            members: Which ones, by number.
            centred: Whether those of a Gaussian process with a fixed mean are shifted to have it.

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
            values += self.prior.mean_values(X) - values.mean(axis=0)
        return values

    def covariance(self, X: Array, n_realisations: int, random_state: RandomState = None) -> Array:
        """Return the blocks of C, see prior_covariance; a table has that of its networks."""
        if self.only_tabulated:
            return sample_covariance(self.networks(X))
        return prior_covariance(self.prior, X, n_realisations, random_state)
