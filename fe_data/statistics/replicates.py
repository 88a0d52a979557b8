"""Cells of equal inputs reduced to mean and scatter over fibre arrangements."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fe_data.arrays import Floats
from fe_data.dataset.table import Table, TableError, load_table, read_numbers
from fe_data.settings import INPUT_NAMES, OUTPUT_NAMES, require_kind

_PAIRS = np.triu_indices(len(OUTPUT_NAMES), 1)
_STD, _ERRORS = ([f"{what}_{name}" for name in OUTPUT_NAMES] for what in ("std", "standard_error"))
_SYMBOLS = ["_".join(name.split("_")[:2]) for name in OUTPUT_NAMES]  # without units
_CORRELATIONS = [f"correlation_{a}_{b}" for a, b in combinations(_SYMBOLS, 2)]
# Means have the names of outputs, so that whatever reads tables of cells reads them.
COLUMNS = ("group", *INPUT_NAMES, "count", *OUTPUT_NAMES, *_STD, *_ERRORS, *_CORRELATIONS)


@dataclass(frozen=True)
class Statistics:
    """Mean and scatter over fibre arrangements for each of m inputs.

    Attributes:
        group: (m,) number of the input.
        X: (m, 4) inputs, in the order and units of INPUT_NAMES.
        mean: (m, 5) of the cells with outputs, in the order and units of OUTPUT_NAMES.
        covariance: (m, 5, 5) of single cells, with divisor count - 1; NaN for one cell.
        count: (m,) number of cells with outputs.
    """

    group: NDArray[np.int64]
    X: Floats
    mean: Floats
    covariance: Floats
    count: NDArray[np.int64]

    @property
    def std(self) -> Floats:
        """Standard deviations of single cells, (m, 5)."""
        return np.asarray(np.sqrt(np.einsum("mjj->mj", self.covariance)))

    @property
    def standard_error(self) -> Floats:
        """Standard errors of the means, (m, 5)."""
        return np.asarray(self.std / np.sqrt(self.count)[:, None])


def replicate_statistics(table: Table) -> Statistics:
    """Reduce the cells of equal inputs to their mean and covariance.

    Args:
        table: Cells, any number of them with the same inputs.

    Returns:
        One entry for each different input, in the order of its first cell.

    Raises:
        ValueError: If no cell of the table has outputs.
    """
    require_kind("table", table, Table)
    if len(table) == 0:
        raise ValueError("the dataset has no sample with outputs")
    _, first, which = np.unique(table.inputs, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    members = [table.outputs[which.ravel() == number] for number in order]
    one = np.full((len(OUTPUT_NAMES),) * 2, np.nan)
    return Statistics(
        group=table.group[first[order]],
        X=table.inputs[first[order]],
        mean=np.array([cells.mean(axis=0) for cells in members]),
        covariance=np.array([np.cov(x, rowvar=False) if len(x) > 1 else one for x in members]),
        count=np.array([len(cells) for cells in members]),
    )


def save_statistics(statistics: Statistics, path: Path) -> None:
    """Write a CSV file of one row for each input, with ten digits; each needs two cells."""
    if np.any(few := statistics.count < 2):
        group = statistics.group[few][0]
        raise ValueError(f"group = {group} has 1 cell with outputs: its scatter needs 2")
    std, scale = statistics.std, np.where(statistics.std > 0, statistics.std, 1.0)
    correlation = statistics.covariance / (scale[:, :, None] * scale[:, None])
    columns = [statistics.group, statistics.X, statistics.count, statistics.mean]
    columns += [std, statistics.standard_error, correlation[:, *_PAIRS]]
    kinds = ["%d"] + ["%.17g"] * 4 + ["%d"] + ["%.10g"] * (len(COLUMNS) - 6)
    header = ",".join(COLUMNS)
    np.savetxt(path, np.column_stack(columns), kinds, ",", header=header, comments="")


def load_statistics(path: Path) -> Statistics:
    """Read statistics of cells over fibre arrangements, such as those of `datasets/truth.csv`.

    Args:
        path: CSV file that `python -m fe_data statistics` wrote. Standard errors are those of its
            standard deviations and counts.

    Returns:
        The statistics, in the order of the file.

    Raises:
        TableError: The message names the bad entries.
    """
    table = load_table(path)
    numbers = read_numbers(path, ("count", *_STD, *_CORRELATIONS))
    count, std, pairs = np.split(numbers, [1, 1 + len(_STD)], axis=1)
    possible = (count >= 2) & (count % 1 == 0), std >= 0, np.abs(pairs) <= 1
    if not np.all(fits := np.hstack(possible).all(axis=1)):
        needed = "count is an integer >= 2, std_... >= 0, correlation_... in [-1, 1]"
        raise TableError(f"{path}, row {np.argmin(fits) + 1} below the header: {needed}")
    covariance = np.tile(np.eye(len(OUTPUT_NAMES)), (len(table), 1, 1))
    covariance[:, *_PAIRS] = covariance[:, *_PAIRS[::-1]] = pairs
    covariance *= std[:, :, None] * std[:, None]
    counts = count.ravel().astype(np.int64)
    return Statistics(table.group, table.inputs, table.outputs, covariance, counts)
