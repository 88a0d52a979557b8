"""Fits one estimator to one training set after the other: worker.py SOURCE CLASS SECONDS.

It runs in the environment of a library, so it imports NumPy and that library alone. Each line of
the standard input names a training set and the file for what was predicted; the answer is a line
of its own, empty if all went well, else what went wrong. A training set that takes more than so
many seconds of processor time ends the process, by the signal of the timer.
"""

import argparse
import importlib.util
import os
import signal
import sys
import time
from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Given:
    """What the `fit` of an estimator is given; None is what is not known of a problem."""

    X: np.ndarray  # (N, n_in)
    y: np.ndarray  # (N, n_out)
    X_test: np.ndarray  # (n, n_in)
    bounds: np.ndarray | None = None  # of the inputs, (2, n_in)
    X_repeated: np.ndarray | None = None  # cells with equal inputs in each of the groups, (m, n_in)
    y_repeated: np.ndarray | None = None  # (m, n_out)
    groups: np.ndarray | None = None  # (m,)
    X_low: np.ndarray | None = None  # inputs of mean fields as low fidelity, (l, n_in)
    fields_low: np.ndarray | None = None  # of each of F mean fields there, (F, l, n_out)
    fields: np.ndarray | None = None  # at X, (F, N, n_out)
    fields_test: np.ndarray | None = None  # at X_test, (F, n, n_out)

    def replaced(self, **arrays: np.ndarray) -> "Given":
        """The same with other arrays."""
        return replace(self, **arrays)


def load(source: str, name: str) -> type:
    """A class of a file, whatever the file is called."""
    spec = importlib.util.spec_from_file_location("peer", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def predict(kind: type, given: Given, y_test: np.ndarray) -> dict[str, np.ndarray]:
    """Mean and standard deviation of single rows at the test inputs; processor seconds.

    An estimator with a predictive density of its own has `elppd`, the sum of its logarithm over
    the test rows.
    """
    np.random.seed(0)  # noqa: NPY002, libraries that take no seed draw from it
    estimator = kind()
    started = time.process_time()
    estimator.fit(given)
    fitted = time.process_time()
    mean, std = (np.asarray(each, dtype=float) for each in estimator.predict(given.X_test))
    ended = time.process_time()
    found = {"mean": mean, "std": std, "fit": fitted - started, "predict": ended - fitted}
    if hasattr(estimator, "elppd"):
        found["elppd"] = estimator.elppd(given.X_test, y_test)
    return found | {"blas": kernels()}


def kernels() -> str:
    """Kernels of the linear algebra, "Zen"; empty where the environment does not tell."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return ""
    return ", ".join(sorted({each.get("architecture", "") for each in threadpool_info()} - {""}))


def main(source: str, name: str, seconds: float) -> None:
    """Answer one training set after the other until the standard input ends."""
    # Libraries print what they like: the answers have a channel that is not the standard output.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    kind = None
    sys.stdin.reconfigure(encoding="utf-8")  # the names of files, whatever the locale is
    for line in sys.stdin:
        problem = ""
        try:
            kind = kind or load(source, name)
            file, out = line.rstrip("\n").split("\t")
            signal.setitimer(signal.ITIMER_PROF, seconds)
            arrays = dict(np.load(file))
            y_test = arrays.pop("y_test")
            np.savez(out, **predict(kind, Given(**arrays), y_test))
        except Exception as error:  # of any library, which the table is to show
            problem = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(problem, file=answers, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="file of the estimator")
    parser.add_argument("name", help="class in that file")
    parser.add_argument("seconds", type=float, help="processor time for a training set")
    main(**vars(parser.parse_args()))
