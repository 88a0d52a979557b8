"""Training and scores of vanilla and anchored ensembles on one draw."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds

import bnn
from bnn.evaluation.metrics import elppd_gaussian
from figures.composite import problem
from figures.composite.draws import Draw, load_draws
from figures.composite.reference import Reference
from figures.composite.scores import LOG_UNITS, SMALLEST_SPREAD, MethodScores, scores
from figures.materials_surrogate.surrogate import HIDDEN
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.profiles import load_profile
from figures.pipeline.settings import Ablation
from figures.pipeline.training import PRIOR_RANGE, UNSCALED
from figures.scores import Number

VANILLA = "vanilla"
ANCHORED = "anchored"
METHODS = (VANILLA, ANCHORED)
BOUNDS = "bounds"  # scaling by the ranges of the paper
DATA = "data"  # scaling by the ranges of the training RVEs


class Choice(NamedTuple):
    """Choices that are independent of anchoring and are needed for every ensemble."""

    resampling: str  # of the training RVEs, as in `bnn.Anchoring`
    scaling: str  # BOUNDS or DATA

    @property
    def name(self) -> str:
        """Name in metrics files."""
        return f"{self.resampling}_{self.scaling}"

    @property
    def label(self) -> str:
        """Name in tables and figures."""
        return f"{self.resampling} resampling, scaled by {self.scaling}"


PUBLISHED = Choice("bootstrap", BOUNDS)
CHOICES = (
    PUBLISHED,
    Choice("likelihood", BOUNDS),
    Choice("bootstrap", DATA),
    Choice("likelihood", DATA),
)


def load_training_draws(settings: Ablation) -> list[Draw]:
    """Load the draws that come with the package, with the training sets of a profile."""
    draws = load_draws(SHIPPED_TABLES, load_profile("full"))
    return [
        Draw(draw.test, {name: draw.cases[name][: c.count] for name, c in settings.cases.items()})
        for draw in draws
    ]


@dataclass(frozen=True)
class EnsembleScores(MethodScores[Number]):
    """Scores at single test RVEs, and of f compared with means over microstructures."""

    elppd_normal: Number | None = None  # of the normal density with the members' moments and noise
    reference_rmse: Number | None = None
    reference_coverage: Number | None = None  # of the 95 % intervals of f
    spread: Number | None = None  # standard deviation of f, mean over inputs and outputs, scaled


def judge(
    members: bnn.Members, test: problem.Samples, reference: Reference
) -> EnsembleScores[float]:
    """Return the scores of an ensemble."""
    noise = problem.noise_std()
    samples = members.sample(test.X)
    normal = normal_density(samples, test.y)
    f = members.sample(reference.X)
    against_reference = reference.scores(f.mean(axis=0), f.std(axis=0))
    return EnsembleScores(
        **vars(scores(samples, test.y, noise)),
        elppd_normal=normal - len(test) * LOG_UNITS,
        reference_rmse=against_reference["reference_rmse"],
        reference_coverage=against_reference["reference_coverage"],
        spread=float(f.std(axis=0).mean()),
    )


def normal_density(samples: np.ndarray, observed: np.ndarray) -> float:
    """Return the normal log density of observed outputs, from moments of samples (K, n, n_out).

    The noise is included.
    """
    mean = samples.mean(axis=0)
    std = np.maximum(samples.std(axis=0), SMALLEST_SPREAD)
    return elppd_gaussian(observed, mean, std, problem.noise_std())


def scaling_by(name: str, train: problem.Samples) -> bnn.Scaling:
    """Return the scaling of networks: none, as data are scaled by BOUNDS, or the RVEs' ranges."""
    if name == BOUNDS:
        return UNSCALED
    inputs, outputs = (bnn.BoundsScaler.fit(values) for values in (train.X, train.y))
    return bnn.Scaling(Bounds(inputs.low, inputs.high), Bounds(outputs.low, outputs.high))


@dataclass(frozen=True)
class Trainer:
    """Trains ensembles of the sizes of a profile with one seed."""

    settings: Ablation
    seed: int

    def of_size(self, n_members: int) -> "Trainer":
        """Return a trainer for another number of networks."""
        return replace(self, settings=self.settings.model_copy(update={"n_members": n_members}))

    def pretrain(
        self,
        prior: bnn.GaussianProcessPrior,
        scaling: bnn.Scaling = UNSCALED,
        count: int | None = None,
        hidden: tuple[int, ...] = HIDDEN,
    ) -> bnn.Pretrained:
        """Pre-train networks to a prior (Algorithm 3)."""
        return bnn.pretrain(
            prior,
            n_features=len(problem.INPUT_LABELS),
            network=bnn.Architecture(hidden),
            settings=bnn.Pretraining(
                n_networks=count or self.settings.n_pretrained,
                n_points=self.settings.prior_points,
                range_factor=PRIOR_RANGE,
                training=bnn.TrainingSettings(epochs=self.settings.pretrain_epochs),
            ),
            scaling=scaling,
            random_state=self.seed,
        )

    def anchor(
        self,
        networks: bnn.Pretrained,
        train: problem.Samples,
        resampling: str = PUBLISHED.resampling,
        epochs: int | None = None,
        **anchoring: Any,
    ) -> bnn.Members:
        """Train pre-trained networks on data (Algorithm 2)."""
        return bnn.train_anchored(
            networks,
            train.X,
            train.y,
            noise=problem.noise_std(),
            n_members=min(self.settings.n_members, len(networks.weights)),
            training=bnn.TrainingSettings(epochs=epochs or self.settings.epochs),
            anchoring=bnn.Anchoring(resampling=resampling, **anchoring),
            random_state=self.seed,
        )

    def vanilla(
        self,
        train: problem.Samples,
        resampling: str = PUBLISHED.resampling,
        scaling: bnn.Scaling = UNSCALED,
        epochs: int | None = None,
        n_members: int | None = None,
        hidden: tuple[int, ...] = HIDDEN,
    ) -> bnn.Members:
        """Train networks on data from random initial weights (Algorithm 1)."""
        return bnn.train_vanilla(
            train.X,
            train.y,
            noise=problem.noise_std(),
            n_members=n_members or self.settings.n_members,
            resampling=resampling,
            network=bnn.Architecture(hidden),
            training=bnn.TrainingSettings(epochs=epochs or self.settings.epochs),
            scaling=scaling,
            random_state=self.seed,
        )
