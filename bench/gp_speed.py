"""Speed of Gaussian process regression: python -m bench.gp_speed prints a table.

The default of GPRegressor is timed beside scikit-learn (a squared exponential kernel, constant
noise, one restart) and BoTorch (SingleTaskGP), if it is installed. The data have six inputs and one
noisy output. Times are processor seconds of one thread. Each repetition has other data and times
all libraries on them: the table has medians, and in brackets the smallest and the largest value.
"""

import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 100, 300, 1000])
    parser.add_argument("--repeats", type=int, default=3, help="repetitions, with other data each")
    parser.add_argument("--points", type=int, default=10_000, help="points of the predictions")
    options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

import bnn
from figures.markdown import table_lines

N_INPUTS = 6
WORKS = ("fit", "mean", "mean and deviation")


class Ours:
    """The default of GPRegressor."""

    name = "bnn"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit to X (N, n_in) and y (N,)."""
        self.model = bnn.GPRegressor().fit(X, y)

    def mean(self, X: np.ndarray) -> None:
        """Compute means at X (n, n_in)."""
        self.model.predict(X)

    def deviation(self, X: np.ndarray) -> None:
        """Compute means and standard deviations at X (n, n_in)."""
        self.model.predict(X, return_std=True)


class ScikitLearn(Ours):
    """A process with constant noise, whose hyperparameters have the largest evidence."""

    name = "scikit-learn"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit to X (N, n_in) and y (N,)."""
        kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel()
        settings = {"normalize_y": True, "n_restarts_optimizer": 1, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # length scales without effect
            self.model = GaussianProcessRegressor(kernel, **settings).fit(X, y)


class BoTorch(Ours):
    """SingleTaskGP, whose hyperparameters have the largest posterior density."""

    name = "BoTorch"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit to X (N, n_in) and y (N,)."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Normalize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        data = torch.as_tensor(X), torch.as_tensor(y[:, None])
        self.model = SingleTaskGP(*data, input_transform=Normalize(X.shape[1]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))

    def mean(self, X: np.ndarray) -> None:
        """Compute means at X (n, n_in)."""
        import torch

        with torch.no_grad():
            self.model.posterior(torch.as_tensor(X)).mean.numpy()

    def deviation(self, X: np.ndarray) -> None:
        """Compute means and standard deviations at X (n, n_in)."""
        import torch

        with torch.no_grad():
            self.model.posterior(torch.as_tensor(X)).variance.sqrt().numpy()


def libraries() -> list[type[Ours]]:
    """Return the libraries that are installed, ours first."""
    installed = importlib.util.find_spec("botorch") is not None
    return [Ours, ScikitLearn, *([BoTorch] if installed else [])]


def dataset(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (rows, N_INPUTS) and y (rows,) of a smooth function with constant noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, N_INPUTS))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] * X[:, 3] + 0.5 * np.cos(5.0 * X[:, 4])
    return X, f + 0.2 * X[:, 5] + 0.1 * rng.standard_normal(rows)


def seconds(action: Callable[[], object]) -> float:
    """Return the processor time of an action [s]."""
    start = time.process_time()
    action()
    return time.process_time() - start


def measured(library: type[Ours], rows: int, seed: int, new: np.ndarray) -> list[float]:
    """Return the times of a fit, of means, and of means and deviations at new points [s]."""
    X, y = dataset(rows, seed)
    model = library()
    fit = seconds(lambda: model.fit(X, y))
    model.mean(new[:2])
    return [fit, seconds(lambda: model.mean(new)), seconds(lambda: model.deviation(new))]


def spread(values: Sequence[float]) -> str:
    """Return the median of values, with the smallest and the largest in brackets."""
    middle = f"{statistics.median(values):.2g}"
    return f"{middle} [{min(values):.2g}, {max(values):.2g}]"


def rows_of_table(rows: int, repeats: int, points: int) -> list[list[str]]:
    """Return the lines of the table for a number of rows of the data."""
    new = np.random.default_rng(0).uniform(size=(points, N_INPUTS))
    kinds = libraries()
    times = np.array(
        [[measured(kind, rows, seed, new) for kind in kinds] for seed in range(repeats)]
    )
    lines = []
    for i, work in enumerate(WORKS):
        ours = times[:, 0, i]
        ratios = [spread(ours / times[:, k, i]) for k in range(1, len(kinds))]
        lines.append([f"{rows}", work, spread(ours), *ratios])
    return lines


def main(sizes: Sequence[int], repeats: int, points: int) -> None:
    """Print the table."""
    kinds = libraries()
    if BoTorch not in kinds:
        print("BoTorch is not installed, so it is not compared.")
    head = ["rows", "work", f"{Ours.name} [s]", *(f"/ {kind.name}" for kind in kinds[1:])]
    with threadpool_limits(limits=1):
        measured(Ours, 20, 0, np.zeros((2, N_INPUTS)))  # imports on first use
        rows = (row for size in sizes for row in rows_of_table(size, repeats, points))
        for line in table_lines(head, rows):
            print(line, flush=True)


if __name__ == "__main__":
    main(options.rows, options.repeats, options.points)
