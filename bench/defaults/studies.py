"""What the defaults leave out, on one split of a public set, as differences from the defaults."""

from pathlib import Path

import numpy as np
import torch

import bnn
from bench.defaults.parts import PARTS, ExtendedDensity
from bench.scoreboard import public
from bench.scoreboard.problems import Problem, Split
from bench.scoreboard.scores import scores
from bnn.noise import covariance_at, noise_of_data
from bnn.priors.evidence.families import FamilyDensity
from bnn.priors.evidence.mixture import families_for

Found = dict[str, dict[str, float]]  # of each alternative what it changes, by name


def parts(problem: Problem, number: int) -> Found:
    """Return what a part changes beside the largest family, at most probable hyper-parameters.

    The noise is that of `evidence.fit_mixture` for all of them, which takes it from its own
    families. The log density is that of data and hyper-parameters: the log evidence gains less,
    since it loses with every hyper-parameter that the data tell.
    """
    split = problem.split(number)
    X, X_test = split.given["X"], split.given["X_test"]
    y = split.given["y"]
    noise = noise_of_data(bnn.evidence.fit_mixture(X, y, tails=False)[1], X, y)
    low = X.min(axis=0)
    width = np.ptp(X, axis=0)
    width[width == 0.0] = 1.0
    u = (X - low) / width
    family = families_for(*u.shape)[-1]
    largest = FamilyDensity(family, u, y[:, 0], None, _variances(noise, X))
    start = ExtendedDensity(largest).most_probable(largest.centre)
    found = {}
    for part in (None, *PARTS):
        density = ExtendedDensity(largest, part)
        eta = density.most_probable(start)
        mean, variance = density.predict(eta, (X_test - low) / width)
        std = np.sqrt(variance + _variances(noise, X_test))
        value = float(density(torch.as_tensor(eta)))
        found[part] = {"log density": value} | _scores(split, mean[:, None], std[:, None])
    return {part: _less(found[part], found[None]) for part in PARTS}


def logarithm(folder: Path, problem: Problem, number: int) -> Found:
    """Return what the logarithm of y changes; log evidence and log-likelihood are those of y.

    Raises:
        ValueError: The set has no logarithm, since a y is not positive, or has one split.
    """
    splits = folder / f"{problem.name}.json"
    if not splits.is_file():
        raise ValueError(f"{problem.name}: must have a folder with splits")
    rows = public.read_rows(splits.with_name("data.csv"))
    if rows[:, -1].min() <= 0.0:
        raise ValueError(f"{problem.name}: a y is {rows[:, -1].min():g}, and has no logarithm")
    tested = np.isin(np.arange(len(rows)), public.read_splits(splits, len(rows))[number])
    X, y = rows[~tested, :-1], rows[~tested, -1]
    X_test, y_test = rows[tested, :-1], rows[tested, -1]

    as_it_is = bnn.ExactPosterior().fit(X, y)
    found = {
        "log evidence": as_it_is.log_evidence(),
        "log-likelihood": as_it_is.elppd(X_test, y_test) / len(y_test),
        "RMSE": bnn.metrics.rmse(y_test, as_it_is.predict(X_test)),
    }
    model = bnn.ExactPosterior().fit(X, np.log(y))
    mean, std = model.predict(X_test, return_std=True)
    # p(y) = p(log y) / y, and E y = exp(m + s² / 2) of a log-normal y.
    of_logarithm = {
        "log evidence": model.log_evidence() - np.log(y).sum(),
        "log-likelihood": (model.elppd(X_test, np.log(y_test)) - np.log(y_test).sum())
        / len(y_test),
        "RMSE": bnn.metrics.rmse(y_test, np.exp(mean + 0.5 * std**2)),
    }
    return {"log y": _less(of_logarithm, found)}


def points(problem: Problem, number: int) -> Found:
    """Return what anchored networks lose against the exact posterior of the same prior and noise.

    The measurement points beside the training inputs are those of the default, in the box of the
    inputs, or the test inputs. In the second case networks are pre-trained at training and test
    inputs.
    """
    split = problem.split(number)
    X, y, X_test = (split.given[name] for name in ("X", "y", "X_test"))
    prior, noise = bnn.evidence.fit_mixture(X, y, tails=False)
    exact = bnn.ExactPosterior(prior, noise=noise).fit(X, y)
    box = bnn.FunctionAnchoredEnsemble(prior, noise=noise, random_state=0)
    asked = bnn.FunctionAnchoredEnsemble(
        prior,
        noise=noise,
        anchoring=bnn.FunctionAnchoring(points=len(X_test)),
        random_state=0,
    )
    asked.pretrain(np.vstack([X, X_test]))
    base = _scores(split, *exact.predict(X_test, return_std=True, total=True))
    found = {}
    for name, model in {"points of the box": box, "points that are asked for": asked}.items():
        predicted = model.fit(X, y).predict(X_test, return_std=True, total=True)
        found[name] = _less(_scores(split, *predicted), base)
    return found


def _variances(noise: object, X: np.ndarray) -> np.ndarray:
    """Return those of one output at X, (n,)."""
    return np.broadcast_to(np.ravel(covariance_at(noise, X)), len(X)).copy()


def _scores(split: Split, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
    found = scores(split, {"mean": mean, "std": std, "fit": np.nan, "predict": np.nan})
    names = {"log-likelihood": "loglik", "RMSE": "rmse", "coverage": "coverage"}
    return {name: found[key] for name, key in names.items()}


def _less(found: dict[str, float], base: dict[str, float]) -> dict[str, float]:
    return {name: value - base[name] for name, value in found.items()}
