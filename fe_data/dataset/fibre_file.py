"""Microstructures in a CSV file with one row per fibre."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fe_data.files.csv_rows import Problems, TableError, parse_float, parse_integer, read_rows
from fe_data.geometry.microstructure import FIBRES, Microstructure
from fe_data.schema import BOUNDS
from fe_data.settings import require_between, require_integer

MAX_FIBRES = 5000  # of a microstructure in a file; the matrix of distances takes 0.2 GB
COLUMNS = ("x", "y", "radius")
FURTHER = ("microstructure", "phase", "E_GPa")  # columns that may be missing


class _Fibre(NamedTuple):
    """One row of a file: lengths relative to the width of the RVE."""

    x: float
    y: float
    radius: float
    phase: str
    E_GPa: float | None  # None is the modulus of the phase


def microstructures_from_file(path: Path, height: float = 1.0) -> list[Microstructure]:
    r"""Read microstructures from a CSV file with one row per fibre.

    The columns are:

    - `x`, `y`, `radius`: centre and radius, relative to the side of the periodic square
    - `microstructure`: number of the microstructure, 0, 1, 2, ...; omit it if there is only one
    - `phase`: `fibres` (also if empty), `void`, or another phase of the material; optional
    - `E_GPa`: Young's modulus of the fibre, empty for the modulus of its phase; optional

    Args:
        path: The CSV file.
        height: Height of the RVE relative to its width; 1 is the square. Lengths in the file are
            relative to the width.

    Returns:
        The microstructures, in the order of their numbers.

    Raises:
        ValueError: If the height is out of range.
        TableError: If an entry is invalid, or fibres overlap. The message has line number, column
            and value of each invalid entry, or the number of the microstructure.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import microstructures_from_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "fibres.csv")
        ...     _ = path.write_text("x,y,radius\n0.3,0.3,0.2\n0.8,0.7,0.1\n")
        ...     (micro,) = microstructures_from_file(path)
        >>> micro.radii.tolist()
        [0.2, 0.1]
    """
    require_between("height", height, *BOUNDS["height"], unit=" widths")
    microstructures = []
    for number, rows in _rows_of_microstructures(path).items():
        try:
            microstructures.append(_microstructure(rows, height))
        except ValueError as error:
            raise TableError(f"{path}, microstructure {number}: {error}") from None
    return microstructures


def _rows_of_microstructures(path: Path) -> dict[int, list[_Fibre]]:
    """Read the fibres of each microstructure, by its number, in the order of the file."""
    problems = Problems(path)
    fibres_of: dict[int, list[_Fibre]] = {}
    for line, row in read_rows(path, COLUMNS, FURTHER, others=False):
        parse = partial(problems.parse, line, row)
        number = parse(parse_integer, "microstructure", 0)
        fibre = _Fibre(
            parse(parse_float, "x"),
            parse(parse_float, "y"),
            parse(parse_float, "radius"),
            row.get("phase") or FIBRES,
            parse(parse_float, "E_GPa") if row.get("E_GPa") else None,
        )
        fibres_of.setdefault(number, []).append(fibre)
        if number >= len(fibres_of):
            what = f"microstructure = {number} is out of order: expected is {len(fibres_of) - 1}"
            problems.add(line, what)
    problems.raise_if_any()
    return fibres_of


def _microstructure(rows: Sequence[_Fibre], height: float) -> Microstructure:
    """Build the microstructure of some rows; a ValueError if it is none."""
    x, y, radii, phases, moduli = zip(*rows, strict=True)
    require_integer("number of fibres", len(rows), 1, MAX_FIBRES)
    fibres = np.column_stack([x, y, radii]).astype(float)
    E = np.array(moduli, float)  # None becomes NaN
    micro = Microstructure(fibres[:, :2], fibres[:, 2], list(phases), height)
    return replace(micro, E_GPa=None if np.isnan(E).all() else E)
