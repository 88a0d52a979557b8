"""Inputs and groups in a CSV file, with columns of numbers of a material."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fe_data.arrays import Floats
from fe_data.composite.phases import Phases
from fe_data.dataset.table import FIELD, Numbers, parse_input
from fe_data.files.csv_rows import Problems, Row, parse_float, parse_integer, read_rows
from fe_data.schema import INPUT_NAMES


def read_inputs(
    path: Path, phases: Phases | None = None
) -> tuple[Floats, Numbers, dict[str, Floats]]:
    """Read the inputs of a CSV file.

    Args:
        path: The CSV file. Inputs that the material fixes need no column. Without a column `group`
            every row is a separate group.
        phases: The material.

    Returns:
        Inputs (n, n_in), groups (n,), and columns (n,) of numbers of the material by name.

    Raises:
        TableError: If entries are invalid; the message has line, column and value of each.
    """
    problems = Problems(path)
    points = []
    groups = []
    all_fields: list[dict[str, float]] = []
    first_of_group: dict[int, tuple[int, list[float | None]]] = {}
    fixed = {} if phases is None else phases.fixed_inputs
    columns = [name for name in INPUT_NAMES if name not in fixed]
    rows = read_rows(path, columns, ("group", *fixed), also=FIELD)
    for number, (line, row) in enumerate(rows):
        fields, fixed = fields_of_row(problems, line, row, phases)
        point = [parse_or_fixed(problems, line, row, name, fixed) for name in INPUT_NAMES]
        group = problems.parse(line, row, parse_integer, "group", number)
        varied = [*point, *fields.values()]
        first_line, first = first_of_group.setdefault(group, (line, varied))
        if None not in varied and None not in first and varied != first:
            problems.add(line, f"group = {group} has other inputs than in line {first_line}")
        points.append(point)
        groups.append(group)
        all_fields.append(fields)
    problems.raise_if_any()
    return np.array(points, float), np.array(groups, np.int64), columns_of_fields(all_fields)


def fields_of_row(
    problems: Problems, line: int, row: Row, phases: Phases | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Read numbers of a material from a row; return them and the inputs that they fix."""
    if phases is None:
        return {}, {}
    fields = {name: problems.parse(line, row, parse_float, name) for name in row if FIELD in name}
    if None not in fields.values():
        try:
            return fields, phases.with_fields(fields).fixed_inputs
        except ValueError as error:
            problems.add(line, str(error))
    return fields, phases.fixed_inputs


def columns_of_fields(rows: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """Collect rows of numbers of a material into columns (n,) by name."""
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def parse_or_fixed(
    problems: Problems, line: int, row: Row, name: str, fixed: Mapping[str, float]
) -> float | None:
    """Return an input of a row; if the material fixes it, a different value is a problem."""
    if name not in fixed:
        value: float | None = problems.parse(line, row, parse_input, name)
        return value
    value = problems.parse(line, row, parse_input, name, fixed[name])
    if value is not None and value != fixed[name]:
        what = f"{name} = {value:g} must be {fixed[name]:g}, as in the material"
        problems.add(
            line, f"{what}: leave the column out; to vary the material, use columns of its numbers"
        )
    return fixed[name]
