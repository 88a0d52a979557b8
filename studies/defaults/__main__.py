"""Alternatives to the defaults of `bnn`: python -m studies.defaults STUDY, on public sets.

- logarithm: `bnn.GPRegressor()` fitted to log y instead of y;
- points: `bnn.FunctionAnchoredEnsemble` with its default measurement points, and with the test
  inputs as measurement points, instead of the exact posterior with the same prior.

The output is the score of the alternative minus that of the default (logarithm), or minus that of
the exact posterior (points), as the mean over splits with its 95 % half-width.
studies/scoreboard/public.py describes the folder.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import bnn
from studies.scoreboard import problems, public
from studies.scoreboard.comparison import between
from studies.scoreboard.problems import Problem
from studies.scoreboard.scores import scores

NAMES = ("logarithm", "points")
SCORES = {"log-likelihood": "loglik", "RMSE": "rmse", "coverage": "coverage"}
Changes = dict[str, dict[str, float]]  # alternative → score → difference from the default


def positive_rows(folder: Path, problem: Problem) -> np.ndarray:
    """Return the rows of a set, (n, n_in + 1), and check that all y are positive.

    Raises:
        ValueError: If a y is not positive, or the set has no folder with splits.
    """
    splits = folder / f"{problem.name}.json"
    if not splits.is_file():
        raise ValueError(f"{problem.name}: must have a folder with splits")
    rows = public.read_rows(splits.with_name("data.csv"))
    if rows[:, -1].min() <= 0.0:
        first = int(np.argmax(rows[:, -1] <= 0.0))
        raise ValueError(f"{problem.name}: y of row {first} is {rows[first, -1]:g}: must be > 0")
    return rows


def logarithm(folder: Path, problem: Problem, number: int) -> Changes:
    """Return how the logarithm of y changes the scores on a split.

    Both log-likelihoods are densities of y, so that they can be compared.
    """
    rows = positive_rows(folder, problem)
    tests = public.read_splits(folder / f"{problem.name}.json", len(rows))
    tested = np.isin(np.arange(len(rows)), tests[number])
    X, y = rows[~tested, :-1], rows[~tested, -1]
    X_test, y_test = rows[tested, :-1], rows[tested, -1]
    default = bnn.GPRegressor().fit(X, y)
    model = bnn.GPRegressor().fit(X, np.log(y))
    mean, std = model.predict(X_test, return_std=True, include_noise=True)
    # p(y) = p(log y) / y, and E y = exp(m + s² / 2) for a log-normal y.
    density = model.elppd(X_test, np.log(y_test)) - np.log(y_test).sum()
    rmse = bnn.metrics.rmse(y_test, np.exp(mean + 0.5 * std**2))
    change = {
        "log-likelihood": (density - default.elppd(X_test, y_test)) / len(y_test),
        "RMSE": rmse - bnn.metrics.rmse(y_test, default.predict(X_test)),
    }
    return {"log y": change}


def points(problem: Problem, number: int) -> Changes:
    """Return scores of anchored networks minus those of the exact posterior.

    The measurement points are the default ones or the test inputs. With the test inputs, networks
    are pre-trained at training and test inputs, and `pretrain` scales their outputs by realisations
    of the prior.
    """
    split = problem.split(number)
    X, y, X_test = (split.data[name] for name in ("X", "y", "X_test"))
    prior, noise = bnn.evidence.fit_kernel_average(X, y, noise="gaussian")
    assert not isinstance(noise, bnn.StudentNoise)

    def scored(model) -> dict[str, float]:
        predicted = model.fit(X, y).predict(X_test, return_std=True, include_noise=True)
        seconds = {"fit": np.nan, "predict": np.nan}
        values = scores(split, dict(zip(("mean", "std"), predicted, strict=True)) | seconds)
        return {name: values[key] for name, key in SCORES.items()}

    exact = scored(bnn.GPRegressor(prior, noise=noise))
    default = bnn.FunctionAnchoredEnsemble(prior, noise=noise, random_state=0)
    anchoring = bnn.FunctionAnchoring(n_points=len(X_test))
    at_test = bnn.FunctionAnchoredEnsemble(prior, noise=noise, anchoring=anchoring, random_state=0)
    at_test.pretrain(np.vstack([X, X_test]))
    predictions = {"default points": scored(default), "points at the test inputs": scored(at_test)}
    return {
        name: {score: value - exact[score] for score, value in changes.items()}
        for name, changes in predictions.items()
    }


def main() -> None:
    """Run a study and print its results."""
    parser = argparse.ArgumentParser("python -m studies.defaults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("study", choices=NAMES)
    parser.add_argument("--data", type=Path, required=True, help="folder of public sets")
    parser.add_argument(
        "--problems",
        nargs="+",
        required=True,
        help="sets and kinds of splits, such as yacht/gap, or beginnings of their names",
    )
    parser.add_argument("--splits", type=int, default=4, help="splits per problem (default: 4)")
    options = parser.parse_args()
    if options.splits < 1:
        parser.error(f"--splits {options.splits}: must be 1 or more")
    study = points if options.study == "points" else partial(logarithm, options.data)
    try:
        every = public.problems(options.data)
        chosen = problems.beginning(every, options.problems, "problem of --problems")
        if options.study == "logarithm":
            for problem in chosen:
                positive_rows(options.data, problem)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for problem in chosen:
        changes = defaultdict(list)
        for number in range(min(options.splits, problem.splits)):
            for label, change in study(problem, number).items():
                changes[label].append(change)
                words = f"{problem.name}, split {number}, {label}: {_in_words([change])}"
                print(words, file=sys.stderr)
        for label, rows in changes.items():
            print(f"{problem.name}, splits: {len(rows)}, {label}: {_in_words(rows)}", flush=True)


def _in_words(changes: Sequence[dict[str, float]]) -> str:
    """Return mean and 95 % half-width of each score as text."""
    cells = []
    for name in changes[0]:
        gap = between([change[name] for change in changes])
        assert gap is not None
        margin = f" ± {gap.half_width:.2g}" if gap.splits > 1 else ""
        cells.append(f"{name} {gap.mean:+.3g}{margin}")
    return ", ".join(cells)


if __name__ == "__main__":
    main()
