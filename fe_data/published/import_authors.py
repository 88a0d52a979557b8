"""Convert published tables in .pkl files to CSV: find inputs and outputs, put them in our units."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.dataset import record
from fe_data.dataset.table import format_cell
from fe_data.published.array_pickle import load_arrays
from fe_data.settings import INPUT_BOUNDS, INPUT_NAMES, OUTPUT_NAMES

N_INPUTS, N_OUTPUTS = len(INPUT_NAMES), len(OUTPUT_NAMES)
MAX_PARTS = 4  # of a container, in a message
INPUT_KEYS = ("x", "inputs", "input", "features")
OUTPUT_KEYS = ("y", "outputs", "output", "targets", "labels")
# What a column may hold: the input box, with room for rounding, and any sensible composite.
_ROOM = 0.02
RANGES = {
    name: (low * (1 - _ROOM), high * (1 + _ROOM)) for name, (low, high) in INPUT_BOUNDS.items()
} | {
    "b_eff_MPa": (50.0, 5000.0),
    "c_eff": (0.02, 1.0),
    "E_eff_GPa": (10.0, 2000.0),
    "nu_eff": (0.05, 0.5),
    "p_sigma": (0.0, 1.0),
}
# Factors from the unit in a file to ours, by the ending of our column's name.
UNITS = {
    "GPa": {"GPa": 1.0, "MPa": 1e-3, "Pa": 1e-9},
    "MPa": {"MPa": 1.0, "GPa": 1e3, "Pa": 1e-6},
    "": {"1": 1.0, "%": 0.01},
}


@dataclass(frozen=True)
class Found:
    """Samples found in a file: groups (n,) or None, and values (n, 9), inputs first."""

    groups: np.ndarray | None
    values: np.ndarray


def run(source: Path, out: Path) -> int:
    """Convert a file or every .pkl file of a folder; 0 when all could be converted, else 1."""
    paths = sorted(source.glob("*.pkl")) if source.is_dir() else [source]
    if not paths:
        raise ValueError(f"{source} holds no .pkl file")
    failed = 0
    for path in paths:
        try:
            target, rows = convert(path, out)
        except ValueError as error:
            print(f"fe_data: {error}", file=sys.stderr)
            failed += 1
        else:
            print(f"{path} -> {target}: {rows} samples")
    return 1 if failed else 0


def convert(path: Path, out: Path) -> tuple[Path, int]:
    """Write the table in one file as CSV; its path and number of rows.

    Raises:
        ValueError: the file holds something else than arrays, or no table of the paper.
    """
    content = load_arrays(path)
    try:
        found = find_samples(content)
        values = to_our_units(found.values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    target = out / f"{path.stem}.csv"
    record.write_atomic(target, format_csv(found.groups, values).encode())
    return target, len(values)


def format_csv(groups: np.ndarray | None, values: np.ndarray) -> str:
    """Rows of inputs and outputs, with the group first where there are replicates."""
    names = [*(["group"] if groups is not None else []), *INPUT_NAMES, *OUTPUT_NAMES]
    lines = [",".join(names)]
    for number, row in enumerate(values.tolist()):
        first = [] if groups is None else [int(groups[number])]
        lines.append(",".join(format_cell(cell) for cell in [*first, *row]))
    return "\n".join(lines) + "\n"


def find_samples(content: Any) -> Found:
    """Recognise the layout of a file's content.

    Known are: an array (n, 9) or (groups, replicates, 9); a pair, or a dictionary, of inputs (n, 4)
    and outputs (n, 5) or (groups, replicates, 5); a dictionary of columns; a list of such, one a
    group.

    Raises:
        ValueError: none of these; the message describes the content.
    """
    for layout in (_from_columns, _from_pair, _from_array, _from_groups):
        groups = layout(content)
        if groups is not None:
            return _stack(groups)
    raise ValueError(
        f"no table of {N_INPUTS} inputs and {N_OUTPUTS} outputs in {describe(content)}"
    )


def to_our_units(values: np.ndarray) -> np.ndarray:
    """Convert each column (n, 9) to the unit in its name, chosen by the magnitude of its values.

    Raises:
        ValueError: a column fits none of its units; the message names it and its range.
    """
    columns = [
        _to_our_unit(name, values[:, column])
        for column, name in enumerate((*INPUT_NAMES, *OUTPUT_NAMES))
    ]
    return np.column_stack(columns)


def describe(content: Any, depth: int = 2) -> str:
    """Layout of some content in a few words."""
    if isinstance(content, np.ndarray):
        return f"an array of shape {content.shape}"
    if not isinstance(content, list | tuple | dict):
        return type(content).__name__
    text = f"a {type(content).__name__} of {len(content)}"
    if isinstance(content, dict):
        parts = [f"{key!s:.30}: {describe(item, depth - 1)}" for key, item in content.items()]
    else:
        parts = [describe(item, depth - 1) for item in content[:MAX_PARTS]]
    return f"{text} ({', '.join(parts[:MAX_PARTS])})" if parts and depth else text


def _to_our_unit(name: str, column: np.ndarray) -> np.ndarray:
    unit = next((unit for unit in ("GPa", "MPa") if name.endswith(unit)), "")
    low, high = RANGES[name]
    for factor in UNITS[unit].values():
        # Multiplying by exactly 1 keeps the published bits.
        if np.all((column * factor >= low) & (column * factor <= high)):
            return column * factor
    units = ", ".join(UNITS[unit])
    raise ValueError(
        f"{name}: values from {column.min():.6g} to {column.max():.6g} are outside "
        f"[{low:g}, {high:g}] in every unit known ({units})"
    )


def _from_columns(content: Any) -> list[np.ndarray] | None:
    """Samples of each group in a dictionary with one array a column, or with inputs and outputs."""
    if not isinstance(content, dict):
        return None
    named = {str(key).lower(): value for key, value in content.items()}
    columns = [_column(named, name) for name in (*INPUT_NAMES, *OUTPUT_NAMES)]
    if all(column is not None for column in columns):
        table = _array(columns)
        if table is None or table.ndim != 2:
            raise ValueError("the columns are not numeric and of equal length")
        return [table.T]
    inputs = next((named[key] for key in INPUT_KEYS if key in named), None)
    outputs = next((named[key] for key in OUTPUT_KEYS if key in named), None)
    return None if inputs is None or outputs is None else _from_pair((inputs, outputs))


def _column(named: dict[str, Any], name: str) -> Any:
    """A column by our name, with or without its unit."""
    short = name.removesuffix("_GPa").removesuffix("_MPa").lower()
    return named.get(name.lower(), named.get(short))


def _from_pair(content: Any) -> list[np.ndarray] | None:
    """Samples of each group where inputs and outputs are apart, in either order."""
    if not isinstance(content, list | tuple) or len(content) != 2:
        return None
    for first, second in (content, content[::-1]):
        inputs, outputs = _tables(first, N_INPUTS), _tables(second, N_OUTPUTS)
        if inputs is not None and outputs is not None:
            return _join(inputs, outputs)
    return None


def _from_array(content: Any) -> list[np.ndarray] | None:
    """Samples of each group where one array, or one a group, has all nine columns."""
    return _tables(content, N_INPUTS + N_OUTPUTS)


def _from_groups(content: Any) -> list[np.ndarray] | None:
    """Samples of each group where a list or dictionary holds a table or a pair for each."""
    parts = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(parts, list | tuple) or not parts:
        return None
    groups: list[np.ndarray] = []
    for part in parts:
        found = _from_columns(part) or _from_pair(part) or _from_array(part)
        if found is None:
            return None
        groups += found
    return groups


def _join(inputs: list[np.ndarray], outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Nine columns for each group; one row of inputs serves all outputs of a group."""
    if len(inputs) == 1 and len(outputs) > 1:
        inputs = [row[None] for row in inputs[0]]
    if len(inputs) != len(outputs):
        raise ValueError(f"{len(inputs)} groups of inputs, but {len(outputs)} of outputs")
    groups = []
    for x, y in zip(inputs, outputs, strict=True):
        if len(x) not in (1, len(y)):
            raise ValueError(f"{len(x)} rows of inputs, but {len(y)} of outputs")
        groups.append(np.hstack([np.broadcast_to(x, (len(y), N_INPUTS)), y]))
    return groups


def _stack(groups: list[np.ndarray]) -> Found:
    values = np.vstack(groups)
    if not np.all(np.isfinite(values)):
        raise ValueError("the table holds values that are not finite")
    numbers = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    return Found(None if len(groups) == 1 else numbers, values)


def _tables(content: Any, width: int) -> list[np.ndarray] | None:
    """Tables (rows, width), one a group, in an array or a list; None when it holds none."""
    array = _array(content)
    if array is not None:
        if array.ndim not in (1, 2, 3) or array.shape[-1] != width or array.size == 0:
            return None
        return list(array) if array.ndim == 3 else [np.atleast_2d(array)]
    if not isinstance(content, list | tuple):
        return None
    parts = [_tables(item, width) for item in content]
    if any(part is None or len(part) != 1 for part in parts):
        return None
    return [part[0] for part in parts if part is not None]


def _array(content: Any) -> np.ndarray | None:
    """Floats in the shape of an array or of nested lists; None when it is no such thing."""
    if not isinstance(content, np.ndarray | list | tuple):
        return None
    try:
        return np.asarray(content, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
