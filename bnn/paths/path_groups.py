"""Paths of equal and unequal lengths: checked, grouped by length, and put back in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bnn._validation import Array, as_finite
from bnn.paths.phases import checked_inputs, checked_paths

CHUNK = 50  # paths whose features are in memory at a time

# Paths (n, T, 3) of one length, or a sequence of n paths (T_i, 3).
PathsLike: TypeAlias = ArrayLike | Sequence[ArrayLike]


class PathGroup(NamedTuple):
    """Paths of equal length."""

    rows: list[int]  # row numbers of the paths
    X: Array  # (n, n_in)
    strain: Array  # (n, T, 3)


def grouped(X: ArrayLike, strain: PathsLike, names: tuple[str, ...]) -> list[PathGroup]:
    """Check inputs and paths, and return them in groups of equal length."""
    inputs = checked_inputs(X, names)
    if not len(inputs):
        raise ValueError(f"X has shape {inputs.shape}: must have at least one row")
    paths = _listed("strain", strain, len(inputs))
    lengths = np.array([len(path) for path in paths])
    groups = []
    for length in dict.fromkeys(lengths.tolist()):
        rows = np.flatnonzero(lengths == length).tolist()
        strains = np.stack([paths[row] for row in rows])
        groups.append(PathGroup(rows, *checked_paths(inputs[rows], strains, names, rows)))
    return groups


def _listed(name: str, paths: Any, n: int) -> list[Array]:
    """Return n paths (T_i, 3) from an array or a list."""
    if isinstance(paths, list | tuple):
        listed = [as_finite(f"{name}[{i}]", path) for i, path in enumerate(paths)]
        what = f"{len(listed)} paths"
    else:
        array = as_finite(name, paths)
        listed = list(array) if array.ndim == 3 else []
        what = f"shape {array.shape}"
    if len(listed) != n:
        raise ValueError(f"{name} has {what}: must be ({n}, T, 3), or {n} paths (T, 3)")
    for i, path in enumerate(listed):
        if path.ndim != 2 or path.shape[1] != 3 or not len(path):
            raise ValueError(f"{name}[{i}] has shape {path.shape}: must be (T, 3)")
    return listed


def like(name: str, values: PathsLike, groups: Sequence[PathGroup]) -> list[Array]:
    """Return values of the same shapes as the paths, in the same groups."""
    n = sum(len(group.rows) for group in groups)
    listed = _listed(name, values, n)
    for group in groups:
        for row in group.rows:
            needed = group.strain.shape[1:]
            if listed[row].shape != needed:
                what = f"{name}[{row}] has shape {listed[row].shape}"
                raise ValueError(f"{what}: must be {needed}, as the strain of this path")
    return [np.stack([listed[row] for row in group.rows]) for group in groups]


def chunks(group: PathGroup) -> list[tuple[Array, Array]]:
    """Split a group into chunks of at most CHUNK paths; return their inputs and paths."""
    starts = range(0, len(group.X), CHUNK)
    return [(group.X[i : i + CHUNK], group.strain[i : i + CHUNK]) for i in starts]


def in_order(groups: Sequence[PathGroup], values: Sequence[Array], axis: int = 0) -> Any:
    """Return values of all paths as one array, or as a list if the lengths of paths differ."""
    if len(groups) == 1:
        return values[0]
    by_row: dict[int, Array] = {}
    for group, of_group in zip(groups, values, strict=True):
        by_row |= dict(zip(group.rows, np.moveaxis(of_group, axis, 0), strict=True))
    return [by_row[row] for row in range(len(by_row))]
