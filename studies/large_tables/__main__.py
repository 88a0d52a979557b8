"""Tables too large for GPRegressor: python -m studies.large_tables compares three alternatives.

The data are 20,000 training and 5,000 test rows of the Friedman function, which depends on five of
ten inputs, with noise of standard deviation 1. Intervals have the level 90 %. The alternatives are
gradient boosting of scikit-learn with split conformal intervals, a variational Gaussian process of
GPyTorch, and `GPRegressor` with the first 500 rows. Gradient boosting is fitted to four fifths of
the rows; the absolute errors on the other rows give its intervals.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

import bnn

CONFIDENCE = 0.9
Z = 1.6449  # half width of the 90 % interval of a standard normal distribution


def boosting(X, y, X_new):
    """Return predictions and half widths of split conformal intervals."""
    fitted = len(X) * 4 // 5
    model = HistGradientBoostingRegressor(max_iter=500, early_stopping=True, random_state=0)
    model.fit(X[:fitted], y[:fitted])
    errors = np.sort(np.abs(y[fitted:] - model.predict(X[fitted:])))
    rank = int(np.ceil((len(errors) + 1) * CONFIDENCE)) - 1
    return model.predict(X_new), np.full(len(X_new), errors[rank])


def some_rows(X, y, X_new):
    """Return predictions and half widths of a GPRegressor fitted to the first 500 rows."""
    model = bnn.GPRegressor(noise="constant").fit(X[:500], y[:500])
    mean, std = model.predict(X_new, return_std=True, include_noise=True)
    return mean, Z * std


def inducing_points(X, y, X_new):
    """Return predictions and half widths of a variational GPyTorch process with 200 points."""
    import gpytorch
    import torch

    class Process(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            points_of = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            strategy = gpytorch.variational.VariationalStrategy
            super().__init__(strategy(self, points, points_of, learn_inducing_locations=True))
            self.mean = gpytorch.means.ConstantMean()
            kernel = gpytorch.kernels.RBFKernel(ard_num_dims=points.shape[1])
            self.kernel = gpytorch.kernels.ScaleKernel(kernel)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    torch.manual_seed(0)
    centre, scale = y.mean(), y.std()
    inputs = torch.as_tensor(X, dtype=torch.float32)
    targets = torch.as_tensor((y - centre) / scale, dtype=torch.float32)
    process = Process(inputs[:200].clone())
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    elbo = gpytorch.mlls.VariationalELBO(likelihood, process, len(y))
    adam = torch.optim.Adam([*process.parameters(), *likelihood.parameters()], lr=0.01)
    for _ in range(15):
        for rows in torch.randperm(len(y)).split(500):
            adam.zero_grad()
            (-elbo(process(inputs[rows]), targets[rows])).backward()
            adam.step()
    process.eval()
    likelihood.eval()
    with torch.no_grad():
        predictive = likelihood(process(torch.as_tensor(X_new, dtype=torch.float32)))
        mean, std = predictive.mean.double().numpy(), predictive.variance.double().sqrt().numpy()
    return centre + scale * mean, Z * scale * std


def scores(method):
    """Return RMSE, coverage, mean width and seconds of processor time of a method."""
    X, y = make_friedman1(25_000, noise=1.0, random_state=0)
    start = time.process_time()
    mean, half = method(X[:20_000], y[:20_000], X[20_000:])
    seconds = time.process_time() - start
    away = np.abs(y[20_000:] - mean)
    return np.sqrt(np.mean(away**2)), np.mean(away <= half), 2.0 * half.mean(), seconds


def main() -> None:
    """Print the scores of each method."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for method in (boosting, inducing_points, some_rows):
        error, inside, width, seconds = scores(method)
        share = f"inside 90 % {inside:.3f}, width {width:.2f}"
        print(f"{method.__name__}: RMSE {error:.3f}, {share}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
