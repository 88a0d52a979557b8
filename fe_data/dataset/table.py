"""Tables of simulated RVEs with inputs and outputs, read from CSV files and data frames."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fe_data.arrays import Floats, integers, numbers, objects
from fe_data.files.csv_rows import (
    Problems,
    Row,
    TableError,
    format_value,
    parse_float,
    parse_integer,
    read_rows,
)
from fe_data.schema import (
    INPUT_NAMES,
    fitted_outputs,
    output_names,
    outputs_among,
    required_outputs,
    strength_outputs,
)
from fe_data.settings import checked_inputs, require_allowed, require_kind, require_path
from safe_files.text import Short

Numbers = NDArray[np.int64]
FIELD = "."  # marks a column of numbers of a material, as in matrix.elasticity.E_GPa
TABLE = "dataset.csv"  # the table of a dataset folder
PATH_COLUMNS = ("index", "seed", "group", *INPUT_NAMES, "path", "status")  # of a dataset of paths
# Beginning of the name of such a column
_OF_MATERIAL = re.compile(r"interface\.|.+\.(elasticity|parameters|damage)\.")
# A "failed" sample has no outputs. An "unfitted" sample lacks the power law or strengths.
STATUSES = ("ok", "retried", "unfitted", "failed")
LACKED = f"{' and '.join(fitted_outputs())}, or a strength"  # by unfitted samples, for messages


@dataclass(frozen=True, repr=False)
class Table(Short):
    """Inputs and outputs of all complete samples; incomplete samples are only listed by index.

    Attributes:
        index: (n,) number of the sample; the row if the file has no such column.
        seed: (n,) seed of the microstructure; -1 if the file has no such column.
        group: (n,) group of samples with the same inputs; the index if the file has no such column.
        inputs: (n, n_in), in the order and units of `schema.INPUTS`.
        outputs: (n, n_out), in the order and units of `output_names`.
        status: (n,) "ok", or "retried" if the second microstructure was used.
        failed: (m,) index of each sample without outputs.
        output_names: Names of the outputs in the file; the outputs of the paper are always there.
        unfitted: (k,) index of each sample without b_eff and c_eff, because its curve has too few
            plastic increments for a fit, or without a strength, because its path ended before a
            peak. Its other outputs are only in the file.
        fields: Names of columns with numbers of a material, such as `matrix.elasticity.E_GPa`,
            that differ between the samples.
        field_values: (n, n_fields) these numbers, in the order of `fields`.

    Raises:
        ValueError: If an input is out of range, an output is not finite, a name or a status is
            unknown, or shapes do not match.

    Examples:
        >>> from fe_data import load_table
        >>> table = load_table("fe_data/datasets/test_uniform.csv")
        >>> len(table), table.inputs.shape, table.output_names[-1]
        (50, (50, 4), 'p_sigma')
    """

    index: Numbers
    seed: Numbers
    group: Numbers
    inputs: Floats
    outputs: Floats
    status: NDArray[np.str_]
    failed: Numbers
    output_names: tuple[str, ...] = field(default_factory=required_outputs)
    unfitted: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    fields: tuple[str, ...] = ()
    field_values: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        plain: dict[str, Any] = {"output_names": _known_outputs("output_names", self.output_names)}
        require_kind("fields", self.fields, tuple, list)
        plain["fields"] = tuple(self.fields)
        for name in ("index", "seed", "group", "failed", "unfitted"):
            plain[name] = integers(name, getattr(self, name))
        plain["inputs"] = checked_inputs("inputs", self.inputs)
        plain["outputs"] = numbers("outputs", self.outputs)
        plain["status"] = objects("status", self.status)
        n = len(plain["index"])
        plain["field_values"] = numbers("field_values", self.field_values)
        if not plain["fields"] and not plain["field_values"].size:
            plain["field_values"] = np.empty((n, 0))
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("seed", "group", "status"), (n,))
        shapes |= {"inputs": (n, len(INPUT_NAMES)), "outputs": (n, len(plain["output_names"]))}
        shapes["field_values"] = (n, len(plain["fields"]))
        for name, shape in shapes.items():
            if plain[name].shape != shape:
                what = f"{name} of shape {plain[name].shape} must have the shape {shape}"
                raise ValueError(f"{what}, as index has {n} numbers")
        if not np.isfinite(plain["outputs"]).all():
            row = int(np.argwhere(~np.isfinite(plain["outputs"]))[0, 0])
            raise ValueError(f"outputs, row {row}: a number is not finite")
        for status in plain["status"].tolist():
            if not isinstance(status, str) or status not in STATUSES[:2]:
                raise ValueError(f"status = {status!r:.60} is none of {', '.join(STATUSES[:2])}")
        plain["status"] = plain["status"].astype("U8")
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def n_rows(self) -> int:
        """Number of rows of the file, including incomplete samples."""
        return len(self.index) + len(self.unfitted) + len(self.failed)

    def with_outputs(self, names: Sequence[str]) -> "Table":
        """Return a table of the same samples with selected outputs.

        Args:
            names: Names of the outputs, in the order of the new columns.

        Returns:
            The table.

        Raises:
            ValueError: If the table lacks one of these outputs.

        Examples:
            >>> from fe_data import load_table
            >>> table = load_table("fe_data/datasets/test_uniform.csv")
            >>> table.with_outputs(["nu_eff"]).outputs.shape
            (50, 1)
        """
        for name in _known_outputs("names", names):
            if name not in self.output_names:
                raise ValueError(
                    f"names: the table has no {name}, only {', '.join(self.output_names)}"
                )
        columns = [self.output_names.index(name) for name in names]
        # Row-major, as in a table that was read, because memory order affects rounding of sums.
        outputs = np.ascontiguousarray(self.outputs[:, columns])
        return replace(self, outputs=outputs, output_names=tuple(names))

    def to_pandas(self) -> Any:
        """Convert the samples to a `pandas.DataFrame`; this needs pandas.

        Returns:
            One row per sample, with the columns of `dataset.csv`, but with `seed` = -1 in place of
            `microstructure`. Samples in `failed` and `unfitted` are left out.

        Examples:
            >>> from fe_data import load_table
            >>> frame = load_table("fe_data/datasets/test_uniform.csv").to_pandas()
            >>> bool(frame["nu_eff"].between(0.277, 0.299).all())
            True
        """
        columns = {"index": self.index, "seed": self.seed, "group": self.group}
        columns |= dict(zip(INPUT_NAMES, self.inputs.T, strict=True))
        columns |= dict(zip(self.fields, self.field_values.T, strict=True))
        columns |= dict(zip(self.output_names, self.outputs.T, strict=True))
        return import_pandas().DataFrame(columns | {"status": self.status.astype(object)})


def _known_outputs(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple; a ValueError unless they are different outputs of the schema."""
    listed = tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else ()
    outputs = output_names()
    if not listed or any(name not in outputs for name in listed) or len({*listed}) < len(listed):
        what = f"{argument} = {names!r:.60} must be different names"
        raise ValueError(f"{what} out of {', '.join(outputs)}")
    return listed


