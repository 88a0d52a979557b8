"""CSV tables of inputs and outputs: floats keep every bit, every bad entry is named."""

import csv
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fe_data.arrays import Floats
from fe_data.settings import INPUT_NAMES, OUTPUT_NAMES, Inputs

Numbers = NDArray[np.int64]
Row = dict[str, str]
COLUMNS = ("index", "seed", "group", *INPUT_NAMES, *OUTPUT_NAMES, "status")
STATUSES = ("ok", "retried", "failed")
MAX_PROBLEMS = 20  # listed in one message; the rest is counted
_VALID_INPUTS = Inputs(vf=0.2, E_f_GPa=400.0, b_m_MPa=400.0, c_m=0.4)


class TableError(ValueError):
    """A table cannot be used; the message names file, line, column and value."""


@dataclass(frozen=True)
class Table:
    """Samples with outputs; samples that failed are only counted.

    Attributes:
        index: (n,) number of the sample; the row where a file has no such column.
        seed: (n,) seed of the fibre arrangement; -1 where a file has no such column.
        group: (n,) number of the input; the index where a file has no such column.
        inputs: (n, 4), in the order and units of INPUT_NAMES.
        outputs: (n, 5), in the order and units of OUTPUT_NAMES.
        status: (n,) "ok" or "retried".
        failed: (m,) index of every sample without outputs.
    """

    index: Numbers
    seed: Numbers
    group: Numbers
    inputs: Floats
    outputs: Floats
    status: NDArray[np.str_]
    failed: Numbers

    def __len__(self) -> int:
        return len(self.index)


def format_row(values: Mapping[str, object]) -> str:
    """One line of dataset.csv; floats are written so that reading gives the same bits."""
    return ",".join(format_value(values[name]) for name in COLUMNS) + "\n"


def load_table(path: Path) -> Table:
    """Read a table of inputs and outputs.

    A `TableError` names every bad entry by line number, column and value.

    Args:
        path: CSV file with the input and output columns; `index`, `seed`, `group` and `status`
            are optional, other columns are ignored.

    Returns:
        The samples with outputs, in the order of the file.
    """
    lines, rows = _read(path, (*INPUT_NAMES, *OUTPUT_NAMES), ("index", "seed", "group", "status"))
    problems = _Problems(path)
    parsed = [
        _parse_sample(row, number, line, problems)
        for number, (line, row) in enumerate(zip(lines, rows, strict=True))
    ]
    _require_unique_index(lines, parsed, problems)
    problems.raise_if_any()
    complete = [row for row in parsed if row["status"] != "failed"]
    failed = [row["index"] for row in parsed if row["status"] == "failed"]
    columns = {
        name: np.array([row[name] for row in complete], np.int64)
        for name in ("index", "seed", "group")
    }
    return Table(
        **columns,
        inputs=np.array([row["inputs"] for row in complete], float).reshape(-1, len(INPUT_NAMES)),
        outputs=np.array([row["outputs"] for row in complete], float).reshape(
            -1, len(OUTPUT_NAMES)
        ),
        status=np.array([row["status"] for row in complete], dtype="U8"),
        failed=np.array(failed, np.int64),
    )


def load_inputs(path: Path) -> tuple[Floats, Numbers]:
    """Read the four input columns and `group` of a CSV file; other columns are ignored.

    A `TableError` names every bad entry by line number, column and value.

    Args:
        path: The CSV file.

    Returns:
        Inputs (n, 4), in the order and units of INPUT_NAMES, and groups (n,); without a group
        column every row is its own group.
    """
    lines, rows = _read(path, INPUT_NAMES, ("group",))
    problems = _Problems(path)
    points, groups = [], []
    first_of_group: dict[int, tuple[int, list[float | None]]] = {}
    for number, (line, row) in enumerate(zip(lines, rows, strict=True)):
        point = [_parse_input(row, name, line, problems) for name in INPUT_NAMES]
        group = _parse_integer(row, "group", line, problems, default=number)
        first_line, first = first_of_group.setdefault(group, (line, point))
        if None not in point and None not in first and point != first:
            problems.add(line, f"group = {group} has other inputs than in line {first_line}")
        points.append(point)
        groups.append(group)
    problems.raise_if_any()
    return np.array(points, float), np.array(groups, np.int64)


