"""An ensemble of recurrent networks: gated recurrent units, as they are usually applied to paths.

K networks of gated recurrent units (Cho et al., EMNLP 2014) are trained side by side, each with
initial weights, minibatches and a fifth of the paths for validation of its own. They are given
strain, its increment and the inputs at each step, all scaled by the training data. The learning
rate of Adam falls along a cosine, and the weights of the smallest validation error are kept.
"""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from bench.path_surrogates.data import BOUNDS

MEMBERS = 5
VALIDATION = 0.2  # of the paths


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
        """Outputs (K, B, T, n_out) from x (K, B, T, n_in)."""
        K, B, T, _ = x.shape
        for W, U, b in zip(self.of_input, self.of_state, self.biases, strict=True):
            given = torch.baddbmm(b[:, 0], x.reshape(K, B * T, -1), W).reshape(K, B, T, -1)
            x = self._layer(given, U, b[:, 1])
        return torch.baddbmm(self.head_bias, x.reshape(K, B * T, -1), self.head).reshape(
            K, B, T, -1
        )

    def _layer(self, given: Tensor, U: Tensor, bias: Tensor) -> Tensor:
        state = given.new_zeros(*given.shape[:2], self.hidden)
        states = []
        for step in given.unbind(dim=2):
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

    The variance of the band is that over the members and a residual one, the mean square error of
    members on the paths that they did not learn from.
    """

    random_state: int
    members: int = MEMBERS
    hidden: int = 64
    layers: int = 2
    updates: float = 100.0  # over the root of the number of paths
    batch: int = 16
    rate: float = 4e-3
    every: int = 25  # updates between two validations

    def fit(self, X: np.ndarray, strain: np.ndarray, stress: np.ndarray) -> "RecurrentEnsemble":
        """Learn from inputs (n, 4), paths (n, T, 3) and stresses (n, T, 3) [MPa]."""
        rng = np.random.default_rng(self.random_state)
        self._strain_scale = strain.std(axis=(0, 1))
        self._increment_scale = _increments(strain).std(axis=(0, 1))
        self._mean = stress.mean(axis=(0, 1))
        self._std = stress.std(axis=(0, 1))
        x = self._given(X, strain)
        y = torch.as_tensor((stress - self._mean) / self._std, dtype=torch.float32)
        orders = np.array([rng.permutation(len(X)) for _ in range(self.members)])
        held = max(round(VALIDATION * len(X)), 1)
        self._train(x, y, orders[:, held:], orders[:, :held], rng)
        return self

    def predict(self, X: np.ndarray, strain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (n, T, 3) [MPa]."""
        x = self._given(X, strain)
        with torch.no_grad():
            found = self._network(x.expand(self.members, *x.shape)).double().numpy()
        found = self._mean + self._std * found
        return found.mean(axis=0), np.sqrt(found.var(axis=0, ddof=1) + self.residual_variance_)

    def _given(self, X: np.ndarray, strain: np.ndarray) -> Tensor:
        """Scaled strain, increment and inputs at each step, (n, T, 10)."""
        low, high = BOUNDS
        x = np.repeat((2.0 * (X - low) / (high - low) - 1.0)[:, None], strain.shape[1], axis=1)
        scaled = [strain / self._strain_scale, _increments(strain) / self._increment_scale, x]
        return torch.as_tensor(np.concatenate(scaled, axis=2), dtype=torch.float32)

    def _train(
        self, x: Tensor, y: Tensor, learnt: np.ndarray, held: np.ndarray, rng: np.random.Generator
    ) -> None:
        torch.manual_seed(self.random_state)
        network = Units(self.members, x.shape[2], y.shape[2], self.hidden, self.layers)
        adam = torch.optim.Adam(network.parameters(), lr=self.rate)
        last = round(self.updates * math.sqrt(len(x)))
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, last)
        best = np.full(self.members, np.inf)
        residuals = np.empty((self.members, y.shape[2]))
        kept = copy.deepcopy(network)
        self.history_ = []
        for update, now in enumerate(minibatches(learnt, self.batch, last, rng), start=1):
            loss = torch.square(network(x[now]) - y[now]).mean(dim=(1, 2, 3)).sum()
            adam.zero_grad()
            loss.backward()
            _clip(network)
            adam.step()
            falling.step()
            if update % self.every == 0 or update == last:
                with torch.no_grad():
                    errors = torch.square(network(x[held]) - y[held]).mean(dim=(1, 2)).numpy()
                self.history_.append(errors.mean())
                better = np.flatnonzero(errors.mean(axis=1) < best)
                best[better] = errors[better].mean(axis=1)
                residuals[better] = errors[better]
                _keep(kept, network, better)
        self._network = kept
        self.residual_variance_ = residuals.mean(axis=0) * self._std**2


def minibatches(
    learnt: np.ndarray, size: int, updates: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Rows (K, size) for each update: every member has an order of its own, anew when used up."""
    size = min(size, learnt.shape[1])
    rows = learnt[:, :0]
    for _ in range(updates):
        if rows.shape[1] < size:
            rows = rng.permuted(learnt, axis=1)
        yield rows[:, :size]
        rows = rows[:, size:]


def _increments(strain: np.ndarray) -> np.ndarray:
    """Increments (n, T, 3) from rest on."""
    return np.diff(strain, axis=1, prepend=0.0)


def _clip(network: nn.Module) -> None:
    """Gradients of each member to a norm of at most one."""
    gradients = [each.grad for each in network.parameters() if each.grad is not None]
    squares = torch.stack([torch.square(g).flatten(1).sum(dim=1) for g in gradients]).sum(dim=0)
    factor = 1.0 / torch.sqrt(squares).clamp_min(1.0)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.ndim - 1)))


def _keep(kept: nn.Module, network: nn.Module, members: np.ndarray) -> None:
    """Copy the weights of some members."""
    with torch.no_grad():
        for old, new in zip(kept.parameters(), network.parameters(), strict=True):
            old[members] = new[members]