def table_columns(outputs: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns of dataset.csv with these outputs; None means all outputs."""
    named = output_names() if outputs is None else outputs
    return ("index", "seed", "group", *INPUT_NAMES, *named, "status")


def format_row(values: Mapping[str, object], columns: Sequence[str]) -> str:
    """Format a line of dataset.csv; floats are written so that reading restores the same bits."""
    return ",".join(format_value(values[name]) for name in columns) + "\n"


def load_table(path: Path) -> Table:
    """Read a table of inputs and outputs.

    If entries are invalid, a `TableError` has line number, column and value of each.

    Args:
        path: CSV file, also compressed as .gz, or a dataset folder. Columns of inputs and required
            outputs are necessary. Other outputs, `index`, `seed`, `group` and `status` are
            optional; further columns are ignored.

    Returns:
        The complete samples, in the order of the file. If rows are left out because they lack b_eff
        and c_eff, or a strength, a `UserWarning` has their number.

    Examples:
        >>> from fe_data import load_table
        >>> load_table("fe_data/datasets/train_beta.csv").group[:3].tolist()
        [0, 1, 2]
    """
    path = table_file(path)
    return _table(read_rows(path, *_table_names(), also=FIELD), Problems(path))


def _table_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the required and of the optional columns of a table."""
    required = (*INPUT_NAMES, *required_outputs())
    return required, (*output_names(), "index", "seed", "group", "status")


@dataclass(frozen=True)
class _Sample:
    """A complete row of a table."""

    index: int
    seed: int
    group: int
    inputs: list[float]
    outputs: list[float]
    status: str
    field_values: list[float]


def _table(rows: Iterable[tuple[int, Row]], problems: Problems) -> Table:
    """Make a table from pairs of line number and row; a row has texts by column name."""
    samples = []
    lacking: dict[str, list[int]] = {"failed": [], "unfitted": []}  # indices of samples by status
    names = required_outputs()
    fields: tuple[str, ...] = ()
    first_line: dict[int, int] = {}
    may_lack = {"failed": output_names(), "unfitted": (*fitted_outputs(), *strength_outputs())}
    for number, (line, row) in enumerate(rows):
        parse = partial(problems.parse, line, row)
        names = outputs_among(row)
        fields = tuple(filter(_OF_MATERIAL.match, row))
        index = parse(parse_integer, "index", number)
        status = parse(_status, "status", "ok")
        if (first := first_line.setdefault(index, line)) != line:
            problems.add(line, f"index = {index} is in line {first} already")
        seed = parse(parse_integer, "seed", -1)
        group = parse(parse_integer, "group", index)
        inputs = [parse(parse_input, name) for name in INPUT_NAMES]
        values = [parse(parse_float, name) for name in fields]
        output = partial(_output, status, may_lack.get(status, ()))
        outputs = [parse(output, name) for name in names]
        if status == "unfitted" and None not in outputs:
            problems.add(line, f"status = {status!r}, but no output is missing")
        if status in lacking:
            lacking[status].append(index)
        elif not problems.count:
            samples.append(_Sample(index, seed, group, inputs, outputs, status, values))
    problems.raise_if_any()
    if unfitted := lacking["unfitted"]:
        some = ", ".join(map(str, unfitted[:10])) + (", ..." if len(unfitted) > 10 else "")
        what = f"{len(unfitted)} of the rows lack {LACKED}"
        warnings.warn(f"{problems.path}: {what}, and are left out: index {some}", stacklevel=3)
    return Table(
        index=np.array([sample.index for sample in samples], np.int64),
        seed=np.array([sample.seed for sample in samples], np.int64),
        group=np.array([sample.group for sample in samples], np.int64),
        inputs=np.reshape([sample.inputs for sample in samples], (-1, len(INPUT_NAMES))),
        outputs=np.reshape([sample.outputs for sample in samples], (-1, len(names))),
        status=np.array([sample.status for sample in samples], "U8"),
        failed=np.array(lacking["failed"], np.int64),
        output_names=names,
        unfitted=np.array(lacking["unfitted"], np.int64),
        fields=fields,
        field_values=np.reshape([sample.field_values for sample in samples], (-1, len(fields)))
        if fields
        else np.empty((len(samples), 0)),
    )


def shipped_table(name: str) -> Path:
    """Find the file of a table of this package, for `load_table` or `pandas.read_csv`.

    Args:
        name: Name of the table without its suffix, such as "train_beta". The table
            "draws/train_beta" has 24 independent draws of that design.

    Returns:
        The path of the file.

    Raises:
        ValueError: If no table has this name; the message lists all names.

    Examples:
        >>> import fe_data
        >>> table = fe_data.load_table(fe_data.shipped_table("reference"))
        >>> len(table)
        200
    """
    require_kind("name", name, str)
    shipped = Path(__file__).parents[1] / "datasets"
    files = {
        path.relative_to(shipped).as_posix().partition(".")[0]: path
        for path in shipped.rglob("*.csv*")
    }
    if name not in files:
        raise ValueError(f"name = {name!r:.60} is not a shipped table: {', '.join(sorted(files))}")
    return files[name]


def table_file(path: Path) -> Path:
    """Return the file of a table, from its path or from the path of its dataset folder."""
    path = require_path("path", path)
    if not path.is_dir():
        return path
    if not (path / TABLE).exists():
        raise TableError(
            f"{path} has no {TABLE}: `generate` writes it when all samples are simulated"
        )
    return path / TABLE


def import_pandas() -> Any:
    """Import the optional package pandas; the ImportError says how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"{error}: data frames need it, pip install pandas") from None
    return pd


def different_inputs(path: Path, status: str | None = None) -> set[tuple[float, ...]]:
    """Return the set of the inputs, with numbers of a material, in a valid CSV file.

    Args:
        path: The file.
        status: Status of the samples; None means all.

    Returns:
        The inputs and numbers of each sample, without repetition.
    """
    inputs = set()
    for _, row in read_rows(path, INPUT_NAMES, ("status",), also=FIELD):
        if status in (None, row.get("status")):
            fields = [float(row[name]) for name in filter(_OF_MATERIAL.match, row)]
            inputs.add((*(parse_input(name, row[name]) for name in INPUT_NAMES), *fields))
    return inputs


def require_samples(table: Table) -> None:
    """Raise a ValueError if a table has no complete samples; the message says why."""
    if len(table):
        return
    if unfitted := len(table.unfitted):
        raise ValueError(
            f"no row of the dataset has all outputs: {unfitted} of {table.n_rows} lack {LACKED} "
            "(status unfitted): take the other columns from its file, for instance by pandas"
        )
    raise ValueError("the dataset has no sample with outputs")


def _status(name: str, text: str) -> str:
    if text not in STATUSES:
        raise ValueError(f"{name} = {text!r:.60} is unknown: allowed are {', '.join(STATUSES)}")
    return text


def _output(status: str, may_lack: Sequence[str], name: str, text: str) -> float | None:
    """Parse an output, which is None if a sample of this status lacks it."""
    if not text and name in may_lack:
        return None
    if status == "failed":
        raise ValueError(f"{name} = {text!r:.60} must be empty where status is {status!r}")
    return parse_float(name, text)


def parse_input(name: str, text: str) -> float:
    """Parse the value of an input; a ValueError if it is out of range."""
    value = parse_float(name, text)
    require_allowed(np.array([value]), [name])
    return value
