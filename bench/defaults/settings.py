"""Settings of `evidence.fit_kernel_average`, each against the one that was there before.

- sparse: with fewer than ten data for each input a linear trend in one family alone, a wider
  hyperprior of length scales whose medians grow with √n_in, and more starts of searches;
- smooth: above 300 data an RBF among the families;
- evidence: families weighted by the evidence of their draws instead of Laplace's approximation.

What chooses and what judges was written down before anything was compared. The composite's shipped
tables, the functions "chosen/..." and the standard splits of concrete and yacht choose, and for a
smooth family the gap splits of energy do. A setting is taken if it is better on the functions
"chosen/..." and on no problem that chooses worse, in log-likelihood or RMSE, by more than one
standard error of the paired differences. All other sets and functions chose nothing; but only the
functions "judge/..." had not been looked at when the number of data for each input, below which
families have no trend, was set to that from which inputs are mixed, and "seen/curved-40" is why one
family has it all the same.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import bnn
from bench.scoreboard.problems import Problem, Split
from bnn import metrics
from bnn.gp.evidence import laplace, mixture
from bnn.gp.evidence.families import Family

SETTINGS = ("sparse", "smooth", "evidence")
MANY = 300  # data above which the plain process has one search instead of five


def settings(problem: Problem, number: int) -> dict[str, dict[str, float]]:
    """Return scores of the default, less those without a setting, and less those of others.

    "plain" is scikit-learn's Gaussian process of largest evidence for each output, with an RBF of
    one length scale for each input and white noise. RMSE is in standard deviations of y; that of
    functions is of f without its noise. Seconds are a ratio of processor times of the fit.
    """
    split = problem.split(number)
    now = _scored(split, ())
    found = {}
    for setting in SETTINGS:
        found[f"with {setting}"] = _compared(now, _scored(split, (setting,)))
    found["with all"] = _compared(now, _scored(split, SETTINGS))
    found["beside a plain process"] = _compared(now, _plain(split))
    return found


@contextmanager
def without(names: tuple[str, ...]) -> Iterator[None]:
    """Put the settings back to what was there before."""
    tried = mixture.families_for
    smooth = Family((mixture.RBF,), most=mixture.SMOOTH)

    def families_for(n_data: int, n_inputs: int) -> list[Family]:
        found = tried(n_data, n_inputs)
        if "smooth" in names:
            found = [each for each in found if each != smooth]
        if "sparse" in names and n_data <= mixture.FEW:
            found = [replace(each, trend=True, sparse=False) for each in found]
            found = list(dict.fromkeys(found))
        return found

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(mixture, "families_for", families_for))
        if "evidence" in names:
            # No sample has so many effective draws, so that Laplace's evidence is taken.
            stack.enter_context(mock.patch.object(laplace, "RELIABLE", np.inf))
        yield


def _scored(split: Split, names: tuple[str, ...]) -> dict[str, float]:
    """Return the scores of the default without some settings."""
    given = split.given
    with without(names):
        start = time.process_time()
        model = bnn.GPRegressor().fit(given["X"], given["y"])
        seconds = time.process_time() - start
    mean, std = model.predict(given["X_test"], return_std=True, include_noise=True)
    return _scores(split, mean, std, seconds)


def _plain(split: Split) -> dict[str, float]:
    """Return the scores of a plain Gaussian process for each output."""
    given = split.given
    width = np.ptp(given["X"], axis=0)
    width[width == 0.0] = 1.0
    restarts = 4 if len(given["X"]) <= MANY else 0
    rbf = RBF(np.ones(len(width)), (1e-2, 1e3))
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * rbf + WhiteKernel(1e-2, (1e-8, 10.0))
    start = time.process_time()
    moments = []
    for y in given["y"].T:
        model = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=restarts, random_state=0
        )
        model.fit(given["X"] / width, y)
        moments.append(model.predict(given["X_test"] / width, return_std=True))
    seconds = time.process_time() - start
    mean, std = (np.column_stack(each) for each in zip(*moments, strict=True))
    return _scores(split, mean, std, seconds)


def _scores(split: Split, mean: np.ndarray, std: np.ndarray, seconds: float) -> dict[str, float]:
    """Return the scores of means and standard deviations with noise at the test points."""
    y = split.y_test
    mean = mean.reshape(y.shape)
    std = std.reshape(y.shape)
    return {
        "log-likelihood": metrics.elppd_gaussian(y, mean, std) / len(y),
        "RMSE": metrics.rmse(split.given.get("f_test", y), mean),
        "coverage": metrics.coverage(y, mean, std),
        "seconds": seconds,
    }


def _compared(now: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """Return differences of scores, and the relative difference of seconds."""
    found = {name: value - other[name] for name, value in now.items()}
    return found | {"seconds": found["seconds"] / other["seconds"]}
