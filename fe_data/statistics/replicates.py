"""Mean and scatter over microstructures of RVEs with equal inputs."""

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fe_data.arrays import Floats, keep_copies
from fe_data.dataset.table import Table, load_table, require_samples
from fe_data.files.csv_rows import TableError, read_numbers
from fe_data.schema import INPUT_NAMES, output, required_outputs
from fe_data.settings import require_kind
from safe_files.text import Short
from safe_files.writing import replacing

BEGINNING = ",".join(("group", *INPUT_NAMES, "count", "")).encode()  # of a statistics file


@dataclass(frozen=True)
class StatisticsColumns:
    """Columns of a statistics file with given outputs.

    Means have the names of the outputs, so that `load_table` can read them.
    """

    outputs: tuple[str, ...]
    fields: tuple[str, ...] = ()  # numbers of a material

    @property
    def std(self) -> list[str]:
        """Columns of the standard deviations of single RVEs."""
        return [f"std_{name}" for name in self.outputs]

    @property
    def errors(self) -> list[str]:
        """Columns of the standard errors of the means."""
        return [f"standard_error_{name}" for name in self.outputs]

    @property
    def correlations(self) -> list[str]:
        """Columns of the correlations of each pair of outputs, with names without units."""
        symbols = [output(name).symbol for name in self.outputs]
        return [f"correlation_{a}_{b}" for a, b in combinations(symbols, 2)]

    @property
    def all(self) -> tuple[str, ...]:
        """All columns in their order."""
        means = ("group", *INPUT_NAMES, "count", *self.fields, *self.outputs)
        return (*means, *self.std, *self.errors, *self.correlations)


@dataclass(frozen=True, repr=False)
class Statistics(Short):
    """Mean and scatter over microstructures for each of m inputs.

    Attributes:
        group: (m,) number of the input.
        X: (m, n_in) inputs, in the order and units of `schema.INPUTS`.
        mean: (m, n_out) mean outputs of the complete RVEs, in the order of `output_names`.
        covariance: (m, n_out, n_out) covariance of the outputs of single RVEs, with divisor
            count - 1; NaN if there is only one RVE.
        count: (m,) number of complete RVEs.
        output_names: Names of the outputs.
        fields: Names of numbers of a material that differ between the inputs, as in `Table`.
        field_values: (m, n_fields) these numbers.

    Examples:
        >>> from fe_data import load_statistics
        >>> reference = load_statistics("fe_data/datasets/reference.csv")
        >>> reference.mean.shape, reference.count[0].item()
        ((200, 5), 50)
    """

    group: NDArray[np.int64]
    X: Floats
    mean: Floats
    covariance: Floats
    count: NDArray[np.int64]
    output_names: tuple[str, ...] = field(default_factory=required_outputs)
    fields: tuple[str, ...] = ()
    field_values: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        keep_copies(self)

    @property
    def std(self) -> Floats:
        """Standard deviations of single RVEs, (m, n_out)."""
        return np.asarray(np.sqrt(np.einsum("mjj->mj", self.covariance)))

    @property
    def standard_error(self) -> Floats:
        """Standard errors of the means, (m, n_out)."""
        return np.asarray(self.std / np.sqrt(self.count)[:, None])


def replicate_statistics(table: Table) -> Statistics:
    """Reduce the RVEs of equal inputs and materials to their mean and covariance.

    Args:
        table: RVEs, any number of them with the same inputs.

    Returns:
        Statistics with one entry per different input, in the order of the first RVE of each input.

    Raises:
        ValueError: If the table has no RVE with all outputs.

    Examples:
        >>> from fe_data import load_table, replicate_statistics
        >>> found = replicate_statistics(load_table("fe_data/datasets/noise.csv"))
        >>> found.mean.shape, found.count[0].item()
        ((20, 5), 15)
    """
    require_kind("table", table, Table)
    require_samples(table)
    varied = np.hstack([table.inputs, table.field_values])
    _, first, which = np.unique(varied, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    members = [table.outputs[which.ravel() == number] for number in order]
    n_out = len(table.output_names)
    unknown = np.full((n_out, n_out), np.nan)
    return Statistics(
        group=table.group[first[order]],
        X=table.inputs[first[order]],
        mean=np.array([rves.mean(axis=0) for rves in members]),
        covariance=np.array([np.cov(x, rowvar=False) if len(x) > 1 else unknown for x in members]),
        count=np.array([len(rves) for rves in members]),
        output_names=table.output_names,
        fields=table.fields,
        field_values=table.field_values[first[order]],
    )


def save_statistics(statistics: Statistics, path: Path) -> None:
    """Write a CSV file with one row per input, to ten digits. Each input needs at least two RVEs.

    Raises:
        ValueError: If an input has only one RVE.
        FileExistsError: If another kind of file has this path.
    """
    few = statistics.count < 2
    if np.any(few):
        group = statistics.group[few][0]
        few_rves = f"group = {group} has 1 RVE with outputs"
        raise ValueError(f"{few_rves}, scatter needs 2: use --replicates")
    header = StatisticsColumns(statistics.output_names, statistics.fields).all
    std = statistics.std
    scale = np.where(std > 0, std, 1.0)
    correlation = statistics.covariance / (scale[:, :, None] * scale[:, None])
    columns = [statistics.group, statistics.X, statistics.count]
    columns += [statistics.field_values] if statistics.fields else []
    columns += [statistics.mean]
    columns += [std, statistics.standard_error, correlation[:, *_pairs(statistics.output_names)]]
    kinds = ["%d", *["%.17g"] * len(INPUT_NAMES), "%d"]
    kinds += ["%.17g"] * len(statistics.fields)
    kinds += ["%.10g"] * (len(header) - len(kinds))
    text = ",".join(header)
    with replacing(path, BEGINNING) as file:
        np.savetxt(file, np.column_stack(columns), kinds, ",", header=text, comments="")


def load_statistics(path: Path) -> Statistics:
    """Read statistics of RVEs over microstructures, such as `datasets/reference.csv`.

    Args:
        path: CSV file that `python -m fe_data statistics` wrote. Its standard errors are not read,
            because they follow from the standard deviations and counts.

    Returns:
        The statistics, in the order of the file.

    Raises:
        TableError: If entries are invalid; the message has their places.

    Examples:
        >>> from fe_data import load_statistics
        >>> load_statistics("fe_data/datasets/reference.csv").covariance.shape
        (200, 5, 5)
    """
    table = load_table(path)
    named = StatisticsColumns(table.output_names)
    numbers = read_numbers(path, ("count", *named.std, *named.correlations))
    count, std, pairs = np.split(numbers, [1, 1 + len(named.std)], axis=1)
    possible = (count >= 2) & (count % 1 == 0), std >= 0, np.abs(pairs) <= 1
    if not np.all(fits := np.hstack(possible).all(axis=1)):
        needed = "count is an integer >= 2, std_... >= 0, correlation_... in [-1, 1]"
        raise TableError(f"{path}, row {np.argmin(fits) + 1} below the header: {needed}")
    covariance = np.tile(np.eye(len(named.outputs)), (len(table), 1, 1))
    upper, lower = _pairs(named.outputs)
    covariance[:, upper, lower] = pairs
    covariance[:, lower, upper] = pairs
    covariance *= std[:, :, None] * std[:, None]
    counts = count.ravel().astype(np.int64)
    return Statistics(
        table.group,
        table.inputs,
        table.outputs,
        covariance,
        counts,
        table.output_names,
        table.fields,
        table.field_values,
    )


def _pairs(outputs: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column indices of all pairs of different outputs in a covariance matrix."""
    return np.triu_indices(len(outputs), 1)
