"""Training of the ensembles of both examples: as in the published code, or as printed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

import bnn
from bnn.ensembles.weight_priors.low_rank import principal_directions
from bnn.priors.samplers import truncated_normal_hypercube
from figures.pipeline.settings import Ensembles, TrainingChoice
from prior_study.config import first_of_workers

# The data of both examples are already scaled, and the prior points span twice the range (Alg. 3).
UNSCALED = bnn.Scaling(inputs=None, outputs=None)
PRIOR_RANGE = 2.0


@dataclass(frozen=True)
class Procedure:
    """Differences of the published code from the printed algorithms, which are the default."""

    bias_correction: bool | Literal["first"] = True  # of Adam; "first": for the first network only
    workers: int = 1  # processes that pre-train, each with an optimiser and thus a first network
    batch_sums: bool = False  # the loss of a step is the sum over its minibatch + the whole penalty
    own_points: bool = False  # each network has separate prior points; else they share them
    from_trained: bool = False  # weight priors come from the K trained networks only
    degrees_lost: int = 1  # Σ0⁺ = (K - degrees_lost) V S⁻² Vᵀ

    def adam(self, epochs: int) -> bnn.TrainingSettings:
        """Return the settings of the training loop."""
        return bnn.TrainingSettings(
            epochs, bias_correction=self.bias_correction, batch_sums=self.batch_sums
        )

    def pretraining(self, settings: Ensembles, epochs: int) -> bnn.Pretraining:
        """Return the settings for fitting networks to realisations of a functional prior."""
        return bnn.Pretraining(
            n_networks=settings.n_pretrained,
            n_points=settings.prior_points,
            range_factor=PRIOR_RANGE,
            training=replace(
                self.adam(epochs), bias_correction=self.corrected(settings.n_pretrained)
            ),
        )

    def corrected(self, count: int) -> bool | Literal["first"] | tuple[int, ...]:
        """Return which of `count` pre-trained networks have bias correction.

        With several workers the first network of each has it.
        """
        if self.workers == 1 or self.bias_correction != "first":
            return self.bias_correction
        return first_of_workers(count, self.workers)

    def points(self, settings: Ensembles, n_inputs: int, seed: int) -> np.ndarray | None:
        """Draw prior points of each network, (K, M, n_in); None if `bnn.pretrain` draws them."""
        if not self.own_points:
            return None
        rng = np.random.default_rng([seed, settings.n_pretrained])
        draws = range(settings.n_pretrained)
        return np.stack(
            [truncated_normal_hypercube(settings.prior_points, n_inputs, rng) for _ in draws]
        )

    def learnt_from(self, pretrained: bnn.Pretrained, n_members: int) -> bnn.Pretrained:
        """Return the networks to which the weight prior of the first n_members is fitted."""
        return pretrained.select(range(n_members)) if self.from_trained else pretrained

    def low_rank(self, pretrained: bnn.Pretrained) -> bnn.LowRankGaussian:
        """Return the density of the pre-trained weights, which anchors the networks."""
        weights = pretrained.weights.astype(float)
        count = len(weights) + 1 - self.degrees_lost
        return bnn.LowRankGaussian(weights.mean(axis=0), *principal_directions(weights), count)


PROCEDURES: Mapping[TrainingChoice, Procedure] = {
    "published": Procedure(
        bias_correction="first",
        batch_sums=True,
        own_points=True,
        from_trained=True,
        degrees_lost=2,
    ),
    "proper": Procedure(),
}
