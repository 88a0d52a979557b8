"""A deep ensemble (Lakshminarayanan et al., 2017) in plain PyTorch, stopped by validation."""

import copy

import numpy as np
import torch

MEMBERS = 5
STEPS = 2000
BATCH = 100
EVERY = 20  # steps between two validations
VALIDATION = 0.15  # of the training rows
SMALLEST = 1e-6  # variance of standardised outputs


def moments(network, X):
    """Return means at X, and variances from the other half of the network's outputs."""
    mean, raw = network(X).chunk(2, dim=1)
    return mean, torch.nn.functional.softplus(raw) + SMALLEST


def loss(network, X, y):
    """Return the mean negative log-likelihood of y, up to a constant."""
    mean, variance = moments(network, X)
    return torch.nn.functional.gaussian_nll_loss(mean, y, variance)


class DeepEnsemble:
    """PyTorch, a deep ensemble of five networks."""

    def fit(self, data):
        """Train the members on standardised outputs, each with a separate seed."""
        self.centre = data.y.mean(axis=0)
        self.scale = data.y.std(axis=0)
        X = torch.tensor(data.X).float()
        y = torch.tensor((data.y - self.centre) / self.scale).float()
        self.members = [self.one(X, y, seed) for seed in range(MEMBERS)]

    def one(self, X, y, seed):
        """Return the network with the smallest loss of the validation rows."""
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], 50), torch.nn.ReLU(), torch.nn.Linear(50, 2 * y.shape[1])
        )
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
        rows = torch.randperm(len(X))
        held = round(VALIDATION * len(X))
        best = torch.inf
        for step in range(STEPS):
            batch = rows[held:][torch.randperm(len(X) - held)[:BATCH]]
            optimiser.zero_grad()
            loss(network, X[batch], y[batch]).backward()
            optimiser.step()
            if step % EVERY == 0:
                with torch.no_grad():
                    held_out = loss(network, X[rows[:held]], y[rows[:held]])
                if held_out < best:
                    best = held_out
                    best_network = copy.deepcopy(network)
        return best_network

    def predict(self, X):
        """Return mean and standard deviation of the mixture of the members at X."""
        with torch.no_grad():
            of_members = [moments(member, torch.tensor(X).float()) for member in self.members]
        means, variances = (torch.stack(parts).numpy() for parts in zip(*of_members, strict=True))
        variance = variances.mean(axis=0) + means.var(axis=0)
        return self.centre + self.scale * means.mean(axis=0), self.scale * np.sqrt(variance)
