"""Averaged curves of the samples of a table, from their records or from a shipped file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats, Ints, integers, numbers
from fe_data.dataset.record import MAX_BYTES, decode_arrays
from fe_data.dataset.storage import record_path
from fe_data.dataset.table import TABLE, import_pandas, load_table, table_file
from fe_data.files.csv_rows import TableError, format_value, read_rows
from fe_data.files.reading import most_unpacked, read_arrays
from fe_data.loading import ALL_AXES
from fe_data.settings import require_kind, require_path
from safe_files.progress import counted
from safe_files.reading import read_file
from safe_files.text import Short
from safe_files.writing import write_atomic

RESULT = "result.json"  # in a folder that `rve` wrote
MAX_RESULT = 200_000_000  # bytes
COMPLETE = "complete"  # the status in this file, unless the run stopped early
SHIPPED = "curves.npz"  # next to the shipped tables: the strain, and the stress by name of table
MAX_SHIPPED = 100_000_000  # bytes
BEGINNING = b"index,increment,strain_xx"  # of a CSV file of curves
# Tensors of a history, with the suffix of their columns: strain_xx, stress_xx_MPa, ...
_UNITS = {"strain": "", "stress": "_MPa", "plastic_strain": ""}
_PLANE = 4  # number of components in plane strain
_YIELDED = "yielded_fraction"
# Scalars of a history, and their columns
_OF_PATHS = {"temperature": "temperature_K", "time": "time_s"}
_OF_BREAKING = {
    "damaged_fraction": "damaged_fraction",
    "debonded_fraction": "debonded_fraction",
    "external_work": "external_work_MPa",
    "work_on_phases": "work_on_phases_MPa",
    "interface_energy": "interface_energy_MPa",
    "debonding_energy": "debonding_energy_MPa",
    "damaged_area": "damaged_area",
    "broken_area": "broken_area",
    "softening_energy": "softening_energy_MPa",
    "viscous_energy": "viscous_energy_MPa",
    "snap_energy": "snap_energy_MPa",
}
_NUMBERS = {_YIELDED: _YIELDED, **_OF_PATHS, **_OF_BREAKING}
# All columns in the order of a file
_TENSORS = [f"{name}_{axes}{unit}" for name, unit in _UNITS.items() for axes in ALL_AXES]
_COLUMNS = (*_TENSORS, *_NUMBERS.values())


@dataclass(frozen=True, repr=False)
class Curves(Short):
    """Averaged curves of the rows of a table.

    Attributes:
        histories: For each row a dictionary of arrays, at least `strain` [-] and `stress` [MPa] of
            shape (increments + 1, components). The first entry is at zero strain. A row of a
            dataset folder has all arrays of `decode_arrays`; shipped curves have only component xx.
        std: (n, increments) standard deviation [MPa] of the stress xx over microstructures, if
            the rows are means over microstructures; otherwise None.
        index: (n,) number of the sample of each row; None numbers the rows.

    Raises:
        TypeError: If `histories` is not a list of dictionaries.
        ValueError: If there are no rows, an array is missing or not numeric, or shapes do not
            match.

    Examples:
        >>> from fe_data import load_curves
        >>> curves = load_curves("fe_data/datasets/test_uniform.csv")
        >>> curves.stress.shape, curves.strain[-1].round(3).item()
        ((50, 50), 0.05)
    """

    histories: list[dict[str, Floats]]
    std: Floats | None = None
    index: Ints | None = None

    def __post_init__(self) -> None:
        require_kind("histories", self.histories, list)
        if not self.histories:
            raise ValueError("histories = [] must have a row")
        rows = [_checked_history(row, history) for row, history in enumerate(self.histories)]
        object.__setattr__(self, "histories", rows)
        n = len(rows)
        if self.std is not None:
            object.__setattr__(self, "std", numbers("std", self.std))
            if self.std.shape[:1] != (n,) or self.std.ndim != 2:
                raise ValueError(f"std of shape {self.std.shape} must be ({n}, increments)")
        if self.index is not None:
            object.__setattr__(self, "index", integers("index", self.index))
            if len(self.index) != n:
                raise ValueError(
                    f"index has {len(self.index)} numbers: must have {n}, as histories"
                )

    @property
    def strain(self) -> Floats:
        """Mean strain xx (increments,) common to all rows, without the initial state.

        Raises:
            ValueError: If the rows have different loading paths.
        """
        strains = [history["strain"][1:, 0] for history in self.histories]
        same = all(strain.shape == strains[0].shape for strain in strains)
        if not same or not all(np.allclose(strain, strains[0], rtol=1e-6) for strain in strains):
            raise ValueError("the rows have different loading paths: use histories")
        return strains[0]

    @property
    def stress(self) -> Floats:
        """Mean stress xx (n, increments) [MPa] without the initial state.

        Raises:
            ValueError: If the rows have different numbers of increments.
        """
        return np.array([history["stress"][1:, 0] for history in self.histories])

    def _rows(self) -> Iterator[tuple[int | float | None, ...]]:
        """Yield the values of `_columns` at each increment of each sample, from increment 0 on."""
        numbers = range(len(self.histories)) if self.index is None else self.index.tolist()
        names = self._columns[2:]
        histories = counted(self.histories, "curves", "curve")
        for number, history in zip(numbers, histories, strict=True):
            columns = _columns_of(history)
            absent = [None] * len(history["strain"])
            lists = [columns[name].tolist() if name in columns else absent for name in names]
            for increment, row in enumerate(zip(*lists, strict=True)):
                yield (number, increment, *row)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of the values of `_rows`: `index`, `increment`, `strain_xx`, ..."""
        present = set().union(*map(_columns_of, self.histories))
        return ("index", "increment", *(name for name in _COLUMNS if name in present))

    def to_pandas(self) -> Any:
        """Convert all curves to one `pandas.DataFrame`; this needs pandas.

        Returns:
            One row per increment of each sample, from increment 0 on. The columns are `index` of
            the sample, `increment`, and volume averages by component, such as `strain_xx`,
            `stress_xx_MPa`, `plastic_strain_xx` and `yielded_fraction`. A column that only some
            samples have, such as `debonded_fraction`, is empty for the others.

        Examples:
            >>> from fe_data import load_curves
            >>> frame = load_curves("fe_data/datasets/test_uniform.csv").to_pandas()
            >>> frame.columns.tolist()
            ['index', 'increment', 'strain_xx', 'stress_xx_MPa']
            >>> len(frame) == 50 * 51
            True
        """
        return import_pandas().DataFrame.from_records(list(self._rows()), columns=self._columns)


