"""Vanilla ensemble, Algorithm 1 of the paper."""

from __future__ import annotations

import numpy as np

from bnn._seeding import member_generators, member_seeds, seed_sequence, spawn
from bnn.ensembles.base import SEED_RESAMPLING, SEED_START, SEED_TRAINING, EnsembleRegressor
from bnn.noise import resample
from bnn.training.members import Objective


class VanillaEnsemble(EnsembleRegressor):
    """Deep ensemble with resampled data and independent random starts (Algorithm 1).

    All parameters are those of EnsembleRegressor.
    """

    def __init__(
        self,
        *,
        hidden=(20, 20, 20, 20),
        activation="leaky_relu",
        n_members=30,
        noise=0.1,
        resampling="likelihood",
        epochs=400,
        batch_size=32,
        input_bounds=None,
        output_bounds=None,
        learning_rate=1e-3,
        bias_correction=True,
        init="glorot",
        chunk_size=None,
        device="cpu",
        progress=False,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.n_members = n_members
        self.noise = noise
        self.resampling = resampling
        self.epochs = epochs
        self.batch_size = batch_size
        self.input_bounds = input_bounds
        self.output_bounds = output_bounds
        self.learning_rate = learning_rate
        self.bias_correction = bias_correction
        self.init = init
        self.chunk_size = chunk_size
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def fit(self, X, y) -> VanillaEnsemble:
        """Train the members.

        Args:
            X: Inputs, (N, n_in).
            y: Outputs, (N,) or (N, n_out).

        Returns:
            self.

        Raises:
            ValueError: If the data or a hyper-parameter is not admissible.
            DivergenceError: If fewer than two members stayed finite.
        """
        self._check_parameters()
        X, y = self._check_data(X, y)
        shape = (X.shape[1], y.shape[1])
        self.architecture_ = self._architecture(*shape)
        self.input_scaler_, self.output_scaler_ = self._scalers(X, y, shape)
        seeds = seed_sequence(self.random_state)
        starts = [
            self.architecture_.initial_weights(1, rng, self.init)
            for rng in member_generators(spawn(seeds, SEED_START), self.n_members)
        ]
        generators = member_generators(spawn(seeds, SEED_RESAMPLING), self.n_members)
        inputs, targets = resample(X, y, self.resampling, self.noise_covariance_, generators)
        result = self._run(
            self.architecture_,
            np.concatenate(starts),
            self.input_scaler_.transform(inputs),
            self.output_scaler_.transform(targets),
            self._settings(self.epochs),
            member_seeds(spawn(seeds, SEED_TRAINING), self.n_members),
            "training",
            Objective(self._precision()),
        )
        self._keep(result)
        return self
