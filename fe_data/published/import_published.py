"""Convert the published tables to CSV: .pkl files with dictionaries of inputs and outputs."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.design import NAMED_DESIGNS
from fe_data.files.csv_rows import format_value
from fe_data.published import unpickling
from fe_data.schema import INPUT_NAMES, required_outputs
from fe_data.settings import Inputs
from safe_files.reading import read_file
from safe_files.writing import require_own, write_atomic

COLUMNS = (*INPUT_NAMES, *required_outputs())
KEYS = "with the keys inpts and outpts, or groups_inputs and groups_outputs,"
MAX_BYTES = 50_000_000  # of a file
MAX_SECONDS = 10  # of processor time, to read a file
# Limits memory, because each thread of BLAS reserves some.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Beginning of the published file name for each design, and the effect of a missing table.
PUBLISHED = {
    "test_uniform": ("testing_random", "no notebook on the composite can run"),
    "train_uniform": ("training_random", "notebooks 03 to 05 leave out the first training set"),
    "train_beta": ("training_beta", "no notebook on the composite can run"),
    "replicates": ("data_aleatoric", "notebooks 03 and 05 leave out the scatter at its 10 inputs"),
    "noise": ("data_aleatoric", "notebooks 03 and 05 leave out the scatter at its 20 inputs"),
}


def import_tables(source: Path, out: Path) -> tuple[list[str], list[str]]:
    """Convert a .pkl file, or all .pkl files in a folder, to CSV.

    Returns:
        Two lists: one sentence per table that was written or is missing, and one sentence per file
        that was rejected.

    Raises:
        ValueError: If there is no .pkl file.
    """
    paths = sorted(source.glob("*.pkl")) if source.is_dir() else [source]
    if not paths:
        raise ValueError(f"{source} has no .pkl file")
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
        except OSError as error:
            refused.append(f"{path}: {error.strerror}")
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
        except (IsADirectoryError, PermissionError) as error:
            refused.append(f"{error.filename}: {error.strerror}")
            continue
        note = "" if name in PUBLISHED else ", which no notebook uses"
        done.append(f"{path} -> {out / name}.csv: {rows} samples{note}")
    missing = [name for name in PUBLISHED if source.is_dir() and name not in tables]
    done += [f"{source} has no table of {name}: {PUBLISHED[name][1]}" for name in missing]
    return done, refused


def design_of(name: str, n_groups: int) -> str | None:
    """Find the design of a published file by its name; None if the name is unknown."""
    for design, (start, _) in PUBLISHED.items():
        spec = NAMED_DESIGNS[design]  # files of both replicate designs have the same name
        if name.startswith(start) and (spec.replicates == 1 or spec.count == n_groups):
            return design
    return None


def load_content(path: Path) -> Any:
    """Read a pickle file, with arrays as nested lists; no code in it is run, see `unpickling`."""
    data = read_file(path, MAX_BYTES)
    command = [sys.executable, "-P", unpickling.__file__, str(MAX_SECONDS)]
    options: Any = {"capture_output": True, "env": os.environ | ONE_THREAD}
    try:
        done = subprocess.run(command, input=data, timeout=60 * MAX_SECONDS, check=False, **options)
    except subprocess.TimeoutExpired:
        raise ValueError(f"{path} takes more than {60 * MAX_SECONDS} s to read") from None
    if done.returncode < 0:
        raise ValueError(f"{path} takes more than {MAX_SECONDS} s of processor time to read")
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()
        raise ValueError(f"{path} is not a pickle file of numeric arrays: {reason}")
    return json.loads(done.stdout)


def read_groups(path: Path) -> list[Floats]:
    """Read inputs and outputs (rows, n_in + n_out) of each group in a published .pkl file."""
    content = load_content(path)
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
    """Write a table, with a column `group` if there are several groups.

    Returns:
        The number of rows.

    Raises:
        FileExistsError: If a file with other content has this path.
    """
    rows: list[list[object]] = [[*COLUMNS], *np.vstack(groups).tolist()]
    if len(groups) > 1:
        numbers = [number for number, group in enumerate(groups) for _ in group]
        rows = [[n, *row] for n, row in zip(["group", *numbers], rows, strict=True)]
    text = "".join(",".join(map(format_value, row)) + "\n" for row in rows)
    require_own(target, None)
    if target.exists() and target.read_bytes() not in {b"", text.encode()}:
        raise FileExistsError(errno.EEXIST, "another table has this name", str(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, text.encode(), None)
    return len(rows) - 1


def describe(content: Any) -> str:
    """Describe the layout of some content in a few words."""
    if isinstance(content, dict):
        return f"a dict with the keys {', '.join(content):.100}"
    size = f" of {len(content)}" if isinstance(content, list | str) and content else ""
    return f"a {type(content).__name__}{size}"


def _join(x: Any, y: Any) -> Floats:
    """Join inputs (n, n_in) and outputs (n, n_out) to one table; a ValueError if invalid."""
    inputs, outputs = np.array(x), np.array(y)
    rows = len(inputs) if inputs.ndim else 0
    shapes = [(rows, len(INPUT_NAMES)), (rows, len(required_outputs()))]
    if not rows or [inputs.shape, outputs.shape] != shapes:
        raise ValueError(f"inputs have the shape {inputs.shape} and outputs {outputs.shape}")
    for row in inputs.tolist():
        Inputs(*row)  # raises a ValueError if an input is out of range
    if not (outputs.dtype.kind in "iuf" and np.isfinite(outputs).all()):
        raise ValueError("the table has outputs that are not finite")
    return np.hstack([inputs, outputs]).astype(float)
