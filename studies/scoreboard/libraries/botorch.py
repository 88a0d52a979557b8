"""BoTorch, with the scaling that its documentation recommends."""

import numpy as np
import torch
from botorch.fit import fit_fully_bayesian_model_nuts, fit_gpytorch_mll
from botorch.models import MultiTaskGP, SingleTaskGP
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.transforms import Normalize, Standardize, Warp
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from scipy.special import logsumexp
from scipy.stats import norm

torch.set_default_dtype(torch.double)


def moments(model, X):
    """Return mean and standard deviation of a model at X, noise included."""
    with torch.no_grad():
        posterior = model.posterior(torch.as_tensor(X), observation_noise=True)
        return posterior.mean.detach().numpy(), posterior.variance.sqrt().detach().numpy()


class SingleTask:
    """BoTorch, SingleTaskGP."""

    def fit(self, data):
        """Fit to X (N, n_in) and y (N, n_out), with the bounds of the inputs."""
        X = torch.as_tensor(data.X)
        y = torch.as_tensor(data.y)
        scale = Normalize(X.shape[1], bounds=torch.as_tensor(data.bounds))
        self.model = SingleTaskGP(X, y, input_transform=scale)  # it standardises the outputs
        fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        return moments(self.model, X)


class Warped:
    """BoTorch, SingleTaskGP, Matérn 5/2 and warped inputs."""

    def fit(self, data):
        """Fit a process to each output, with separate length scales and warps."""
        X = torch.as_tensor(data.X)
        y = torch.as_tensor(data.y)
        box = torch.as_tensor(data.bounds)
        inputs = X.shape[1]
        self.fitted = []
        for j in range(y.shape[1]):
            prior = LogNormalPrior(0.0, 0.75**0.5)
            priors = {"concentration0_prior": prior, "concentration1_prior": prior}
            warp = Warp(inputs, [*range(inputs)], bounds=box, **priors)
            kernel = get_covar_module_with_dim_scaled_prior(inputs, use_rbf_kernel=False)
            options = {"covar_module": kernel, "input_transform": warp}
            self.fitted.append(SingleTaskGP(X, y[:, j : j + 1], **options))
            mll = ExactMarginalLogLikelihood(self.fitted[-1].likelihood, self.fitted[-1])
            fit_gpytorch_mll(mll)

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (2, n, n_out)."""
        return np.concatenate([moments(model, X) for model in self.fitted], axis=-1)


class MultiTask:
    """BoTorch, MultiTaskGP."""

    def fit(self, data):
        """Fit one process to all outputs; the index of the output is an additional input."""
        self.tasks = data.y.shape[1]
        inputs = data.X.shape[1]
        box = torch.as_tensor(data.bounds)
        scale = Normalize(inputs + 1, indices=[*range(inputs)], bounds=box)
        self.centre = data.y.mean(axis=0)
        self.scale = data.y.std(axis=0)
        values = torch.as_tensor(((data.y - self.centre) / self.scale).T.reshape(-1, 1))
        options = {"input_transform": scale, "outcome_transform": None}
        self.model = MultiTaskGP(self.numbered(data.X), values, task_feature=-1, **options)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))

    def numbered(self, X):
        """Stack one copy of X per output, with the index of the output as last column."""
        tasks = np.repeat(np.arange(self.tasks), len(X))
        return torch.as_tensor(np.column_stack([np.tile(X, (self.tasks, 1)), tasks]))

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, in the units of y."""
        mean, std = (m.reshape(self.tasks, -1).T for m in moments(self.model, self.numbered(X)))
        return self.centre + self.scale * mean, self.scale * std


class Saas:
    """BoTorch, SAAS by NUTS."""

    def fit(self, data):
        """Sample the hyperparameters of a process for each output by NUTS."""
        X = torch.as_tensor(data.X)
        y = torch.as_tensor(data.y)
        scale = Normalize(X.shape[1], bounds=torch.as_tensor(data.bounds))
        self.fitted = []
        for j in range(y.shape[1]):
            options = {"input_transform": scale, "outcome_transform": Standardize(1)}
            self.fitted.append(SaasFullyBayesianSingleTaskGP(X, y[:, j : j + 1], **options))
            fit_fully_bayesian_model_nuts(self.fitted[-1], disable_progbar=True)

    def each(self, X):
        """Return the means and standard deviations of all draws, (2, draws, n, n_out)."""
        predictions = [moments(model, X) for model in self.fitted]  # (draws, n, 1)
        return np.transpose(predictions, (1, 2, 3, 0, 4))[..., 0]  # (2, draws, n, n_out)

    def predict(self, X):
        """Return mean and standard deviation of the mixture of all draws at X."""
        mean, std = self.each(X)
        return mean.mean(axis=0), np.sqrt((std**2).mean(axis=0) + mean.var(axis=0))

    def elppd(self, X, y):
        """Return the log density of y under this mixture, summed over rows and outputs."""
        logs = norm.logpdf(y, *self.each(X))
        return (logsumexp(logs, axis=0) - np.log(len(logs))).sum()
