"""Public sets with published splits and scores, read from a folder, which docs/scoreboard.md says.

NAME/data.csv has inputs and, as its last column, y; NAME/KIND.json the rows of the test set of each
split, counted from 0; all other rows are training data. published.csv has scores that others
reached on these splits. NAME.csv beside these folders is a set with one split, that of
scikit-learn's `train_test_split(test_size=0.2, random_state=0)`, whose scores, in
NAME_published.csv too, are in units of the standard deviation of y in the training rows.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from bench.scoreboard.problems import Problem, Split, digest

PUBLISHED = "published"
SETS = {"concrete", "energy", "wine", "yacht", "airfoil"}  # those of docs/scoreboard.md
HOLDOUT = "holdout"  # the kind of the single split
NAMES = {"LL": "loglik", "RMSE": "rmse"}  # published score → ours
FEWEST = 2  # training rows, of which a standard deviation can be taken
ROUNDING = 1e-13  # deviation of a column that does not vary, relative to its largest value


def problems(folder: Path) -> list[Problem]:
    """All sets of a folder with all their kinds of splits, by name.

    Args:
        folder: The folder.

    Returns:
        The problems.

    Raises:
        FileNotFoundError: There is no such folder, or a set has splits and no data.csv.
        ValueError: There is no set, or a file is not of this form: the message names file and row.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder of public sets")
    found = []
    for kinds in sorted(folder.glob("*/*.json")):
        rows = read_rows(kinds.with_name("data.csv"))
        tests = read_splits(kinds, len(rows))
        name = f"{kinds.parent.name}/{kinds.stem}"
        found.append(Problem(name, len(tests), partial(_of_test_rows, rows, tests)))
    for path in sorted(folder.glob("*.csv")):
        if path.stem.endswith(PUBLISHED):
            continue
        rows = read_rows(path)
        _, test = train_test_split(np.arange(len(rows)), test_size=0.2, random_state=0)
        make = partial(_of_test_rows, rows, [test.tolist()], standardised=True)
        found.append(Problem(f"{path.stem}/{HOLDOUT}", 1, make))
    if not found:
        form = "NAME/data.csv and NAME/KIND.json, or NAME.csv"
        raise ValueError(f"{folder} has no set, which is {form}")
    return found


def read_rows(path: Path) -> np.ndarray:
    """Rows of a CSV file with a header, inputs and y, (n, n_in + 1)."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: the splits beside it are of its rows")
    try:
        table = pd.read_csv(path, encoding="utf-8")
    except ValueError as error:  # pandas has several, all of them of this kind
        raise ValueError(f"{path} is no CSV table: {error}") from None
    numbers = table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    wrong = np.argwhere(~np.isfinite(numbers))
    if len(wrong):
        row, column = wrong[0]
        value = table.iloc[row, column]
        where = f"{path}: row {row}, column {table.columns[column]}"
        raise ValueError(f"{where} is {value!r}: must be a finite number")
    if numbers.shape[1] < 2 or len(numbers) <= FEWEST:
        raise ValueError(f"{path} has {len(numbers)} rows and {numbers.shape[1]} columns: too few")
    return numbers


def read_splits(path: Path, n_rows: int) -> list[list[int]]:
    """Test rows of each split from a JSON file, checked against the number of rows."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(found, list) or not found:
        raise ValueError(f"{path}: must be a list with the test rows of each split")
    for i, rows in enumerate(found):
        if not isinstance(rows, list) or not rows:
            raise ValueError(f"{path}: split {i} must be a list of row numbers, not {rows!r:.60}")
        for row in rows:
            if type(row) is not int or not 0 <= row < n_rows:
                allowed = f"must be an integer in 0 ... {n_rows - 1}"
                raise ValueError(f"{path}: split {i} has the row {row!r:.60}: {allowed}")
        if len(set(rows)) < len(rows):
            raise ValueError(f"{path}: split {i} has a row twice")
        if n_rows - len(rows) < FEWEST:
            raise ValueError(f"{path}: split {i} leaves fewer than {FEWEST} training rows")
    return found


def _of_test_rows(
    rows: np.ndarray, tests: list[list[int]], number: int, standardised: bool = False
) -> Split:
    """A split, inputs and y standardised by the training rows."""
    tested = np.zeros(len(rows), dtype=bool)
    tested[tests[number]] = True
    train = rows[~tested]
    test = rows[tested]
    centre = train.mean(axis=0)
    scale = train.std(axis=0)
    # A column that the split leaves constant, whose mean is rounded.
    scale[scale <= ROUNDING * np.abs(train).max(axis=0)] = 1.0
    X = (train[:, :-1] - centre[:-1]) / scale[:-1]
    bounds = np.array([X.min(axis=0), X.max(axis=0)])
    bounds[1] += bounds[1] == bounds[0]
    given = {
        "X": X,
        "y": (train[:, -1:] - centre[-1]) / scale[-1],
        "X_test": (test[:, :-1] - centre[:-1]) / scale[:-1],
        "bounds": bounds,
    }
    unit = 1.0 if standardised else float(scale[-1])
    y_test = (test[:, -1:] - centre[-1]) / scale[-1]
    return Split(given, y_test, unit, float(np.log(unit)), digest(train, test))


def published(folder: Path, problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Published scores on problems of a folder, mean and standard deviation, a row a method.

    Of a set with one split the standard deviation is missing: repeated trainings do not tell how
    another split would turn out.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    path = folder / f"{PUBLISHED}.csv"
    if path.is_file():
        needed = ("splits", "dataset", "method", "score", "mean", "std", "source")
        for each in _records(path, needed):
            if each["score"] in NAMES:
                key = f"{each['dataset']}/{each['splits']}", each["method"]
                row = rows.setdefault(key, _row(*key, each["source"]))
                row[NAMES[each["score"]]] = [each["mean"], each["std"]]
    for path in sorted(folder.glob(f"*_{PUBLISHED}.csv")):
        table = pd.DataFrame(_records(path, ("dataset", "model", "rmse", "nll_default")))
        means = table.groupby("model")[["rmse", "nll_default"]].mean()
        for model, (rmse, nll) in zip(means.index, means.to_numpy(), strict=True):
            key = f"{table['dataset'][0]}/{HOLDOUT}", str(model)
            row = rows.setdefault(key, _row(*key, path.name))
            row["rmse"] = [float(f"{rmse:.5g}"), None]
            if np.isfinite(nll):
                row["loglik"] = [float(f"{-nll:.5g}"), None]
    splits = {problem.name: problem.splits for problem in problems}
    return [row | {"splits": splits[name]} for (name, _), row in rows.items() if name in splits]


def _row(problem: str, method: str, source: str) -> dict[str, Any]:
    return {"problem": problem, "published": method, "source": source}


def _records(path: Path, needed: Iterable[str]) -> list[dict[str, Any]]:
    """Rows of a CSV file that has these columns."""
    table = pd.read_csv(path, encoding="utf-8")
    missing = set(needed) - set(table.columns)
    if missing:
        raise ValueError(f"{path} lacks the columns {', '.join(sorted(missing))}")
    return table.to_dict("records")
