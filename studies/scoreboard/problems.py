"""Problems and their splits, and the data of the composite that estimators are given."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from scipy.stats import qmc

from figures.composite.draws import Draw, load_draws
from figures.composite.priors import FIELDS
from figures.composite.problem import load_designs, load_paper_table, scaled
from figures.composite.scores import LOG_UNITS
from figures.pipeline.paths import SHIPPED_TABLES, drawn, require_tables, table_path
from figures.pipeline.profiles import load_profile

CASES = ("ind25", "ind50", "ind100", "outd")  # training sets of the composite
COMPOSITE = "composite"  # name of the tables that come with fe_data
FRESH = "fresh"  # name of a folder with draws that were not used during development
LOW = 200  # inputs of the mean-field models as low fidelity, in addition to the training RVEs
REPEATED = "noise"  # table of replicates, which are RVEs with equal inputs


@dataclass(frozen=True)
class Split:
    """One pair of training and test rows.

    `data` has the arrays of the worker's `Data` by name. `fields` returns further arrays, those
    of the mean-field models, which take seconds to compute. `y_test`, (n, n_out), is in the units
    of y.
    """

    data: dict[str, np.ndarray]
    y_test: np.ndarray
    unit: float  # of RMSE and CRPS, in the units of y
    log_units: float  # subtracted from the log density of a row of scaled y, to convert its units
    digest: str  # checksum of the rows, so that results of other data are not used
    fields: Callable[[], dict[str, np.ndarray]] = dict


@dataclass(frozen=True)
class Problem:
    """A set with one kind of splits, such as "concrete/gap"; `make` returns a split by number."""

    name: str
    splits: int
    make: Callable[[int], Split]

    @cache  # noqa: B019, as long as the program runs
    def split(self, number: int) -> Split:
        """Return a split, which is computed only once."""
        return self.make(number)


class Named(Protocol):
    """A problem, or an estimator."""

    @property
    def name(self) -> str:
        """Name on the command line."""


Item = TypeVar("Item", bound=Named)


def beginning(items: Sequence[Item], words: Sequence[str], kind: str) -> list[Item]:
    """Return the items whose names begin with one of the words.

    Args:
        items: Problems or estimators.
        words: Beginnings of names; "" matches all.
        kind: Kind of the items, for the error message.

    Returns:
        The matching items, in their order.

    Raises:
        ValueError: If no name begins with one of the words.
    """
    for word in words:
        if not any(item.name.startswith(word) for item in items):
            names = ", ".join(item.name for item in items)
            raise ValueError(f"no {kind} begins with {word!r}: allowed are {names}")
    return [item for item in items if item.name.startswith(tuple(words))]


def digest(*arrays: np.ndarray) -> str:
    """Return a checksum of the values of arrays, in this order."""
    code = 0
    for array in arrays:
        code = zlib.crc32(np.ascontiguousarray(array, dtype="<f8").tobytes(), code)
    return f"{code:08x}"


def is_composite(name: str) -> bool:
    """Return whether a problem is one of the composite's training sets."""
    return name.partition("/")[2] in CASES


def composite(folder: Path = SHIPPED_TABLES) -> list[Problem]:
    """Return the composite's training sets for the tables in a folder, with one split per draw.

    The problems are named after the folder, or "composite" for the shipped tables. The folder has
    draws/DESIGN.csv, or draws/DESIGN/dataset.csv as `python -m fe_data generate DESIGN --out
    draws/DESIGN` writes it.

    Raises:
        ValueError: If a table has too few RVEs for one draw.
    """
    profile = load_profile("full")
    rows = []
    for design in ("test_uniform", "train_uniform", "train_beta"):
        require_tables(drawn(folder), design)
        table = load_paper_table(table_path(drawn(folder), design))
        rows.append(table.n_rows // profile.datasets[design])
    if min(rows) < 1:
        raise ValueError(f"{drawn(folder)}: the tables have fewer RVEs than one draw needs")
    assert profile.draws
    count = profile.draws.model_copy(update={"count": min(rows)})
    every = load_draws(folder, profile.model_copy(update={"draws": count}))
    name = COMPOSITE if folder == SHIPPED_TABLES else folder.resolve().name
    return [Problem(f"{name}/{case}", len(every), partial(_rves, every, case)) for case in CASES]


def _rves(every: list[Draw], case: str, number: int) -> Split:
    """Return a training set of a draw with test RVEs, scaled to [-1, 1], and the further data."""
    train = every[number].cases[case]
    test = every[number].test
    table = load_designs(SHIPPED_TABLES, [REPEATED])[REPEATED]
    repeated = scaled(table)
    arrays = {
        "X": train.X,
        "y": train.y,
        "X_test": test.X,
        "bounds": np.array([[-1.0], [1.0]]) * np.ones(train.X.shape[1]),
        "X_repeated": repeated.X,
        "y_repeated": repeated.y,
        "groups": table.group,
    }
    rows = digest(train.X, train.y, test.X, test.y)
    return Split(arrays, test.y, 1.0, LOG_UNITS, rows, partial(_fields, train.X, test.X))


def _fields(X: np.ndarray, X_test: np.ndarray) -> dict[str, np.ndarray]:
    """Evaluate the mean-field model with nine pairs of its parameters, (9, n, n_out)."""
    hypercube = qmc.LatinHypercube(X.shape[1], seed=0)
    X_low = np.vstack([X, 2 * hypercube.random(LOW) - 1])
    low = np.array([mean(X_low) for mean in FIELDS])
    test = np.array([mean(X_test) for mean in FIELDS])
    return {"X_low": X_low, "fields_low": low, "fields": low[:, : len(X)], "fields_test": test}
