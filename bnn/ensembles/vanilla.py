"""Vanilla ensemble, Algorithm 1 of the paper: the function and the scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from bnn._seeding import RandomState, seed_sequence
from bnn._settings import Settings
from bnn._validation import (
    MOST_NETWORKS,
    Array,
    as_data,
    check_count,
    check_kind,
    check_option,
    filled,
)
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.ensembles.members import Members, Task, random_starts, train_to_data
from bnn.ensembles.training_data import TrainingData
from bnn.networks.architecture import Architecture
from bnn.noise import RESAMPLINGS, Noise
from bnn.scaling import Scaling, scaler_of, warn_far
from bnn.storage import storable
from bnn.training.settings import TrainingSettings

NETWORK = Architecture()
TRAINING = TrainingSettings(epochs=400)
SCALING = Scaling()


def train_vanilla(
    X: Array,
    y: Array,
    *,
    noise: Noise | str | None = None,
    noise_std: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_members: int = 30,
    resampling: str = "likelihood",
    network: Architecture = NETWORK,
    training: TrainingSettings = TRAINING,
    scaling: Scaling = SCALING,
    device: str = "cpu",
    random_state: RandomState = None,
) -> Members:
    """Train networks from random initial weights, each on separately resampled data.

    Args:
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation(s) in the units of y, Σ_noise (n_out, n_out), or a
            HeteroscedasticNoise. None or "constant" estimates constant standard deviations from the
            evidence of the data; "heteroscedastic" estimates a HeteroscedasticNoise.
        noise_std: Known standard deviation of the noise of each datum, (N,) or (N, n_out). It is
            the whole noise if `noise` is None; otherwise `noise` is added to it.
        sample_weight: Weights of the data, (N,). The variances of `noise` are divided by them. Rows
            of weight zero are left out.
        n_members: Number of members, K.
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        network: Hidden layers, activation and initial weights.
        training: Number of epochs, 400 by default, and settings of Adam.
        scaling: Bounds of inputs and outputs.
        device: "cpu" or "cuda".
        random_state: Seed.

    Returns:
        The members.

    Raises:
        ValueError: If an argument is invalid.
        DivergenceError: If the weights of fewer than two members stayed finite.

    Warns:
        BoundsWarning: If data lie far outside the bounds that scale them.
        NoiseWarning: If the noise exceeds the scatter of the data.

    Source: Algorithm 1 of the paper.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> brief = bnn.TrainingSettings(epochs=5)
        >>> network = bnn.Architecture((8, 8))
        >>> bnn.train_vanilla(X, y, noise=0.05, n_members=3, network=network, training=brief)
        Members(3 networks of widths (1, 8, 8, 1))
    """
    X, y = as_data(X, y)
    check_kind("scaling", scaling, Scaling)
    scales = isinstance(scaling.outputs, str)
    data = TrainingData.checked(X, y, noise, noise_std, sample_weight, scales_outputs=scales)
    return _train_vanilla(
        data, n_members, resampling, network, training, scaling, device, random_state
    )


def _train_vanilla(
    data: TrainingData,
    n_members: int,
    resampling: str,
    network: Architecture,
    training: TrainingSettings,
    scaling: Scaling,
    device: str,
    random_state: RandomState,
) -> Members:
    """Train as `train_vanilla` on checked data."""
    check_count("n_members", n_members, 2, MOST_NETWORKS)
    check_option("resampling", resampling, RESAMPLINGS)
    check_kind("network", network, Architecture)
    check_kind("training", training, TrainingSettings)
    X = data.X
    y = filled(data.y)
    mlp = network.mlp(X.shape[1], y.shape[1])
    seeds = seed_sequence(random_state)
    scaler = scaler_of("scaling.inputs", scaling.inputs, X, X.shape[1])
    output_scaler = scaler_of("scaling.outputs", scaling.outputs, y, y.shape[1])
    warn_far("scaling.inputs", scaler, X)
    warn_far("scaling.outputs", output_scaler, y)
    noise, covariances = data.noise_of_training()
    of_rows = None if data.data_noise is None else covariances
    task = Task(mlp, X, data.targets, scaler, output_scaler, noise, resampling, seeds, of_rows)
    start = random_starts(mlp, n_members, seeds, network.init)
    return train_to_data(task, start, training, device)


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class VanillaEnsemble(EnsembleRegressor):
    """Deep ensemble: networks with independent initial weights and resampled data.

    Args:
        n_members: Number of members, K.
        noise: Standard deviation(s) in the units of y, Σ_noise (n_out, n_out), or a
            HeteroscedasticNoise. None or "constant" estimates constant standard deviations from the
            evidence of the data; "heteroscedastic" estimates a HeteroscedasticNoise.
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        network: Hidden layers, activation and initial weights; None is Architecture().
        training: Training on the data; None is TrainingSettings(epochs=400).
        scaling: Bounds of inputs and outputs; None is Scaling(), the ranges of the data.
        device: "cpu" or "cuda".
        random_state: Seed.

    Attributes:
        members_: The trained networks, a bnn.Members.

    Source: Algorithm 1 of the paper.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.VanillaEnsemble(n_members=3, noise=0.05, random_state=0)
        >>> model.set_params(network__hidden=(8, 8), training__epochs=20).fit(X, y).predict(X).shape
        (12,)
    """

    n_members: int = 30
    noise: Noise | str | None = None
    resampling: str = "likelihood"
    network: Architecture | None = None
    training: TrainingSettings | None = None
    scaling: Scaling | None = None
    device: str = "cpu"
    random_state: RandomState = None

    group_defaults: ClassVar[dict[str, Settings]] = {
        "network": NETWORK,
        "training": TRAINING,
        "scaling": SCALING,
    }

    def _trained(self, data: TrainingData, keep_prior: bool) -> Members:  # noqa: ARG002
        return _train_vanilla(
            data,
            self.n_members,
            self.resampling,
            self.group("network"),
            self.group("training"),
            self.group("scaling"),
            self.device,
            self.random_state,
        )
