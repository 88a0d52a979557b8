"""Fits one estimator to a series of training sets: worker.py SOURCE CLASS SECONDS.

It runs in the environment of a library, so it imports only NumPy and that library. Each line of the
standard input has the file of a training set and the file for the predictions, separated by a tab.
The answer is one line: empty on success, otherwise the error. If a training set takes more than
SECONDS of processor time, the signal of the timer ends the process.
"""

import argparse
import importlib.util
import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from io import TextIOWrapper
from typing import Any

import numpy as np


@dataclass
class Data:
    """The data that the `fit` of an estimator gets; None if a problem does not have them."""

    X: np.ndarray  # (N, n_in)
    y: np.ndarray  # (N, n_out)
    X_test: np.ndarray  # (n, n_in)
    bounds: np.ndarray | None = None  # of the inputs, (2, n_in)
    X_repeated: np.ndarray | None = None  # replicates: equal inputs in each group, (m, n_in)
    y_repeated: np.ndarray | None = None  # (m, n_out)
    groups: np.ndarray | None = None  # (m,)
    X_low: np.ndarray | None = None  # inputs of mean-field models as low fidelity, (l, n_in)
    fields_low: np.ndarray | None = None  # F mean-field models at X_low, (F, l, n_out)
    fields: np.ndarray | None = None  # at X, (F, N, n_out)
    fields_test: np.ndarray | None = None  # at X_test, (F, n, n_out)

    def replaced(self, **arrays: np.ndarray) -> "Data":
        """Return a copy with some arrays replaced."""
        return replace(self, **arrays)


def load(source: str, name: str) -> type:
    """Load a class from a Python file of any name."""
    spec = importlib.util.spec_from_file_location("peer", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def predict(kind: type, data: Data, y_test: np.ndarray) -> dict[str, Any]:
    """Return mean and standard deviation of single rows at the test inputs, and processor seconds.

    If the estimator has a method `elppd`, its custom predictive density, the result includes the
    log density summed over the test rows.
    """
    np.random.seed(0)  # noqa: NPY002, libraries that take no seed draw from it
    estimator = kind()
    started = time.process_time()
    estimator.fit(data)
    fitted = time.process_time()
    mean, std = (np.asarray(array, dtype=float) for array in estimator.predict(data.X_test))
    ended = time.process_time()
    seconds = {"fit": fitted - started, "predict": ended - fitted}
    density = {}
    if hasattr(estimator, "elppd"):
        density["elppd"] = estimator.elppd(data.X_test, y_test)
    return {"mean": mean, "std": std, **seconds, **density, "blas": kernels()}


def kernels() -> str:
    """Return the kernels of the linear algebra, such as "Zen"; empty without threadpoolctl."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return ""
    return ", ".join(
        sorted({library.get("architecture", "") for library in threadpool_info()} - {""})
    )


def main(source: str, name: str, seconds: float) -> None:
    """Process training sets until the standard input ends."""
    # Libraries may print to the standard output, so the answers use a separate channel.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    kind = None
    assert isinstance(sys.stdin, TextIOWrapper)
    sys.stdin.reconfigure(encoding="utf-8")  # for file names in any locale
    for line in sys.stdin:
        problem = ""
        try:
            kind = kind or load(source, name)
            file, out = line.rstrip("\n").split("\t")
            signal.setitimer(signal.ITIMER_PROF, seconds)
            arrays = dict(np.load(file))
            y_test = arrays.pop("y_test")
            np.savez(out, **predict(kind, Data(**arrays), y_test))
        except Exception as error:  # any error of a library is shown in the table
            problem = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(problem, file=answers, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="file of the estimator")
    parser.add_argument("name", help="class in that file")
    parser.add_argument("seconds", type=float, help="processor time for a training set")
    main(**vars(parser.parse_args()))
