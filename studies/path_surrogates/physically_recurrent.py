"""Physically recurrent networks: a network computes the material points of an RVE from its inputs.

Source: Maia, Rocha, Kerfriden & van der Meer, CMAME 407 (2023).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bnn.paths import PhaseProperties
from bnn.paths.phases import (
    INPUTS,
    PHASES,
    scaled,
)
from studies.path_surrogates.rve_stress import Localisation, consistent, rve_stress

ENTRIES = 10  # network outputs per point: nine for A_i and one for w_i
SPREAD = 0.3  # factor from the outputs of the network to the entries of A
Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class PhysicallyRecurrentNetwork:
    """K networks of material points, whose weights are the rows of one matrix (K, d).

    Attributes:
        bounds: (2, 4) lower and upper bounds of the inputs vf, E_f [GPa], b_m [MPa], c_m.
        phases: Elasticity and initial yield stress.
        n_matrix: Number of points in the matrix.
        n_fibre: Number of points in the fibres.
        hidden: Width of the hidden layer.

    Examples:
        >>> import numpy as np
        >>> from studies.path_surrogates.physically_recurrent import PhysicallyRecurrentNetwork
        >>> bounds = np.array([[0.0, 200.0, 300.0, 0.3], [0.4, 600.0, 500.0, 0.5]])
        >>> network = PhysicallyRecurrentNetwork(bounds)
        >>> weights = network.initial_weights(2, random_state=0)
        >>> strain = np.linspace(0.0, 0.02, 21)[1:, None] * [1.0, -0.5, 0.0]
        >>> network.stress(weights, np.array([[0.3, 400.0, 400.0, 0.4]]), strain[None]).shape
        (2, 1, 20, 3)
    """

    bounds: Array
    phases: PhaseProperties = PHASES
    n_matrix: int = 12
    n_fibre: int = 2
    hidden: int = 16

    @property
    def n_points(self) -> int:
        """Number of points in matrix and fibres, P."""
        return self.n_matrix + self.n_fibre

    def initial_weights(
        self, n: int, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Draw initial weights: Glorot kernels, zero hidden biases, standard normal output biases.

        Args:
            n: Number of networks.
            random_state: Seed.

        Returns:
            Weights (n, d). The output biases make the points differ.
        """
        rng = np.random.default_rng(random_state)
        n_in = len(INPUTS)
        n_out = self.n_points * ENTRIES
        limits = [np.sqrt(6.0 / (n_in + self.hidden)), np.sqrt(6.0 / (self.hidden + n_out))]
        kernel = rng.uniform(-limits[0], limits[0], (n, n_in * self.hidden))
        last = rng.uniform(-limits[1], limits[1], (n, self.hidden * n_out))
        biases = rng.standard_normal((n, n_out))
        return np.hstack([kernel, np.zeros((n, self.hidden)), last, biases])

    def localisation(self, weights: Tensor, X: Tensor) -> Localisation:
        """Compute the points of RVEs; PyTorch can differentiate them with respect to the weights.

        Args:
            weights: Weights of K networks, (K, d), in double precision.
            X: Inputs (N, 4): vf, E_f [GPa], b_m [MPa], c_m.

        Returns:
            Localisation A (K, N, P, 3, 3), weights (K, N, P) of the points, number of fibre points.
        """
        sizes = [len(INPUTS) * self.hidden, self.hidden]
        sizes += [self.hidden * self.n_points * ENTRIES, self.n_points * ENTRIES]
        kernel, bias, last, biases = torch.split(weights, sizes, dim=1)
        x = torch.as_tensor(scaled(X.numpy(), self.bounds, INPUTS), dtype=weights.dtype)
        members = len(weights)
        hidden = torch.tanh(x @ kernel.reshape(members, len(x[0]), -1) + bias[:, None])
        out = hidden @ last.reshape(members, self.hidden, -1) + biases[:, None]
        out = out.reshape(members, len(X), self.n_points, ENTRIES)
        A = SPREAD * out[..., :9].reshape(*out.shape[:3], 3, 3)
        return consistent(A, out[..., 9], X[:, 0], self.n_fibre)

    def stress(self, weights: Array, X: Array, strain: Array) -> Array:
        """Compute the stress of RVEs along strain paths.

        Args:
            weights: Weights of K networks, (K, d).
            X: Inputs (N, 4): vf, E_f [GPa], b_m [MPa], c_m.
            strain: Paths (N, T, 3), the tensor xx, yy, xy at each step after rest [-].

        Returns:
            Mean stress (K, N, T, 3), xx, yy, xy [MPa].
        """
        inputs = torch.as_tensor(X)
        with torch.no_grad():
            points = self.localisation(torch.as_tensor(weights), inputs)
            return rve_stress(points, inputs, torch.as_tensor(strain), self.phases).numpy()
