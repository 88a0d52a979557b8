"""Data that ensembles are trained on, with what is known of their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bnn._validation import Array, check_outputs_vary
from bnn.gp.evidence.model import likely_noise
from bnn.noise import Covariance, Noise, checked_noise
from bnn.noise.models import (
    DataNoise,
    counted_rows,
    covariances_of_data,
    is_whole,
    warn_of_excess,
)


@dataclass(frozen=True)
class TrainingData:
    """Data X (N, n_in) and y (N, n_out); y may have NaN.

    Attributes:
        X: Inputs.
        y: Outputs.
        noise: Noise of the model, its kind, or None.
        data_noise: What is known of the noise of each datum.
        fixed: Whether an output is left out of the loss, (n_out,).
    """

    X: Array
    y: Array
    noise: Noise | str | None
    data_noise: DataNoise | None
    fixed: NDArray[np.bool_]

    @classmethod
    def checked(
        cls,
        X: Array,
        y: Array,
        noise: Noise | str | None,
        noise_std: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        scales_outputs: bool = False,
    ) -> Self:
        """Check what a user gives beside X and y; `scales_outputs` says if the data scale y."""
        if noise is None or isinstance(noise, str) or scales_outputs:
            check_outputs_vary(y)
        data_noise = DataNoise.checked(noise_std, sample_weight, y.shape)
        X, y, data_noise = counted_rows(X, y, data_noise)
        return cls(X, y, noise, data_noise, np.zeros(y.shape[1], dtype=bool))

    @property
    def targets(self) -> Array:
        """Outputs with NaN for those that are left out of the loss, (N, n_out)."""
        return np.where(self.fixed, np.nan, self.y)

    def member_noise(self) -> Covariance:
        """Return the noise of ensemble members: Σ_noise, or a HeteroscedasticNoise."""
        model = likely_noise(self.noise, self.X, self.y, self.data_noise)
        n_out = self.y.shape[1]
        if is_whole(self.data_noise, model, n_out):
            return np.zeros((n_out, n_out))
        return checked_noise(model, self.X.shape[1], n_out)

    def noise_of_training(self) -> tuple[Covariance, Array]:
        """Return the noise of ensemble members, and its covariances at the data.

        The covariances, (n_out, n_out) or (N, n_out, n_out), include what is known of each datum.
        """
        noise = self.member_noise()
        covariances = covariances_of_data(noise, self.X, self.data_noise)
        warn_of_excess(covariances, self.y, stacklevel=7)
        return noise, covariances
