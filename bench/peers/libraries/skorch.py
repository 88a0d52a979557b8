"""A deep ensemble as published (Lakshminarayanan et al., 2017), whose networks skorch trains."""

import numpy as np
import torch
from skorch import NeuralNetRegressor

MEMBERS = 5


class Network(torch.nn.Module):
    """Means and logarithms of the variances of all outputs, one after the other."""

    def __init__(self, inputs, outputs):
        super().__init__()
        layers = torch.nn.Linear(inputs, 50), torch.nn.ReLU(), torch.nn.Linear(50, 2 * outputs)
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, X):
        return self.layers(X)


class NegativeLogLikelihood(torch.nn.Module):
    """Of a normal density."""

    def forward(self, found, y):
        mean, log_variance = found.chunk(2, dim=1)
        return torch.nn.functional.gaussian_nll_loss(mean, y, log_variance.exp())


class DeepEnsemble:
    """skorch, a deep ensemble."""

    def fit(self, X, y):
        self.centre = y.mean(axis=0)
        self.scale = y.std(axis=0)
        values = ((y - self.centre) / self.scale).astype(np.float32)
        self.members = []
        sizes = {"module__inputs": X.shape[1], "module__outputs": y.shape[1]}
        for seed in range(MEMBERS):
            torch.manual_seed(seed)
            member = NeuralNetRegressor(
                Network,
                criterion=NegativeLogLikelihood,
                optimizer=torch.optim.Adam,
                lr=0.1,
                max_epochs=40,
                batch_size=100,
                train_split=None,
                verbose=0,
                **sizes,
            )
            self.members.append(member.fit(X.astype(np.float32), values))

    def predict(self, X):
        found = np.array([member.predict(X.astype(np.float32)) for member in self.members])
        means, log_variances = np.split(found, 2, axis=2)
        variance = np.exp(log_variances).mean(axis=0) + means.var(axis=0)
        return self.centre + self.scale * means.mean(axis=0), self.scale * np.sqrt(variance)
