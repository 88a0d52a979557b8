"""Two inputs and two outputs of different sizes, with kernels, priors and noise of every form."""

from dataclasses import replace

import numpy as np

import bnn
from tests.bnn.calls import OwnStationary, kinds_of
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (14, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]), 1000.0 + X[:, 1] * X[:, 0]])
GAPS = Y.copy()
GAPS[3, 0] = GAPS[5, 1] = np.nan
NEW = RNG.uniform([-1.5, 150.0], [1.5, 450.0], (7, 2))
L = (0.8, 90.0)
MEAN = bnn.LinearMean([[0.5, 0.01], [100.0, 0.0]], [0.0, 1000.0])
STATIONARY = [
    kind(1.5, L) for name in kinds_of(bnn.Stationary) if (kind := getattr(bnn, name)).c_code
]
STATIONARY.append(OwnStationary(1.5, L))
SMOOTH = bnn.Matern52(1.5, L)
WIDE = bnn.Linear((150.0, 0.015), 50.0, (0.1, 300.0))
ENDING = bnn.Linear((1.5, 0.01), 2.0, (0.1, 300.0), (0.7, 60.0))
BENT = bnn.Linear((1.5, 0.01), 2.0, (0.1, 300.0), (1.2, 120.0), (2.0, 0.02), (0.5, 40.0))
WARPED = bnn.Warped(
    bnn.RBF(4.0, 0.5) + bnn.Linear(1.0, 2.0, 0.5),
    (-1.0, 200.0),
    (2.0, 200.0),
    (0.8, 0.0),
    ((0.0, 0.2), (0.1, 0.0)),
)


def prior(first, second, **options):
    return bnn.GaussianProcessPrior(MEAN, [first, second], 2, **options)


PRIORS = {
    "alike": prior(1e2 * SMOOTH, 1e2 * SMOOTH),
    "different": prior(WARPED, 1e4 * bnn.RBF(1.0, 90.0), active_dims=[[0, 1], [1]]),
    "numbers": bnn.GaussianProcessPrior([0.5, 1000.0], [SMOOTH, 1e4 * SMOOTH]),
    "mixture": bnn.MixturePrior(
        [prior(WARPED, 1e4 * SMOOTH), prior(SMOOTH + ENDING, 1e4 * SMOOTH)],
        [[0.4, 0.7], [0.6, 0.3]],
    ),
}
CORRELATED = np.array([[0.09, 1.0], [1.0, 400.0]])
BY_INPUT = bnn.HeteroscedasticNoise(
    np.array([[-2.0, 1.0], [0.3, 0.1], [0.002, 0.003], [0.2, -0.1]]), None, (0,)
)
WITHIN = replace(BY_INPUT, bounds=([-0.5, 240.0], [0.5, 360.0]))
VARYING = replace(WITHIN, correlation=[[1.0, 0.3], [0.3, 1.0]])
# Noise that C and graphs hold: without correlation
NOISES = {
    "constant": np.diag([0.01, 25.0]),
    "by input": BY_INPUT,
    "within": WITHIN,
    "steep": replace(BY_INPUT, coefficients=1e4 * BY_INPUT.coefficients),
}


def ensemble(activation="silu", hidden=(7, 5), n_members=5, noise=(0.1, 5.0), y=Y):
    changes = {"network__hidden": hidden, "network__activation": activation}
    return small(bnn.VanillaEnsemble, noise=noise, n_members=n_members, **changes).fit(X, y)