class _Problems:
    """Everything that is wrong with one file, in one message."""

    def __init__(self, path: Path):
        self.path = path
        self.found: list[str] = []

    def add(self, line: int, text: str) -> None:
        self.found.append(f"line {line}: {text}")

    def raise_if_any(self) -> None:
        if self.found:
            shown = "; ".join(self.found[:MAX_PROBLEMS])
            rest = len(self.found) - MAX_PROBLEMS
            raise TableError(f"{self.path}, {shown}" + (f"; and {rest} more" if rest > 0 else ""))


def _read(
    path: Path, required: Sequence[str], optional: Sequence[str]
) -> tuple[list[int], list[Row]]:
    """Line number and wanted entries of every row that is not blank."""
    lines, rows = [], []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = _header(path, next(reader, []), required)
            wanted = {name: header.index(name) for name in (*required, *optional) if name in header}
            for entries in reader:
                if not entries:
                    continue
                if len(entries) != len(header):
                    numbers = f"{len(entries)} cells where the header has {len(header)}"
                    raise TableError(f"{path}, line {reader.line_num}: {numbers}")
                lines.append(reader.line_num)
                rows.append({name: entries[column].strip() for name, column in wanted.items()})
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} is not a text file in UTF-8 (byte {error.start} of a block)"
        ) from None
    except csv.Error as error:
        raise TableError(f"{path} is not a CSV file: {error}") from None
    if not rows:
        raise TableError(f"{path} has no rows below its header")
    return lines, rows


def _header(path: Path, entries: list[str], required: Sequence[str]) -> list[str]:
    header = [entry.strip() for entry in entries]
    if not any(header):
        raise TableError(f"{path} is empty: expected a header with {', '.join(required)}")
    missing = [name for name in required if name not in header]
    if missing:
        raise TableError(
            f"{path}, line 1: column {', '.join(missing)} is missing in {','.join(header)!r:.300}"
        )
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise TableError(f"{path}, line 1: column {', '.join(twice)} appears twice")
    return header


def _parse_sample(row: Row, number: int, line: int, problems: _Problems) -> dict[str, Any]:
    status = row.get("status", "ok")
    if status not in STATUSES:
        problems.add(line, f"status = {status!r} is unknown: allowed are {', '.join(STATUSES)}")
    index = _parse_integer(row, "index", line, problems, default=number)
    parse = _require_empty if status == "failed" else _parse_float
    return {
        "index": index,
        "seed": _parse_integer(row, "seed", line, problems, default=-1),
        "group": _parse_integer(row, "group", line, problems, default=index),
        "inputs": [_parse_input(row, name, line, problems) for name in INPUT_NAMES],
        "outputs": [parse(row, name, line, problems) for name in OUTPUT_NAMES],
        "status": status,
    }


def _parse_float(row: Row, name: str, line: int, problems: _Problems) -> float | None:
    try:
        value = float(_plain_number(row[name]))
    except ValueError:
        problems.add(line, f"{name} = {row[name]!r:.60} is not a number")
        return None
    if not math.isfinite(value):
        problems.add(line, f"{name} = {row[name]!r:.60} is not finite")
        return None
    return value


def _require_empty(row: Row, name: str, line: int, problems: _Problems) -> None:
    if row[name]:
        problems.add(line, f"{name} = {row[name]!r:.60} must be empty where status is 'failed'")


def _parse_input(row: Row, name: str, line: int, problems: _Problems) -> float | None:
    value = _parse_float(row, name, line, problems)
    if value is None:
        return None
    try:
        dataclasses.replace(_VALID_INPUTS, **{name: value})
    except ValueError as error:
        problems.add(line, str(error))
        return None
    return value


def _parse_integer(row: Row, name: str, line: int, problems: _Problems, *, default: int) -> int:
    if name not in row:
        return default
    try:
        value = int(_plain_number(row[name]))
    except ValueError:
        problems.add(line, f"{name} = {row[name]!r:.60} is not an integer")
        return default
    if not 0 <= value < 2**63:
        problems.add(
            line, f"{name} = {value} is out of range: allowed are integers in [0, {2**63 - 1}]"
        )
        return default
    return value


def _plain_number(text: str) -> str:
    # Python reads "1_000" and digits of other scripts; a table that holds them is a mistake.
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def _require_unique_index(
    lines: list[int], rows: list[dict[str, Any]], problems: _Problems
) -> None:
    seen: dict[int, int] = {}
    for line, row in zip(lines, rows, strict=True):
        first = seen.setdefault(row["index"], line)
        if first != line:
            problems.add(line, f"index = {row['index']} is in line {first} already")


def format_value(value: object) -> str:
    """Text of one number, None or text: a float is written so that reading gives the same bits."""
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)
