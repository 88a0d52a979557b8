"""Convert published tables in .pkl files to CSV: find inputs and outputs, put them in our units."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset import record
from fe_data.dataset.design import NAMED_DESIGNS
from fe_data.dataset.table import format_value
from fe_data.published.array_pickle import load_arrays
from fe_data.settings import INPUT_BOUNDS, INPUT_NAMES, OUTPUT_NAMES

COLUMNS = (*INPUT_NAMES, *OUTPUT_NAMES)
N_INPUTS, N_OUTPUTS = len(INPUT_NAMES), len(OUTPUT_NAMES)
MAX_PARTS = 4  # of a container, in a message
INPUT_KEYS = ("x", "inputs", "input", "features", "inpts", "groups_inputs")
OUTPUT_KEYS = ("y", "outputs", "output", "targets", "labels", "outpts", "groups_outputs")
# What a column may hold: the input box, with room for rounding, and any sensible composite.
RANGES = {name: (0.98 * low, 1.02 * high) for name, (low, high) in INPUT_BOUNDS.items()} | {
    "b_eff_MPa": (50.0, 5000.0),
    "c_eff": (0.02, 1.0),
    "E_eff_GPa": (10.0, 2000.0),
    "nu_eff": (0.05, 0.5),
    "p_sigma": (0.0, 1.0),
}
UNIT = re.compile("_[GM]Pa$")  # in the names of our columns
# Factors from the unit in a file to ours.
UNITS = {
    "_GPa": {"GPa": 1.0, "MPa": 1e-3, "Pa": 1e-9},
    "_MPa": {"MPa": 1.0, "GPa": 1e3, "Pa": 1e-6},
    "": {"1": 1.0, "%": 0.01},
}


# How the published file of each design is called, and what the notebooks do without its table.
PUBLISHED = {
    "test_uniform": ("testing_random", "no notebook on the composite can run"),
    "train_uniform": ("training_random", "notebooks 03 to 05 leave out the first training set"),
    "train_beta": ("training_beta", "no notebook on the composite can run"),
    "replicates": ("data_aleatoric", "notebooks 03 and 05 leave out the scatter at its 10 inputs"),
    "noise": ("data_aleatoric", "notebooks 03 and 05 leave out the scatter at its 20 inputs"),
}


def import_tables(source: Path, out: Path) -> tuple[list[str], list[str]]:
    """Convert a .pkl file, or all in a folder, to CSV; sentences on what was done and refused."""
    paths = sorted(source.glob("*.pkl")) if source.is_dir() else [source]
    if not paths:
        raise ValueError(f"{source} holds no .pkl file")
    done, refused, tables = [], [], dict[str, list[tuple[Path, list[Floats]]]]()
    for path in paths:
        try:
            groups = read_groups(path)
            name = design_of(path.stem, len(groups)) or path.stem
            tables.setdefault(name, []).append((path, groups))
        except ValueError as error:
            refused.append(str(error))
    for name, [(path, groups), *others] in tables.items():
        if others:
            both = " and ".join(map(str, [path, *(other for other, _ in others)]))
            refused.append(f"{both} are tables of {name}: give the path of one of them")
            continue
        rows = write_csv(groups, out / f"{name}.csv")
        note = "" if name in PUBLISHED else ", of no design that the notebooks know"
        done.append(f"{path} -> {out / name}.csv: {rows} samples{note}")
    missing = [name for name in PUBLISHED if source.is_dir() and name not in tables]
    done += [f"{source} has no table of {name}: {PUBLISHED[name][1]}" for name in missing]
    return done, refused


def design_of(name: str, n_groups: int) -> str | None:
    """The design behind the name of a published file; None where the name is not known."""
    for design, (start, _) in PUBLISHED.items():
        spec = NAMED_DESIGNS[design]  # both replicate designs are called alike
        if name.startswith(start) and (spec.microstructures == 1 or spec.count == n_groups):
            return design
    return None


def read_groups(path: Path) -> list[Floats]:
    """Inputs and outputs (rows, 9) of each group in a .pkl file, in our units."""
    content = load_arrays(path)
    try:
        groups = find_groups(content)
        ends = np.cumsum([len(group) for group in groups])[:-1]
        return np.split(to_our_units(np.vstack(groups)), ends)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_csv(groups: list[Floats], target: Path) -> int:
    """Write a table, with `group` where there are several; returns the number of rows."""
    rows: list[list[object]] = [[*COLUMNS], *np.vstack(groups).tolist()]
    if len(groups) > 1:
        numbers = [number for number, group in enumerate(groups) for _ in group]
        rows = [[n, *row] for n, row in zip(["group", *numbers], rows, strict=True)]
    text = "".join(",".join(map(format_value, row)) + "\n" for row in rows)
    record.write_atomic(target, text.encode())
    return len(rows) - 1


# Known layouts: an array (n, 9) or (groups, replicates, 9); a pair, or a dictionary, of inputs
# (n, 4) and outputs (n, 5) or (groups, replicates, 5); a dictionary of columns; a list or
# dictionary with one of these per group.
def find_groups(content: Any) -> list[Floats]:
    """Inputs and outputs (rows, 9) of each group, in the units of the file."""
    groups = _groups(content)
    if groups is None:
        raise ValueError(f"no table of 4 inputs and 5 outputs in {describe(content)}")
    if not all(np.all(np.isfinite(group)) for group in groups):
        raise ValueError("the table holds values that are not finite")
    return groups


def to_our_units(values: Floats) -> Floats:
    """Convert columns (n, 9) to the units of COLUMNS, told by the magnitude of their values."""
    return np.column_stack(list(map(_to_our_unit, COLUMNS, values.T)))


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


def _to_our_unit(name: str, column: Floats) -> Floats:
    units = UNITS["".join(UNIT.findall(name))]
    low, high = RANGES[name]
    for factor in units.values():
        scaled = column * factor  # a factor of exactly 1 keeps the published bits
        if np.all((scaled >= low) & (scaled <= high)):
            return scaled
    raise ValueError(
        f"{name}: values from {column.min():.6g} to {column.max():.6g} are outside "
        f"[{low:g}, {high:g}] in every unit known ({', '.join(units)})"
    )


def _groups(content: Any) -> list[Floats] | None:
    """Tables (rows, 9) of each group; None where the layout is not known."""
    if isinstance(content, dict):
        named = {str(key).lower(): value for key, value in content.items()}
        columns = [_first(named, (n.lower(), UNIT.sub("", n).lower())) for n in COLUMNS]
        if all(column is not None for column in columns):
            table = _array(columns)
            if table is None or table.ndim != 2:
                raise ValueError("the columns are not numeric and of equal length")
            return [table.T]
        apart = [_first(named, keys) for keys in (INPUT_KEYS, OUTPUT_KEYS)]
        content = list(content.values()) if any(part is None for part in apart) else apart
    if (tables := _tables(content, N_INPUTS + N_OUTPUTS)) is not None:
        return tables
    if not isinstance(content, list | tuple) or not content:
        return None
    for first, second in [content, content[::-1]] if len(content) == 2 else []:
        inputs, outputs = _tables(first, N_INPUTS), _tables(second, N_OUTPUTS)
        if inputs is not None and outputs is not None:
            return _join(inputs, outputs)
    groups: list[Floats] = []
    for part in content:
        if (found := _groups(part)) is None:
            return None
        groups += found
    return groups


def _first(named: dict[str, Any], keys: Iterable[str]) -> Any:
    return next((named[key] for key in keys if key in named), None)


def _join(inputs: list[Floats], outputs: list[Floats]) -> list[Floats]:
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


def _tables(content: Any, width: int) -> list[Floats] | None:
    """Tables (rows, width) of each group in an array or a list; None where it holds none."""
    array = _array(content)
    if array is not None:
        if array.ndim not in (1, 2, 3) or array.shape[-1] != width or array.size == 0:
            return None
        return list(array) if array.ndim == 3 else [np.atleast_2d(array)]
    if not isinstance(content, list | tuple):
        return None
    parts = [_tables(item, width) for item in content]
    tables = [part[0] for part in parts if part is not None and len(part) == 1]
    return tables if len(tables) == len(parts) else None


def _array(content: Any) -> Floats | None:
    """Floats in the shape of an array or of nested lists; None when it is no such thing."""
    if not isinstance(content, np.ndarray | list | tuple):
        return None
    try:
        return np.asarray(content, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
