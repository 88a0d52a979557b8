"""Convert the published tables, dictionaries of inputs and outputs in .pkl files, to CSV."""

import errno
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.design import NAMED_DESIGNS
from fe_data.files.csv_rows import format_value
from fe_data.files.writing import require_own, write_atomic
from fe_data.published.array_pickle import load_arrays
from fe_data.schema import INPUT_NAMES, required_outputs
from fe_data.settings import Inputs

COLUMNS = (*INPUT_NAMES, *required_outputs())
KEYS = "with the keys inpts and outpts, or groups_inputs and groups_outputs,"
MAX_PARTS = 4  # of a container, in a message
# How the published file of each design is called, and what the notebooks do without its table.
PUBLISHED = {
    "test_uniform": ("testing_random", "no notebook on the composite can run"),
    "train_uniform": ("training_random", "notebooks 03 to 05 leave out the first training set"),
    "train_beta": ("training_beta", "no notebook on the composite can run"),
    "replicates": ("data_aleatoric", "notebooks 03 and 05 leave out the scatter at its 10 inputs"),
    "noise": ("data_aleatoric", "notebooks 03 and 05 leave out the scatter at its 20 inputs"),
}


def import_tables(source: Path, out: Path) -> tuple[list[str], list[str]]:
    """Convert a .pkl file, or all in a folder, to CSV.

    Returns:
        One sentence on each table that was written or is missing, and one on each refused file.

    Raises:
        ValueError: If there is no .pkl file.
    """
    paths = sorted(source.glob("*.pkl")) if source.is_dir() else [source]
    if not paths:
        raise ValueError(f"{source} holds no .pkl file")
    done = []
    refused = []
    tables: dict[str, list[tuple[Path, list[Floats]]]] = {}
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
        try:
            rows = write_csv(groups, out / f"{name}.csv")
        except FileExistsError as error:
            refused.append(f"{error.filename} is another table: move it away or name another OUT")
            continue
        note = "" if name in PUBLISHED else ", of no design that the notebooks know"
        done.append(f"{path} -> {out / name}.csv: {rows} samples{note}")
    missing = [name for name in PUBLISHED if source.is_dir() and name not in tables]
    done += [f"{source} has no table of {name}: {PUBLISHED[name][1]}" for name in missing]
    return done, refused


def design_of(name: str, n_groups: int) -> str | None:
    """The design behind the name of a published file; None where the name is not known."""
    for design, (start, _) in PUBLISHED.items():
        spec = NAMED_DESIGNS[design]  # both replicate designs are called alike
        if name.startswith(start) and (spec.replicates == 1 or spec.count == n_groups):
            return design
    return None


def read_groups(path: Path) -> list[Floats]:
    """Inputs and outputs (rows, n_in + n_out) of each group in a published .pkl file."""
    content = load_arrays(path)
    try:
        match content:
            case {"inpts": x, "outpts": y}:
                return [_join(x, y)]
            case {"groups_inputs": [*xs], "groups_outputs": [*ys]} if len(xs) == len(ys) > 0:
                return [_join(x, y) for x, y in zip(xs, ys, strict=True)]
        raise ValueError(f"no table {KEYS} in {describe(content)}")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_csv(groups: list[Floats], target: Path) -> int:
    """Write a table, with `group` where there are several.

    Returns:
        The number of rows.

    Raises:
        FileExistsError: If a file with any other content is in this place.
    """
    rows: list[list[object]] = [[*COLUMNS], *np.vstack(groups).tolist()]
    if len(groups) > 1:
        numbers = [number for number, group in enumerate(groups) for _ in group]
        rows = [[n, *row] for n, row in zip(["group", *numbers], rows, strict=True)]
    text = "".join(",".join(map(format_value, row)) + "\n" for row in rows)
    require_own(target, None)
    if target.exists() and target.read_bytes() not in {b"", text.encode()}:
        raise FileExistsError(errno.EEXIST, "another table is in this place", str(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, text.encode(), None)
    return len(rows) - 1


def describe(content: Any, depth: int = 2) -> str:
    """Layout of some content in a few words."""
    if isinstance(content, np.ndarray):
        return f"an array of shape {content.shape}"
    if not isinstance(content, list | tuple | dict):
        return type(content).__name__
    text = f"a {type(content).__name__} of {len(content)}"
    if not content or not depth:
        return text
    if isinstance(content, dict):
        items = islice(content.items(), MAX_PARTS)
        parts = [f"{key[:30]}: {describe(item, depth - 1)}" for key, item in items]
    else:
        parts = [describe(item, depth - 1) for item in content[:MAX_PARTS]]
    return f"{text} ({', '.join(parts)})"


def _join(x: Any, y: Any) -> Floats:
    """Inputs (n, n_in) and outputs (n, n_out) side by side, if they are valid tables."""
    right = isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.size > 0 and x.ndim == 2
    right = right and x.shape[1] == len(INPUT_NAMES)
    if not right or y.shape != (len(x), len(required_outputs())):
        raise ValueError(f"inputs are {describe(x)} and outputs {describe(y)}")
    for row in x.tolist():
        Inputs(*row)  # refuses what is out of range
    if not np.isfinite(y).all():
        raise ValueError("the table holds outputs that are not finite")
    return np.hstack([x, y]).astype(float)
