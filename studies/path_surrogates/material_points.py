"""An ensemble of physically recurrent networks without a prior (Maia et al., CMAME 407, 2023).

Each network represents an RVE by points in the matrix and in the fibres, which have the laws of
their phases, and predicts the strains and weights of these points.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from studies.path_surrogates.data import BOUNDS
from studies.path_surrogates.physically_recurrent import PhysicallyRecurrentNetwork
from studies.path_surrogates.rve_stress import Localisation, rve_stress
from studies.path_surrogates.training import parted, train


@dataclass
class PointEnsemble:
    """K networks of points with a Gaussian band, as in `RecurrentEnsemble`."""

    random_state: int
    members: int = 3
    points: int = 12  # in the matrix
    updates: float = 60.0  # divided by the square root of the number of paths
    batch: int = 10
    rate: float = 2e-2
    spread: float = 0.1  # factor on the initial weights of `PhysicallyRecurrentNetwork`
    every: int = 20  # updates between two validations

    def fit(self, X: np.ndarray, strain: np.ndarray, stress: np.ndarray) -> "PointEnsemble":
        """Fit to inputs (n, 4), paths (n, T, 3) and stresses (n, T, 3) [MPa]."""
        rng = np.random.default_rng(self.random_state)
        self._network = PhysicallyRecurrentNetwork(BOUNDS, n_matrix=self.points)
        scale = stress.std(axis=(0, 1))
        data = [torch.as_tensor(values) for values in (X, strain, stress)]
        rows = parted(len(X), self.members, rng)
        first = self.spread * self._network.initial_weights(self.members, rng)
        weights = torch.tensor(first, requires_grad=True)

        def errors(now: np.ndarray) -> Tensor:
            X, strain, stress = (values[now.reshape(-1)] for values in data)
            # Each member has its own RVEs; the laws of all points are evaluated as one batch.
            inputs = X.reshape(*now.shape, -1)
            localisations = [
                self._network.localisation(weights[[k]], inputs[k]) for k in range(len(now))
            ]
            A = torch.cat([member.A for member in localisations], dim=1)
            shares = torch.cat([member.weights for member in localisations], dim=1)
            points = Localisation(A, shares, self._network.n_fibre)
            predicted = rve_stress(points, X, strain, self._network.phases)[0]
            errors = torch.square((predicted - stress) / torch.as_tensor(scale))
            return errors.reshape(*now.shape, -1, 3).mean(dim=(1, 2))

        trained = train(
            [weights],
            errors,
            rows,
            rng,
            updates=self.updates,
            batch=self.batch,
            rate=self.rate,
            every=self.every,
        )
        self.weights_ = weights.detach().numpy()
        self.history_ = trained.history
        self.residual_variance_ = trained.residuals.mean(axis=0) * scale**2
        return self

    def predict(self, X: np.ndarray, strain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation, (n, T, 3) [MPa]."""
        curves = self._network.stress(self.weights_, X, strain)
        return curves.mean(axis=0), np.sqrt(curves.var(axis=0, ddof=1) + self.residual_variance_)
