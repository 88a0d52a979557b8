"""What the models of BoTorch share: selected outputs, and the noise of results."""

import copy
from typing import Any, Self

import torch
from torch import Tensor

from bnn.interop.torch_noise import noise_at, noise_of_points
from bnn.noise import Covariance, StudentNoise
from bnn.noise.models import noise_of_new

broadcast: Any = torch.broadcast_shapes  # PyTorch declares no types for it


class SelectedOutputs:
    """A model of BoTorch with several outputs.

    Attributes:
        outputs: Indices of the selected outputs.
        noise: The fitted noise.
    """

    outputs: list[int]
    noise: Covariance | StudentNoise

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def subset_output(self, idcs: list[int]) -> Self:
        """Return a model of some of the outputs."""
        model = copy.copy(self)
        model.outputs = [self.outputs[i] for i in idcs]
        return model

    # The order of the arguments is that of Model, which EnsembleModel changes.
    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """Return the joint posterior at X (..., n, n_in): of f, or of results with noise.

        Args:
            X: Inputs, (..., n, n_in).
            output_indices: Outputs to return; None returns all.
            observation_noise: Whether to add the fitted noise, or variances (..., n, q) to add.
            posterior_transform: Transform of the posterior, or None.

        Returns:
            A GPyTorchPosterior, or an EnsemblePosterior of the f of an ensemble. If there is a
            transform, its result.
        """
        model = self if output_indices is None else self.subset_output(output_indices)
        result = model._posterior(X, observation_noise)
        return result if posterior_transform is None else posterior_transform(result)

    def _posterior(self, X: Tensor, observation_noise: bool | Tensor) -> Any:
        """Return the posterior of the selected outputs."""
        raise NotImplementedError

    def _noise(self, X: Tensor, noise: bool | Tensor | None) -> Tensor:
        """Return the noise covariance (..., n q, n q) of results at X, or of given variances."""
        if isinstance(noise, Tensor):
            batch = broadcast(noise.shape[:-2], X.shape[:-2])
            shape = *batch, X.shape[-2], len(self.outputs)
            variances = noise.expand(*batch, -1, -1).expand(shape)
            return noise_of_points(torch.diag_embed(variances))
        noise_of_new(self.noise, X.detach().reshape(-1, X.shape[-1]).numpy())
        return noise_of_points(noise_at(self.noise, X)[..., self.outputs, :][..., self.outputs])