def save_curves(curves: Curves, path: Path) -> None:
    """Write curves to a file, with one row per increment of each sample, as in `Curves.to_pandas`.

    Args:
        curves: Curves of samples.
        path: Path of a .csv file. An earlier file of curves is replaced.

    Raises:
        ValueError: If the file has another suffix.
        FileExistsError: If another kind of file has this path.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import load_curves, save_curves
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "curves.csv")
        ...     save_curves(load_curves("fe_data/datasets/test_uniform.csv"), path)
        ...     path.read_text().splitlines()[:2]
        ['index,increment,strain_xx,stress_xx_MPa', '0,0,0.0,0.0']
    """
    require_kind("curves", curves, Curves)
    path = require_path("path", path, ".csv")
    rows = (",".join(map(format_value, row)) for row in curves._rows())
    lines = [",".join(curves._columns), *rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, ("\n".join(lines) + "\n").encode(), BEGINNING)


def load_curves(path: Path) -> Curves:
    """Read the averaged curves of the samples of a table, under any loading.

    Args:
        path: One of three places. A dataset folder or its `dataset.csv`: the curves are read from
            the records of the folder. A folder of the command `rve`: its RVE is sample 0. A table
            of `fe_data/datasets`: the curves are in `curves.npz` next to it, to seven digits.

    Returns:
        The curves of the samples that did not fail, in the order of the table.

    Raises:
        TableError: If the table or a record cannot be read, there are no curves, all samples
            failed, or the run of `rve` stopped early.

    Examples:
        >>> from fe_data import load_curves
        >>> len(load_curves("fe_data/datasets/train_beta.csv").histories)
        50
    """
    path = require_path("path", path)
    if is_one_rve(path):
        return _of_one_rve(Path(path, RESULT))
    path = table_file(path)
    if path.name == TABLE:
        return _recorded(path)
    table = load_table(path)
    try:
        data = read_file(path.with_name(SHIPPED), MAX_SHIPPED)
        packed = read_arrays(data, most_unpacked(len(data)))
        arrays = {name: values.astype(float) for name, values in packed.items()}
        strain = arrays["strain"]
        stress = arrays[path.stem]
    except (OSError, ValueError, KeyError):
        raise TableError(f"{path}: its folder has no {SHIPPED} with curves of this table") from None
    if stress.shape != (len(table), len(strain)):
        raise TableError(f"{path} has {len(table)} rows: {SHIPPED} has {len(stress)} of its curves")
    histories = [{"strain": _from_rest(strain), "stress": _from_rest(row)} for row in stress]
    return Curves(histories, arrays.get(f"{path.stem}_std"), table.index)


