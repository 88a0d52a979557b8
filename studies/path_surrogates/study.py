"""Runs every estimator with every training size and draw, and scores it on every set."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from figures.pipeline.provenance import processor
from studies.path_surrogates.data import Sets
from studies.path_surrogates.estimators import Estimator, Predicted, Training
from studies.path_surrogates.scores import floor, scores
from studies.results import Results
from studies.strain_paths.study import subset

DRAWS = {5: 5, 20: 3, 50: 3, 100: 3, 500: 1}  # number of draws of each training size
REFERENCE = "reference"  # name in rows with the errors of the reference means and of zero stress


KEY = ("problem", "estimator", "n", "draw")  # of a line of results


def load(path: Path) -> Results:
    """Return the results in a file of this study."""
    return Results(path, KEY)


def study(
    sets: Sets, estimators: Sequence[Estimator], sizes: Sequence[int], results: Results
) -> None:
    """Run the cases that have no results yet."""
    variances = sets.random_paths.stress.var(axis=(0, 1, 2))
    for problem, reference in sets.references.items():
        if (problem, REFERENCE, 0, 0) not in results.by_key:
            key = {"problem": problem, "estimator": REFERENCE, "n": 0, "draw": 0}
            nothing = scores(reference, Predicted(np.zeros(reference.strain.shape)), variances)
            results.add(key | {"nmse": floor(reference, variances), "of_nothing": nothing["nmse"]})
    for estimator in estimators:
        for n, draw in runs(estimator, sizes):
            keys = {(problem, estimator.name, n, draw) for problem in sets.references}
            if not keys <= results.by_key.keys():
                _run(sets, estimator, n, draw, variances, results)


def runs(estimator: Estimator, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return training sizes and draws of an estimator; (0, 0) if it is not trained."""
    if not estimator.sizes:
        return [(0, 0)]
    return [(n, draw) for n in sizes if n in estimator.sizes for draw in range(DRAWS[n])]


def _run(
    sets: Sets, estimator: Estimator, n: int, draw: int, variances: np.ndarray, results: Results
) -> None:
    begin = time.process_time()
    # The mean-field model is not trained and has n = 0.
    paths = subset(sets.random_paths, n, draw) if n else sets.random_paths
    training = Training(paths, sets.repeated_random, draw)
    predict = estimator.fit(training)
    fit = time.process_time() - begin
    words = []
    for problem, reference in sets.references.items():
        begin = time.process_time()
        predicted = predict(reference.inputs, reference.strain)
        seconds = {"fit": fit, "predict": time.process_time() - begin, "processor": processor()}
        key = {"problem": problem, "estimator": estimator.name, "n": n, "draw": draw}
        row = key | scores(reference, predicted, variances) | seconds
        results.add(row)
        covered = f" ({row['coverage']:.2f})" if "coverage" in row else ""
        words.append(f"{row['nmse']:.2e}{covered}")
    print(f"{estimator.name} {n} {draw}: {', '.join(words)}; {fit:.0f} s", flush=True)
