"""laplace-torch, as in the regression example of its documentation."""

import numpy as np
import torch
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset


class Network:
    """laplace-torch, a network with a Laplace approximation."""

    def fit(self, data):
        """Fit a network to each output, standardised."""
        torch.manual_seed(0)
        self.centre = data.y.mean(axis=0)
        self.scale = data.y.std(axis=0)
        self.fitted = [self.one(data.X, c) for c in ((data.y - self.centre) / self.scale).T]

    def one(self, X, y):
        """Train a network on one output, then choose prior and noise by the marginal likelihood."""
        X = torch.tensor(X).float()
        y = torch.tensor(y)[:, None].float()
        network = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], 50), torch.nn.Tanh(), torch.nn.Linear(50, 1)
        )
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
        for _ in range(1000):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(network(X), y).backward()
            optimiser.step()
        posterior = Laplace(
            network, "regression", subset_of_weights="all", hessian_structure="full"
        )
        posterior.fit(DataLoader(TensorDataset(X, y), batch_size=len(X)))
        logs = torch.zeros(2, requires_grad=True)  # of the precision of the prior, and of the noise
        optimiser = torch.optim.Adam([logs], lr=1e-1)
        for _ in range(100):
            optimiser.zero_grad()
            (-posterior.log_marginal_likelihood(*logs.exp())).backward()
            optimiser.step()
        return posterior

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        moments = [[m.detach().numpy() for m in f(torch.tensor(X).float())] for f in self.fitted]
        mean = np.column_stack([pair[0].ravel() for pair in moments])
        noise = [f.sigma_noise.item() ** 2 for f in self.fitted]
        variance = np.column_stack([pair[1].ravel() for pair in moments]) + noise
        return self.centre + self.scale * mean, self.scale * np.sqrt(variance)
