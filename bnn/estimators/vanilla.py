"""Vanilla ensemble, Algorithm 1 of the paper: the function and the scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnn._seeding import RandomState, seed_sequence
from bnn._validation import Array, as_data, check_count, check_integers, check_kind
from bnn.estimators.ensemble import EnsembleRegressor
from bnn.estimators.fitting import Task, random_starts, train_to_data
from bnn.estimators.members import Members
from bnn.networks.architecture import Architecture
from bnn.noise import Noise, noise_of_data
from bnn.scaling import Bounds, scaler_of, warn_far
from bnn.storage import storable
from bnn.training.settings import TrainingSettings

SETTINGS = TrainingSettings(epochs=400)


def train_vanilla(
    X: Array, y: Array, *, noise: Noise = 0.1, n_members: int = 30, resampling: str = "likelihood",
    hidden: Sequence[int] = (20, 20, 20, 20), activation: str = "leaky_relu",
    settings: TrainingSettings = SETTINGS, input_bounds: Bounds = "data",
    output_bounds: Bounds = "data", init: str = "glorot", device: str = "cpu",
    progress: bool = False, random_state: RandomState = None,
) -> Members:  # fmt: skip
    """Train networks from independent random starts, each to its own version of the data.

    Args:
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation(s), or Σ_noise (n_out, n_out), in the units of y; or a
            HeteroscedasticNoise.
        n_members: K.
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        settings: Of the training loop.
        input_bounds: Scaled to [-1, 1]: (low, high) for all columns, a pair for each, or SciPy's
            Bounds; "data" takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        init: "glorot" or "he".
        device: "cpu" or "cuda".
        progress: Whether to show a progress bar.
        random_state: Seed.

    Returns:
        The members.

    Raises:
        ValueError: If an argument is not admissible.
        DivergenceError: If fewer than two members stayed finite.

    Warns:
        BoundsWarning, NoiseWarning: If data do not fit the bounds or the noise.

    Source: Algorithm 1 of the paper.
    """
    X, y = as_data(X, y)
    check_count("n_members", n_members, 2)
    check_kind("settings", settings, TrainingSettings)
    check_integers("hidden", hidden, 1)
    architecture = Architecture((X.shape[1], *hidden, y.shape[1]), activation)
    seeds = seed_sequence(random_state)
    scaler = scaler_of("input_bounds", input_bounds, X, X.shape[1])
    output_scaler = scaler_of("output_bounds", output_bounds, y, y.shape[1])
    warn_far("input_bounds", scaler, X)
    warn_far("output_bounds", output_scaler, y)
    kept = noise_of_data(noise, X, y)
    task = Task(architecture, X, y, scaler, output_scaler, kept, resampling, seeds)
    start = random_starts(architecture, n_members, seeds, init)
    return train_to_data(task, start, settings, device, progress)


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class VanillaEnsemble(EnsembleRegressor):
    """Deep ensemble with resampled data and independent random starts.

    Args:
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        epochs: Training epochs.

    Attributes:
        members_: The trained networks, a bnn.Members.

    Source: Algorithm 1 of the paper.
    """

    resampling: str = "likelihood"
    epochs: int = 400

    def _trained(self, X: Array, y: Array) -> Members:
        settings, chosen = self._settings(self.epochs), self._arguments_of(train_vanilla)
        return train_vanilla(X, y, settings=settings, **chosen)
