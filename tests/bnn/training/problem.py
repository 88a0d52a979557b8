"""A problem that the tests of the training loop share."""

import numpy as np

from bnn import MLP
from bnn._seeding import member_seeds, seed_sequence
from bnn.ensembles.weight_priors import LowRankGaussian
from bnn.training.members import Objective

ARCHITECTURE = MLP((2, 20, 20, 3))
K = 35
N = 50


def problem():
    """Weights (K, d), points (N, 2), outputs (K, N, 3) and seeds of the members."""
    rng = np.random.default_rng(0)
    weights = ARCHITECTURE.initial_weights(K, 0)
    X = rng.uniform(-1.0, 1.0, (N, 2))
    y = np.sin(3.0 * X[:, :1]) + rng.standard_normal((K, 1, 3)) * X[:, 1:]
    return weights, X, y, member_seeds(seed_sequence(0), K)


def objective_near(weights):
    """The weights near anchors, under a prior that is learnt from these."""
    anchors = weights + 0.05 * np.random.default_rng(3).standard_normal(weights.shape)
    prior = LowRankGaussian.fit(anchors, ARCHITECTURE)
    return Objective(25.0 * np.eye(3), prior.regulariser(), anchors.astype(np.float32))
