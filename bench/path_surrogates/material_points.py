"""A physically recurrent network without a prior, trained by Adam on the squared error.

Points of matrix and fibres with the laws of their phases, whose strains and weights a network says
(Maia et al., CMAME 407, 2023). Like a recurrent network, each network has a fifth of the paths
for its own validation, and keeps the weights of the smallest error there.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bench.path_surrogates.data import BOUNDS
from bench.path_surrogates.recurrent import VALIDATION, minibatches
from bnn.paths import PhysicallyRecurrentNetwork
from bnn.paths.network import Localisation, cell_stress


@dataclass
class PointEnsemble:
    """K networks of points with a Gaussian band, as that of `RecurrentEnsemble`."""

    random_state: int
    members: int = 3
    updates: float = 60.0  # over the root of the number of paths
    batch: int = 10
    rate: float = 2e-2
    spread: float = (
        0.1  # of the initial weights, over those of `PhysicallyRecurrentNetwork.initial_weights`
    )
    every: int = 20  # updates between two validations

    def fit(self, X: np.ndarray, strain: np.ndarray, stress: np.ndarray) -> "PointEnsemble":
        """Learn from inputs (n, 4), paths (n, T, 3) and stresses (n, T, 3) [MPa]."""
        rng = np.random.default_rng(self.random_state)
        self._network = PhysicallyRecurrentNetwork(BOUNDS)
        self._std = stress.std(axis=(0, 1))
        orders = np.array([rng.permutation(len(X)) for _ in range(self.members)])
        held = max(round(VALIDATION * len(X)), 1)
        given = [torch.as_tensor(each) for each in (X, strain, stress)]
        self._train(given, orders[:, held:], orders[:, :held], rng)
        return self

    def predict(self, X: np.ndarray, strain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (n, T, 3) [MPa]."""
        found = self._network.stress(self.weights_, X, strain)
        return found.mean(axis=0), np.sqrt(found.var(axis=0, ddof=1) + self.residual_variance_)

    def _train(
        self, given: list[Tensor], learnt: np.ndarray, held: np.ndarray, rng: np.random.Generator
    ) -> None:
        first = self.spread * self._network.initial_weights(self.members, rng)
        weights = torch.tensor(first, requires_grad=True)
        adam = torch.optim.Adam([weights], lr=self.rate)
        last = round(self.updates * math.sqrt(len(given[0])))
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, last)
        best = np.full(self.members, np.inf)
        residuals = np.empty((self.members, 3))
        self.weights_ = first.copy()
        self.history_ = []
        for update, now in enumerate(minibatches(learnt, self.batch, last, rng), start=1):
            loss = self._errors(weights, given, now).mean(dim=1).sum()
            adam.zero_grad()
            loss.backward()
            adam.step()
            falling.step()
            if update % self.every == 0 or update == last:
                with torch.no_grad():
                    errors = self._errors(weights, given, held).numpy()
                self.history_.append(errors.mean())
                better = np.flatnonzero(errors.mean(axis=1) < best)
                best[better] = errors[better].mean(axis=1)
                residuals[better] = errors[better]
                self.weights_[better] = weights.detach().numpy()[better]
        self.residual_variance_ = residuals.mean(axis=0) * self._std**2

    def _errors(self, weights: Tensor, given: list[Tensor], rows: np.ndarray) -> Tensor:
        """Mean square error of each component (K, 3), of rows (K, B) that differ by member."""
        X, strain, stress = (each[rows.reshape(-1)] for each in given)
        # Each member has cells of its own, which are one batch for the laws of the points.
        own = X.reshape(*rows.shape, -1)
        members = [self._network.localisation(weights[k : k + 1], own[k]) for k in range(len(rows))]
        A = torch.cat([member.A for member in members], dim=1)
        shares = torch.cat([member.weights for member in members], dim=1)
        points = Localisation(A, shares, self._network.n_fibre)
        found = cell_stress(points, X, strain, self._network.phases)[0]
        errors = torch.square((found - stress) / torch.as_tensor(self._std))
        return errors.reshape(*rows.shape, -1, 3).mean(dim=(1, 2))
