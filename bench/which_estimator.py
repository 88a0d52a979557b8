"""Which estimator: python -m bench.which_estimator scores five of them on the shipped tables.

All are given the same cells, scaled as in the paper, and the same noise, and a prior, where they
take one, is that of `bnn.evidence.fit_prior` unless it is said to be the paper's. Moments are
scored by one rule; seconds are processor time of one thread.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

import bnn
from figures.beyond.scores import LOG_UNITS
from figures.materials.problem import Samples, fit_theta, functional_prior, load_samples, noise_std
from figures.pipeline.paths import SHIPPED_TABLES, TEST

CASES = {
    "25 cells": ("train_uniform", 25),
    "100 cells": ("train_uniform", 100),
    "50 cells, out of distribution": ("train_beta", 50),
}


@dataclass
class ScikitLearn:
    """Gaussian processes of scikit-learn, one for each output, with a length scale per input."""

    noise: np.ndarray

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Search the hyper-parameters; the noise is known."""
        kernel = ConstantKernel() * RBF(np.ones(X.shape[1]))
        options = {"normalize_y": True, "n_restarts_optimizer": 4, "random_state": 0}
        alphas = (self.noise / y.std(axis=0)) ** 2  # in the units of normalised outputs
        processes = [GaussianProcessRegressor(kernel, alpha=a, **options) for a in alphas]
        self.fitted = [gp.fit(X, column) for gp, column in zip(processes, y.T, strict=True)]
        return self

    def predict(self, X: np.ndarray, return_std: bool) -> np.ndarray:
        """Mean and standard deviation, (2, n, 5)."""
        return np.stack([gp.predict(X, return_std=return_std) for gp in self.fitted], axis=-1)


def by_evidence(train: Samples) -> bnn.MixturePrior:
    return bnn.evidence.fit_prior(train.X, train.y, noise_std())


def of_paper(train: Samples) -> bnn.GaussianProcessPrior:
    return functional_prior(fit_theta(train))


ESTIMATORS: dict[str, tuple[type, Callable[[Samples], Any] | None]] = {  # with their priors
    "`VanillaEnsemble`": (bnn.VanillaEnsemble, None),
    "`AnchoredEnsemble`, the paper's prior": (bnn.AnchoredEnsemble, of_paper),
    "`AnchoredEnsemble`": (bnn.AnchoredEnsemble, by_evidence),
    "`FunctionAnchoredEnsemble`": (bnn.FunctionAnchoredEnsemble, by_evidence),
    "`ExactPosterior`": (bnn.ExactPosterior, by_evidence),
    "scikit-learn's Gaussian process": (ScikitLearn, None),
}


def scores(name: str, train: Samples, test: Samples, seed: int) -> list[float]:
    """RMSE, coverage, ELPPD of the moments and of the members' mixture, and seconds."""
    (kind, prior), noise, started = ESTIMATORS[name], noise_std(), time.process_time()
    given = {} if prior is None else {"prior": prior(train)}
    if "Ensemble" in name:
        given["random_state"] = seed
    model = kind(**given, noise=noise).fit(train.X, train.y)
    mean, std = model.predict(test.X, return_std=True)
    seconds, mixture = time.process_time() - started, np.nan
    if hasattr(model, "members_"):
        mixture = bnn.metrics.elppd(test.y, model.sample(test.X), noise)
    densities = np.array([bnn.metrics.elppd_gaussian(test.y, mean, std, noise), mixture])
    inside = bnn.metrics.coverage(test.y, mean, std, noise=noise)
    return [bnn.metrics.rmse(test.y, mean), inside, *densities - len(test) * LOG_UNITS, seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="trainings of each ensemble")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options, folder = parser.parse_args(), SHIPPED_TABLES
    torch.set_num_threads(1)
    # scikit-learn says of every search whose length scale ends at a bound that it does.
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        for case in options.cases:
            train, test = load_samples(folder, *CASES[case]), load_samples(folder, TEST)
            for name in ESTIMATORS:
                seeds = range(options.seeds if "Ensemble" in name else 1)
                means = np.mean([scores(name, train, test, seed) for seed in seeds], axis=0)
                numbers = map("{:.{}f}".format, means, (3, 2, 0, 0, 1))
                cells = (each.replace("-", "−").replace("nan", "") for each in numbers)
                print("|", " | ".join([case, name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
