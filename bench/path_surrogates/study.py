"""Estimators × training sizes × draws, and what came of each on every set."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.path_surrogates.data import Paths, Sets
from bench.path_surrogates.estimators import Estimator, Predicted, Training
from bench.path_surrogates.scores import floor, scores
from bnn.storage.reading import parse_json, read_text
from figures.pipeline.provenance import processor

DRAWS = {5: 5, 20: 3, 50: 3, 100: 3, 500: 1}  # number of draws of each training size
MOST_BYTES = 10**8  # of a file of results
KEY = ("problem", "estimator", "n", "draw")
REFERENCE = (
    "reference"  # the estimator of rows that say how exact a set is, and the error of no stress
)

Row = dict[str, Any]


class Results:
    """One line of JSON for each set, estimator, training size and draw, written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = read_text(path, MOST_BYTES).splitlines() if path.exists() else []
        self.by_key = {_key(row): row for row in (parse_json(line, str(path)) for line in lines)}

    @property
    def rows(self) -> list[Row]:
        """All rows; of two with the same key the later one."""
        return list(self.by_key.values())

    def add(self, row: Row) -> None:
        """Write a row."""
        short = {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()}
        self.by_key[_key(short)] = short
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(short) + "\n")

    def lacks(self, problems: Sequence[str], estimator: str, n: int, draw: int) -> bool:
        """Whether a run has not been scored on all problems."""
        return any((problem, estimator, n, draw) not in self.by_key for problem in problems)


def _key(row: Row) -> tuple:
    return tuple(row[name] for name in KEY)


def study(
    sets: Sets, estimators: Sequence[Estimator], sizes: Sequence[int], results: Results
) -> None:
    """Run what is not done yet."""
    variances = sets.random_paths.stress.var(axis=(0, 1, 2))
    for problem, reference in sets.references.items():
        if results.lacks([problem], REFERENCE, 0, 0):
            key = dict(zip(KEY, (problem, REFERENCE, 0, 0), strict=True))
            nothing = scores(reference, Predicted(np.zeros(reference.strain.shape)), variances)
            results.add(key | {"nmse": floor(reference, variances), "of_nothing": nothing["nmse"]})
    for estimator in estimators:
        for n, draw in runs(estimator, sizes):
            if results.lacks(list(sets.references), estimator.name, n, draw):
                _run(sets, estimator, n, draw, variances, results)


def runs(estimator: Estimator, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Training sizes and draws of an estimator; one run with nothing if it does not learn."""
    if not estimator.sizes:
        return [(0, 0)]
    return [(n, draw) for n in sizes if n in estimator.sizes for draw in range(DRAWS[n])]


def drawn(random_paths: Paths, n: int, draw: int) -> Paths:
    """A part of the random paths, disjoint from those of other draws of this size."""
    return Paths(*(each[draw * n : (draw + 1) * n] for each in random_paths))


def _run(
    sets: Sets, estimator: Estimator, n: int, draw: int, variances: np.ndarray, results: Results
) -> None:
    begin = time.process_time()
    training = Training(drawn(sets.random_paths, n, draw), sets.repeated_random, draw)
    predict = estimator.fit(training)
    fit = time.process_time() - begin
    words = []
    for problem, reference in sets.references.items():
        begin = time.process_time()
        found = predict(reference.inputs, reference.strain)
        seconds = {"fit": fit, "predict": time.process_time() - begin, "processor": processor()}
        key = dict(zip(KEY, (problem, estimator.name, n, draw), strict=True))
        row = key | scores(reference, found, variances) | seconds
        results.add(row)
        words.append(f"{row['nmse']:.2e} ({row.get('coverage', np.nan):.2f})")
    print(f"{estimator.name} {n} {draw}: {', '.join(words)}; {fit:.0f} s", flush=True)
