"""Problems with their splits, and what an estimator is given of each: the composite's tables."""

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
COMPOSITE = "composite"  # its tables that come with fe_data
FRESH = "fresh"  # a folder with draws that the default has not seen before it was fixed
LOW = 200  # inputs of mean fields that are given as low fidelity, beside those of the cells
REPEATED = "noise"  # the table of cells with equal inputs


@dataclass(frozen=True)
class Split:
    """One pair of training and test rows.

    `given` has arrays of a `Given` of the worker by name. `fields` returns mean fields, which take
    seconds, as further ones. `y_test` (n, n_out) is in the units of y.
    """

    given: dict[str, np.ndarray]
    y_test: np.ndarray
    unit: float  # of RMSE and CRPS, in the units of y
    log_units: float  # logarithm of the volume of the units that the likelihood is for
    digest: str  # of the rows, so that no result of other data counts as theirs
    fields: Callable[[], dict[str, np.ndarray]] = dict


@dataclass(frozen=True)
class Problem:
    """A set with one kind of splits, "concrete/gap"; `make` has the split of a number."""

    name: str
    splits: int
    make: Callable[[int], Split]

    @cache  # noqa: B019, as long as the program runs
    def split(self, number: int) -> Split:
        """A split, which is made once."""
        return self.make(number)


class Named(Protocol):
    """A problem, or an estimator."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""


Item = TypeVar("Item", bound=Named)


def beginning(items: Sequence[Item], words: Sequence[str], kind: str) -> list[Item]:
    """Return the items whose names begin with one of the words.

    Args:
        items: Problems or estimators.
        words: Beginnings of names; "" is the beginning of all.
        kind: What they are, in the message.

    Raises:
        ValueError: No name begins with a word.
    """
    for word in words:
        if not any(item.name.startswith(word) for item in items):
            names = ", ".join(item.name for item in items)
            raise ValueError(f"no {kind} begins with {word!r}: there are {names}")
    return [item for item in items if item.name.startswith(tuple(words))]


def digest(*arrays: np.ndarray) -> str:
    """Checksum of the bits of arrays, in this order."""
    code = 0
    for each in arrays:
        code = zlib.crc32(np.ascontiguousarray(each, dtype="<f8").tobytes(), code)
    return f"{code:08x}"


def is_composite(name: str) -> bool:
    """Whether a problem is one of the composite's training sets."""
    return name.partition("/")[2] in CASES


def composite(folder: Path = SHIPPED_TABLES) -> list[Problem]:
    """The training sets of the tables in a folder, with as many splits as it has draws.

    A folder other than that of the shipped tables gives its name to the problems. It has
    draws/DESIGN.csv or, as `python -m fe_data generate DESIGN --out draws/DESIGN` writes it,
    draws/DESIGN/dataset.csv.
    """
    profile = load_profile("full")
    rows = []
    for design in ("test_uniform", "train_uniform", "train_beta"):
        require_tables(drawn(folder), design)
        table = load_paper_table(table_path(drawn(folder), design))
        rows.append(table.n_rows // profile.datasets[design])
    if min(rows) < 1:
        raise ValueError(f"{drawn(folder)}: the tables have fewer cells than one draw needs")
    assert profile.draws
    count = profile.draws.model_copy(update={"count": min(rows)})
    every = load_draws(folder, profile.model_copy(update={"draws": count}))
    name = COMPOSITE if folder == SHIPPED_TABLES else folder.resolve().name
    return [Problem(f"{name}/{case}", len(every), partial(_cells, every, case)) for case in CASES]


def _cells(every: list[Draw], case: str, number: int) -> Split:
    """A training set of a draw with its test cells, scaled to [-1, 1], and what else is known."""
    train = every[number].cases[case]
    test = every[number].test
    table = load_designs(SHIPPED_TABLES, [REPEATED])[REPEATED]
    repeated = scaled(table)
    given = {
        "X": train.X,
        "y": train.y,
        "X_test": test.X,
        "bounds": np.array([[-1.0], [1.0]]) * np.ones(train.X.shape[1]),
        "X_repeated": repeated.X,
        "y_repeated": repeated.y,
        "groups": table.group,
    }
    rows = digest(train.X, train.y, test.X, test.y)
    return Split(given, test.y, 1.0, LOG_UNITS, rows, partial(_fields, train.X, test.X))


def _fields(X: np.ndarray, X_test: np.ndarray) -> dict[str, np.ndarray]:
    """Mean fields with each of nine pairs of their parameters, (9, n, n_out)."""
    hypercube = qmc.LatinHypercube(X.shape[1], seed=0)
    X_low = np.vstack([X, 2 * hypercube.random(LOW) - 1])
    low = np.array([mean(X_low) for mean in FIELDS])
    test = np.array([mean(X_test) for mean in FIELDS])
    return {"X_low": X_low, "fields_low": low, "fields": low[:, : len(X)], "fields_test": test}
