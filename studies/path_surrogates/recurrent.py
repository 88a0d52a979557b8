"""An ensemble of recurrent networks: gated recurrent units, as they are usually applied to paths.

K networks of gated recurrent units (Cho et al., EMNLP 2014) are trained side by side. Their inputs
at each step are the strain, its increment and the inputs of the RVE, all scaled. With a mean-field
model, its stress is a further input, and the networks are trained on the difference between the
stress of the RVE and the mean-field stress.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from studies.path_surrogates.data import BOUNDS
from studies.path_surrogates.training import parted, train

MEMBERS = 5


class Units(nn.Module):
    """K networks with layers of gated recurrent units and a linear head."""

    def __init__(self, members: int, n_in: int, n_out: int, hidden: int, layers: int) -> None:
        super().__init__()
        limit = 1.0 / math.sqrt(hidden)

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter((2.0 * torch.rand(members, *shape) - 1.0) * limit)

        sizes = [n_in] + (layers - 1) * [hidden]
        self.of_input = nn.ParameterList([drawn(size, 3 * hidden) for size in sizes])
        self.of_state = nn.ParameterList([drawn(hidden, 3 * hidden) for _ in sizes])
        self.biases = nn.ParameterList([drawn(2, 1, 3 * hidden) for _ in sizes])
        self.head = drawn(hidden, n_out)
        self.head_bias = drawn(1, n_out)
        self.hidden = hidden

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, (K, B, T, n_out), for x (K, B, T, n_in)."""
        K, B, T, _ = x.shape
        for W, U, b in zip(self.of_input, self.of_state, self.biases, strict=True):
            affine = torch.baddbmm(b[:, 0], x.reshape(K, B * T, -1), W).reshape(K, B, T, -1)
            x = self._layer(affine, U, b[:, 1])
        return torch.baddbmm(self.head_bias, x.reshape(K, B * T, -1), self.head).reshape(
            K, B, T, -1
        )

    def _layer(self, affine: Tensor, U: Tensor, bias: Tensor) -> Tensor:
        state = affine.new_zeros(*affine.shape[:2], self.hidden)
        states = []
        for step in affine.unbind(dim=2):
            recurrent = torch.baddbmm(bias, state, U)
            gates = torch.sigmoid(step[..., : 2 * self.hidden] + recurrent[..., : 2 * self.hidden])
            r, z = gates.chunk(2, dim=-1)
            # n = tanh(W x + r (U h + b)),   h ← (1 - z) n + z h
            n = torch.tanh(
                torch.addcmul(step[..., 2 * self.hidden :], r, recurrent[..., 2 * self.hidden :])
            )
            state = torch.lerp(n, state, z)
            states.append(state)
        return torch.stack(states, dim=2)


@dataclass
class RecurrentEnsemble:
    """Gated recurrent units with a Gaussian band.

    The variance of the band is the variance of the members plus a residual variance, which is the
    mean square error of the members on their validation paths.

    Attributes:
        mean_field: Function that returns the mean-field stress (n, T, 3) [MPa] for inputs (n, 4)
            and paths (n, T, 3), or None.
    """

    random_state: int
    mean_field: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    members: int = MEMBERS
    hidden: int = 64
    layers: int = 2
    updates: float = 100.0  # divided by the square root of the number of paths
    batch: int = 16
    rate: float = 4e-3
    every: int = 25  # updates between two validations

    def fit(self, X: np.ndarray, strain: np.ndarray, stress: np.ndarray) -> "RecurrentEnsemble":
        """Fit to inputs (n, 4), paths (n, T, 3) and stresses (n, T, 3) [MPa]."""
        rng = np.random.default_rng(self.random_state)
        self._strain_scale = strain.std(axis=(0, 1))
        self._increment_scale = _increments(strain).std(axis=(0, 1))
        mean_field = self._known(X, strain)
        self._known_std = mean_field.std(axis=(0, 1))
        learnt = stress - mean_field
        self._mean = learnt.mean(axis=(0, 1))
        self._std = learnt.std(axis=(0, 1))
        x = self._given(X, strain, mean_field)
        y = torch.as_tensor((learnt - self._mean) / self._std, dtype=torch.float32)
        rows = parted(len(X), self.members, rng)
        torch.manual_seed(self.random_state)
        network = Units(self.members, x.shape[2], y.shape[2], self.hidden, self.layers)

        def errors(now: np.ndarray) -> Tensor:
            return torch.square(network(x[now]) - y[now]).mean(dim=(1, 2))

        parameters = list(network.parameters())
        trained = train(
            parameters,
            errors,
            rows,
            rng,
            updates=self.updates,
            batch=self.batch,
            rate=self.rate,
            every=self.every,
            clip=True,
        )
        self._network = network
        self.history_ = trained.history
        self.residual_variance_ = trained.residuals.mean(axis=0) * self._std**2
        return self

    def predict(self, X: np.ndarray, strain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation, (n, T, 3) [MPa]."""
        mean_field = self._known(X, strain)
        x = self._given(X, strain, mean_field)
        with torch.no_grad():
            curves = self._network(x.expand(self.members, *x.shape)).double().numpy()
        curves = mean_field + self._mean + self._std * curves
        return curves.mean(axis=0), np.sqrt(curves.var(axis=0, ddof=1) + self.residual_variance_)

    def _known(self, X: np.ndarray, strain: np.ndarray) -> np.ndarray:
        """Return the stress of the mean-field model, (n, T, 3) [MPa], or zeros without one."""
        if self.mean_field is None:
            return np.zeros_like(strain)
        return self.mean_field(X, strain)

    def _given(self, X: np.ndarray, strain: np.ndarray, mean_field: np.ndarray) -> Tensor:
        """Return scaled strain, increment, inputs and mean-field stress, (n, T, 10 or 13)."""
        low, high = BOUNDS
        x = np.repeat((2.0 * (X - low) / (high - low) - 1.0)[:, None], strain.shape[1], axis=1)
        scaled = [strain / self._strain_scale, _increments(strain) / self._increment_scale, x]
        if self.mean_field is not None:
            scaled.append(mean_field / self._known_std)
        return torch.as_tensor(np.concatenate(scaled, axis=2), dtype=torch.float32)


def _increments(strain: np.ndarray) -> np.ndarray:
    """Return the strain increments, (n, T, 3), the first one from rest."""
    return np.diff(strain, axis=1, prepend=0.0)
