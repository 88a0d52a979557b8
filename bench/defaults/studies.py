"""What the defaults leave out, on one split of a public set, as differences from the defaults."""

from pathlib import Path

import numpy as np

import bnn
from bench.defaults.parts import PARTS, ExtendedDensity
from bench.scoreboard import public
from bench.scoreboard.problems import Problem, Split
from bench.scoreboard.scores import scores
from bnn.gp.evidence.families import FamilyDensity
from bnn.gp.evidence.laplace import approximated, most_probable
from bnn.gp.evidence.mixture import families_for
from bnn.noise import covariance_at, noise_of_data

Found = dict[str, dict[str, float]]  # of each alternative what it changes, by name
STEPS = 100  # of each of the two searches for the hyper-parameters of a family


def parts(problem: Problem, number: int) -> Found:
    """Return what a part changes beside the largest family, at most probable hyper-parameters.

    The noise is that of `evidence.fit_kernel_average` for all of them, which takes it from its own
    families: a part that would explain some of it cannot. The log evidence is Laplace's.
    """
    split = problem.split(number)
    X = split.given["X"]
    y = split.given["y"]
    noise = bnn.evidence.fit_kernel_average(X, y, noise="gaussian")[1]
    variances = np.ravel(covariance_at(noise_of_data(noise, X, y), X))
    relative = np.broadcast_to(variances, len(X)).copy()
    low = X.min(axis=0)
    width = np.ptp(X, axis=0)
    width[width == 0.0] = 1.0
    u = (X - low) / width
    family = families_for(*u.shape)[-1]
    largest = FamilyDensity(family, u, y[:, 0], None, relative)
    base = approximated(largest, most_probable(largest, [largest.centre], STEPS), 0)
    densities = {"": largest}
    for part in PARTS:
        densities[part] = ExtendedDensity(family, u, y[:, 0], relative, part)
    found = {}
    for part, density in densities.items():
        fit = base.refitted(density, 0, STEPS)
        kernel = density.kernel(fit.eta, low, width, 1.0)
        model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, kernel), noise=noise)
        predicted = model.fit(X, y).predict(
            split.given["X_test"], return_std=True, include_noise=True
        )
        found[part] = {"log evidence": fit.log_evidence} | _scores(split, *predicted)
    return {part: _less(found[part], found[""]) for part in PARTS}


def positive_rows(folder: Path, problem: Problem) -> np.ndarray:
    """Return the rows of a set whose y has a logarithm, (n, n_in + 1).

    Raises:
        ValueError: A y is not positive, or the set has no folder with splits.
    """
    splits = folder / f"{problem.name}.json"
    if not splits.is_file():
        raise ValueError(f"{problem.name}: must have a folder with splits")
    rows = public.read_rows(splits.with_name("data.csv"))
    if rows[:, -1].min() <= 0.0:
        first = int(np.argmax(rows[:, -1] <= 0.0))
        raise ValueError(f"{problem.name}: y of row {first} is {rows[first, -1]:g}: no logarithm")
    return rows


def logarithm(folder: Path, problem: Problem, number: int) -> Found:
    """Return what the logarithm of y changes; the log-likelihood is that of y in both cases.

    Raises:
        ValueError: As `positive_rows`.
    """
    rows = positive_rows(folder, problem)
    tests = public.read_splits(folder / f"{problem.name}.json", len(rows))
    tested = np.isin(np.arange(len(rows)), tests[number])
    X = rows[~tested, :-1]
    y = rows[~tested, -1]
    X_test = rows[tested, :-1]
    y_test = rows[tested, -1]

    as_it_is = bnn.GPRegressor().fit(X, y)
    found = {
        "log-likelihood": as_it_is.elppd(X_test, y_test) / len(y_test),
        "RMSE": bnn.metrics.rmse(y_test, as_it_is.predict(X_test)),
    }
    model = bnn.GPRegressor().fit(X, np.log(y))
    mean, std = model.predict(X_test, return_std=True, include_noise=True)
    # p(y) = p(log y) / y, and E y = exp(m + s² / 2) of a log-normal y.
    of_logarithm = {
        "log-likelihood": (model.elppd(X_test, np.log(y_test)) - np.log(y_test).sum())
        / len(y_test),
        "RMSE": bnn.metrics.rmse(y_test, np.exp(mean + 0.5 * std**2)),
    }
    return {"log y": _less(of_logarithm, found)}


def points(problem: Problem, number: int) -> Found:
    """Return scores of anchored networks less those of the exact posterior with the same prior.

    The measurement points beside the training inputs are those of the default, in the box of the
    inputs, or the test inputs. In the second case networks are pre-trained at training and test
    inputs, and their outputs scaled by realisations of the prior, as `pretrain` does.
    """
    split = problem.split(number)
    X, y, X_test = (split.given[name] for name in ("X", "y", "X_test"))
    prior, noise = bnn.evidence.fit_kernel_average(X, y, noise="gaussian")
    exact = bnn.GPRegressor(prior, noise=noise).fit(X, y)
    box = bnn.FunctionAnchoredEnsemble(prior, noise=noise, random_state=0)
    asked = bnn.FunctionAnchoredEnsemble(
        prior,
        noise=noise,
        anchoring=bnn.FunctionAnchoring(n_points=len(X_test)),
        random_state=0,
    )
    asked.pretrain(np.vstack([X, X_test]))
    base = _scores(split, *exact.predict(X_test, return_std=True, include_noise=True))
    found = {}
    for name, model in {"points of the box": box, "points that are asked for": asked}.items():
        predicted = model.fit(X, y).predict(X_test, return_std=True, include_noise=True)
        found[name] = _less(_scores(split, *predicted), base)
    return found


def _scores(split: Split, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
    found = scores(split, {"mean": mean, "std": std, "fit": np.nan, "predict": np.nan})
    names = {"log-likelihood": "loglik", "RMSE": "rmse", "coverage": "coverage"}
    return {name: found[key] for name, key in names.items()}


def _less(found: dict[str, float], base: dict[str, float]) -> dict[str, float]:
    return {name: value - base[name] for name, value in found.items()}
