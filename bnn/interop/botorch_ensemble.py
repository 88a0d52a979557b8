"""An ensemble as a BoTorch model that can be conditioned on new results."""

import copy
from typing import Any, Self

import torch
from botorch.models.ensemble import EnsembleModel
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.distributions import MultitaskMultivariateNormal
from torch import Tensor

from bnn.acquisition.choice import FEWEST_MEMBERS
from bnn.ensembles.members import Members
from bnn.gp.conditioning import EIGENVALUE_ERROR
from bnn.interop.selected_outputs import SelectedOutputs
from bnn.interop.torch_noise import double


class BotorchEnsemble(SelectedOutputs, EnsembleModel):  # type: ignore[misc, unused-ignore]
    """The members; after conditioning, linear combinations of the members."""

    def __init__(self, members: Members) -> None:
        super().__init__()
        net = members.architecture
        noise = members.noise_covariance
        self.layers = [(W, b.unsqueeze(1)) for W, b in net.unpack(double(members.weights))]
        self.activation = getattr(torch.nn.functional, net.activation, lambda z: z)
        self.input_centre = double(members.input_scaler.centre)
        self.input_half = double(members.input_scaler.half_range)
        self.output_centre = double(members.output_scaler.centre)
        self.output_half = double(members.output_scaler.half_range)
        self.bounds = None if members.bounds is None else double(members.bounds)
        self.noise = noise
        self.outputs = list(range(net.n_outputs))
        self.transform = torch.eye(len(members.weights), dtype=torch.float64)

    @property
    def batch_shape(self) -> torch.Size:
        """Batch shape of the model; empty before the model is conditioned."""
        return self.transform.shape[:-2]

    def forward(self, X: Tensor) -> Tensor:
        """Return the values of the members, (..., K, n, n_out), at X (..., n, n_in)."""
        a = ((X - self.input_centre) / self.input_half).unsqueeze(-3)
        for number, (kernel, bias) in enumerate(self.layers, start=1):
            z = a @ kernel + bias
            a = self.activation(z) if number < len(self.layers) else z
        values = a * self.output_half + self.output_centre
        if self.bounds is not None:
            values = values.clamp(*self.bounds)
        return torch.einsum("...kl,...lnj->...knj", self.transform, values[..., self.outputs])

    def _results(self, X: Tensor, noise: bool | Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return means (..., n, n_out) at X, deviations / √(K-1) (..., K, n n_out), and Σ."""
        values = self.forward(X)
        K = values.shape[-3]
        mean = values.mean(dim=-3)
        away = (values - mean.unsqueeze(-3)).flatten(-2) / (K - 1) ** 0.5
        # Rounding errors of the covariance C = Aᵀ A, so that results without noise are accepted
        size = K + away.shape[-1]
        errors = EIGENVALUE_ERROR * size * away.square().sum(dim=-2)
        return mean, away, self._noise(X, noise) + torch.diag_embed(errors)

    def _posterior(self, X: Tensor, observation_noise: bool | Tensor) -> Any:
        if observation_noise is False:
            return EnsembleModel.posterior(self, X)
        mean, A, R = self._results(X, observation_noise)
        return GPyTorchPosterior(MultitaskMultivariateNormal(mean, A.mT @ A + R))

    def condition_on_observations(
        self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **_: Any
    ) -> Self:
        """Return the model conditioned on results.

        Args:
            X: Inputs of the results, (..., n, n_in).
            Y: Results, (..., n, n_out).
            noise: Variances of the results, of the shape of Y; None means the fitted noise.

        Returns:
            The conditioned model.

        Raises:
            ValueError: If the ensemble has fewer than 200 members.
        """
        K = self.transform.shape[-1]
        if K < FEWEST_MEMBERS:
            why = "their covariances between points are too noisy otherwise"
            raise ValueError(f"model has {K} members: must be at least {FEWEST_MEMBERS}, {why}")
        mean, A, R = self._results(X, noise)
        # C + R = s sᵀ with C = Aᵀ A, and R = r rᵀ
        s = torch.linalg.cholesky(A.mT @ A + R)
        r = torch.linalg.cholesky(R)
        whitened = torch.linalg.solve_triangular(s, A.mT, upper=False)  # s⁻¹ Aᵀ
        # Deviations a become a - A (s + r)⁻ᵀ s⁻¹ Aᵀ a; the mean changes by aᵀ A (s sᵀ)⁻¹ (Y - mean)
        shrunk = torch.linalg.solve_triangular((s + r).mT, whitened, upper=True)
        misfit = torch.linalg.solve_triangular(s, (Y - mean).flatten(-2).unsqueeze(-1), upper=False)
        shift = (whitened.mT @ misfit).mT / (K - 1) ** 0.5
        model = copy.copy(self)
        eye = torch.eye(K, dtype=A.dtype)
        model.transform = (eye - A @ shrunk + shift) @ self.transform
        return model

    def fantasize(
        self, X: Tensor, sampler: Any, observation_noise: Tensor | None = None, **_: Any
    ) -> Self:
        """Return the model conditioned on results that a sampler draws at X (..., n, n_in)."""
        noise = True if observation_noise is None else observation_noise
        drawn = sampler(self.posterior(X, observation_noise=noise))
        return self.condition_on_observations(X, drawn, observation_noise)