def is_one_rve(path: Path) -> bool:
    """Return whether a folder has a result of the command `rve`, and no table."""
    return Path(path, RESULT).is_file() and not Path(path, TABLE).exists()


def _of_one_rve(path: Path) -> Curves:
    """Read the curve in a result of the command `rve`."""
    foreign = TableError(f"{path} was not written by `rve`: it contains no stress–strain history")
    try:
        content = json.loads(read_file(path, MAX_RESULT))
        status = content.get("status", COMPLETE)
    except (ValueError, AttributeError, RecursionError):
        raise foreign from None
    if status != COMPLETE:
        raise TableError(f"{path}: its curve is not complete, the status of the run is {status!r}")
    try:
        stored = content["history"]
        needed = [*_UNITS, _YIELDED, *(_OF_PATHS if "time" in stored else ())]
        needed += [name for name in _OF_BREAKING if name in stored]
        history = {name: np.array(stored[name], float) for name in needed}
    except (ValueError, TypeError, KeyError):
        raise foreign from None
    n = len(history["strain"])
    shapes = [values.shape for values in history.values()]
    finite = all(np.isfinite(values).all() for values in history.values())
    width = len(ALL_AXES) if "time" in history else _PLANE
    if not finite or shapes != [(n, width)] * len(_UNITS) + [(n,)] * (len(history) - len(_UNITS)):
        raise TableError(
            f"{path} was not written by `rve`: its history has wrong shapes or is not finite"
        )
    return Curves([history], index=np.array([0], np.int64))


def _from_rest(values: Floats) -> Floats:
    """Add the initial zero to values (increments,) of a component; return (increments + 1, 1)."""
    return np.concatenate([[0.0], values])[:, None]


def _recorded(path: Path) -> Curves:
    """Read the curves of all samples of a table that did not fail, from their records."""
    folder = path.parent
    histories = []
    numbers = []
    rows = list(read_rows(path, ("index", "status"), ()))
    for _, row in counted(rows, "records", "record"):
        if row["status"] == "failed":
            continue
        try:
            number = int(row["index"])
            data = read_file(record_path(folder, number), MAX_BYTES)
            histories.append(decode_arrays(data))
        except (OSError, ValueError) as error:
            index = row["index"]
            raise TableError(f"{folder}: no curve of sample {index:.60} ({error})") from None
        numbers.append(number)
    if not histories:
        raise TableError(f"{folder}: no sample has outputs")
    return Curves(histories, index=np.array(numbers, np.int64))


def _checked_history(row: int, history: object) -> dict[str, Floats]:
    """Return a history with arrays of floats; a ValueError if strain or stress is missing."""
    place = f"histories[{row}]"
    require_kind(place, history, dict)
    arrays = {name: numbers(f"{place}[{name!r:.60}]", values) for name, values in history.items()}  # type: ignore[attr-defined]
    for name in ("strain", "stress"):
        if name not in arrays or arrays[name].ndim != 2 or not arrays[name].size:
            raise ValueError(f"{place} must have a {name} of shape (increments + 1, components)")
    if len(arrays["strain"]) != len(arrays["stress"]):
        raise ValueError(f"{place}: strain and stress have different numbers of increments")
    return arrays


def _columns_of(history: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the columns (increments + 1,) of a history by name."""
    columns: dict[str, Floats] = {}
    for name, unit in _UNITS.items():
        if name in history:
            components = zip(ALL_AXES, history[name].T, strict=False)
            columns |= {f"{name}_{axes}{unit}": values for axes, values in components}
    return columns | {column: history[name] for name, column in _NUMBERS.items() if name in history}
