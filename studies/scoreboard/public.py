"""Public sets with published splits and scores, read from a folder.

- NAME/data.csv: a header, the inputs, and y as the last column.
- NAME/standard.json and NAME/gap.json: the test rows of each split, counted from 0. All other rows
  are training data.
- published.csv: published scores, with the columns splits,dataset,method,score,mean,std,source.
- NAME.csv: a set with a single split, made by scikit-learn's
  `train_test_split(test_size=0.2, random_state=0)`. Its scores are in units of the standard
  deviation of y in the training rows.
- NAME_published.csv: published scores of this set, with the columns
  dataset,model,rmse,nll_default.
"""

import io
import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from bnn.storage.reading import read_json, read_text
from fe_data.files import csv_rows
from studies.scoreboard.problems import Problem, Split, digest

PUBLISHED = "published"
SETS = {"concrete", "energy", "wine", "yacht", "airfoil"}  # sets in docs/benchmarks.md
HOLDOUT = "holdout"  # name of the kind of split of a set with a single split
NAMES = {"LL": "loglik", "RMSE": "rmse"}  # published score → ours
MOST_BYTES = 10**8  # of a file
LARGEST = 1e100  # of the numbers in data.csv, so that sums of their squares are finite
FEWEST = 2  # training rows, the least for a standard deviation
ROUNDING = 1e-13  # standard deviation of a constant column, relative to its largest value


def problems(folder: Path) -> list[Problem]:
    """Return all sets in a folder with all their kinds of splits, sorted by name.

    Args:
        folder: The folder.

    Returns:
        The problems.

    Raises:
        FileNotFoundError: If the folder does not exist, or a set has splits but no data.csv.
        ValueError: If there is no set, or a file has another format. The message has the file and
            the row.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: must be a folder of public sets")
    problems = []
    for kinds in sorted(folder.glob("*/*.json")):
        rows = read_rows(kinds.with_name("data.csv"))
        tests = read_splits(kinds, len(rows))
        name = f"{kinds.parent.name}/{kinds.stem}"
        problems.append(Problem(name, len(tests), partial(_of_test_rows, rows, tests)))
    for path in sorted(folder.glob("*.csv")):
        if path.stem.endswith(PUBLISHED):
            continue
        rows = read_rows(path)
        _, test = train_test_split(np.arange(len(rows)), test_size=0.2, random_state=0)
        make = partial(_of_test_rows, rows, [test.tolist()], standardised=True)
        problems.append(Problem(f"{path.stem}/{HOLDOUT}", 1, make))
    if not problems:
        form = "NAME/data.csv and NAME/KIND.json, or NAME.csv"
        raise ValueError(f"{folder} has no set: must be {form}")
    return problems


def read_rows(path: Path) -> np.ndarray:
    """Read the inputs and y of a CSV file with a header, (n, n_in + 1)."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: the splits in its folder need it")
    text = read_text(path, MOST_BYTES)
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            table = pd.read_csv(io.StringIO(text), index_col=False)
    except (ValueError, pd.errors.ParserWarning) as error:  # pandas has several ValueErrors
        raise ValueError(f"{path} is not a CSV table: {error}") from None
    table = table.astype(dict.fromkeys(table.select_dtypes("bool"), str))
    numbers = table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    wrong = np.argwhere(~(np.abs(numbers) <= LARGEST))
    if len(wrong):
        row, column = wrong[0]
        value = table.iloc[row, column]
        where = f"{path}: row {row}, column {table.columns[column]}"
        raise ValueError(
            f"{where} is {value!r:.60}: must be a finite number of at most {LARGEST:g}"
        )
    if numbers.shape[1] < 2 or len(numbers) <= FEWEST:
        raise ValueError(f"{path} has {len(numbers)} rows and {numbers.shape[1]} columns: too few")
    return numbers


def read_splits(path: Path, n_rows: int) -> list[list[int]]:
    """Read the test rows of each split from a JSON file, and check them."""
    splits = read_json(path, MOST_BYTES)
    if not isinstance(splits, list) or not splits:
        raise ValueError(f"{path}: must be a list with the test rows of each split")
    for i, rows in enumerate(splits):
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
    return splits


def _of_test_rows(
    rows: np.ndarray, tests: list[list[int]], number: int, standardised: bool = False
) -> Split:
    """Return a split, with inputs and y standardised by the training rows."""
    tested = np.zeros(len(rows), dtype=bool)
    tested[tests[number]] = True
    train = rows[~tested]
    test = rows[tested]
    centre = train.mean(axis=0)
    scale = train.std(axis=0)
    # A column that is constant in the training rows has a tiny deviation, because its mean is
    # rounded.
    scale[scale <= ROUNDING * np.abs(train).max(axis=0)] = 1.0
    X = (train[:, :-1] - centre[:-1]) / scale[:-1]
    bounds = np.array([X.min(axis=0), X.max(axis=0)])
    bounds[1] += bounds[1] == bounds[0]
    arrays = {
        "X": X,
        "y": (train[:, -1:] - centre[-1]) / scale[-1],
        "X_test": (test[:, :-1] - centre[:-1]) / scale[:-1],
        "bounds": bounds,
    }
    unit = 1.0 if standardised else float(scale[-1])
    y_test = (test[:, -1:] - centre[-1]) / scale[-1]
    return Split(arrays, y_test, unit, float(np.log(unit)), digest(train, test))


def published(folder: Path, problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Return published scores on problems, as mean and standard deviation, one row per method.

    For a set with a single split the standard deviation is missing, because repeated training does
    not show the variation between splits.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    path = folder / f"{PUBLISHED}.csv"
    if path.exists():
        needed = ("splits", "dataset", "method", "score", "mean", "std", "source")
        for record in _records(path, needed, ("mean", "std")):
            if record["score"] in NAMES:
                key = f"{record['dataset']}/{record['splits']}", record["method"]
                row = rows.setdefault(key, _row(*key, record["source"]))
                row[NAMES[record["score"]]] = [record["mean"], record["std"]]
    for path in sorted(folder.glob(f"*_{PUBLISHED}.csv")):
        scores = ("rmse", "nll_default")
        runs = defaultdict(list)
        for record in _records(path, ("dataset", "model", *scores), scores):
            key = f"{record['dataset']}/{HOLDOUT}", record["model"]
            runs[key].append([record[score] for score in scores])
        for key, numbers in runs.items():
            row = rows.setdefault(key, _row(*key, path.name))
            rmse, nll = (_mean(column) for column in zip(*numbers, strict=True))
            if rmse is not None:
                row["rmse"] = [float(f"{rmse:.5g}"), None]
            if nll is not None:
                row["loglik"] = [float(f"{-nll:.5g}"), None]
    splits = {problem.name: problem.splits for problem in problems}
    return [row | {"splits": splits[name]} for (name, _), row in rows.items() if name in splits]


def _row(problem: str, method: str, source: str) -> dict[str, Any]:
    return {"problem": problem, "published": method, "source": source}


def _mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean of the numbers that are not None, or None."""
    present = [number for number in numbers if number is not None]
    return float(np.mean(present)) if present else None


def _records(path: Path, names: Sequence[str], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """Read a CSV file with the columns `names`; `numbers` are parsed, and None if empty."""
    problems = csv_rows.Problems(path)
    records = []
    for line, row in csv_rows.read_rows(path, names, ()):
        record: dict[str, Any] = dict(row)
        for name in numbers:
            read = problems.parse(line, row, csv_rows.parse_float, name) if row[name] else None
            record[name] = read
        records.append(record)
    problems.raise_if_any()
    return records
