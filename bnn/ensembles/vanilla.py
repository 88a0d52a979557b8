"""Vanilla ensemble, Algorithm 1 of the paper, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from bnn._validation import check_option
from bnn.ensembles.base import EnsembleRegressor
from bnn.ensembles.fitting import train_vanilla
from bnn.noise import RESAMPLINGS
from bnn.storage import storable


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class VanillaEnsemble(EnsembleRegressor):
    """Deep ensemble with resampled data and independent random starts.

    Args:
        n_members: Networks trained to data, K.
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        init: Initial weights, "glorot" or "he".
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        batch_size: Points per step; None takes all.
        learning_rate: Of Adam.
        bias_correction: Whether Adam corrects the bias of its moments; False as in the published
            Table 1.
        members_at_once: Members trained together; None takes as many as fit the cache.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
        resampling: How each member gets its own version of the data: "bootstrap" (rows with
            replacement), "likelihood" (noise is added to y) or "none".
        epochs: Training epochs.

    Attributes:
        members_: The trained networks, a bnn.Members.

    Source: Algorithm 1 of the paper.
    """

    resampling: str = "likelihood"
    epochs: int = 400

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("resampling", self.resampling, RESAMPLINGS)
        self._settings(self.epochs)

    def fit(self, X: ArrayLike, y: ArrayLike) -> VanillaEnsemble:
        """Train the members.

        Args:
            X: Inputs, (N, n_in).
            y: Outputs, (N,) or (N, n_out).

        Returns:
            self.

        Raises:
            ValueError: If the data or a hyper-parameter is not admissible.
            DivergenceError: If fewer than two members stayed finite.
        """
        X, y = self._check_data(X, y)
        self.members_ = train_vanilla(
            X,
            y,
            noise=self.noise,
            n_members=self.n_members,
            resampling=self.resampling,
            hidden=self.hidden,
            activation=self.activation,
            settings=self._settings(self.epochs),
            input_bounds=self.input_bounds,
            output_bounds=self.output_bounds,
            init=self.init,
            device=self.device,
            progress=self.progress,
            random_state=self.random_state,
        )
        return self
