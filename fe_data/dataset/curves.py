"""Averaged curves of the samples of a table, from their records or from a shipped file."""

import errno
import importlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats, Ints, Short, integers, numbers
from fe_data.dataset.record import MAX_BYTES, decode_arrays
from fe_data.dataset.storage import record_path
from fe_data.dataset.table import TABLE, import_pandas, load_table, require_frame, table_file
from fe_data.files.csv_rows import TableError, read_rows
from fe_data.files.reading import most_unpacked, read_arrays, read_file
from fe_data.files.writing import require_own, write_atomic
from fe_data.progress import shown
from fe_data.settings import require_kind, require_path

RESULT = "result.json"  # of a folder that `rve` wrote
MAX_RESULT = 200_000_000  # bytes
SHIPPED = "curves.npz"  # beside the tables: the strain, and the stress of each table by its name
MAX_SHIPPED = 100_000_000  # bytes
BEGINNING = b"index,increment,strain_xx"  # of a CSV file of curves
# Volume averages of a history and what their columns are called: strain_xx, stress_xx_MPa, ...
_UNITS = {"strain": "", "stress": "_MPa", "plastic_strain": ""}
_PARQUET = b"PAR1"
_COMPONENTS = ("xx", "yy", "zz", "xy", "xz", "yz")  # the last two of general loadings only
_PLANE = 4  # components of others
_YIELDED = "yielded_fraction"
_NUMBERS = {_YIELDED: _YIELDED, "temperature": "temperature_K", "time": "time_s"}  # and columns
_ALL_COLUMNS = (
    *(f"{name}_{axes}{unit}" for name, unit in _UNITS.items() for axes in _COMPONENTS),
    *_NUMBERS.values(),
)


@dataclass(frozen=True, repr=False)
class Curves(Short):
    """Averaged curves of the rows of a table.

    Attributes:
        histories: For each row the arrays `strain` [-] and `stress` [MPa], (increments + 1,
            components), by name. They begin at rest. A row of a dataset folder has all arrays of
            `decode_arrays`; shipped curves have only the component xx.
        std: (n, increments) standard deviation [MPa] of the stress xx over microstructures, if
            the rows are means over microstructures; else None.
        index: (n,) number of the sample of each row; None counts the rows.

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
                raise ValueError(f"index has {len(self.index)} numbers where histories has {n}")

    @property
    def strain(self) -> Floats:
        """Mean strain xx (increments,) that all rows share, without the state of rest.

        Raises:
            ValueError: If the rows have different paths of loading.
        """
        strains = [history["strain"][1:, 0] for history in self.histories]
        same = all(strain.shape == strains[0].shape for strain in strains)
        if not same or not all(np.allclose(strain, strains[0], rtol=1e-6) for strain in strains):
            raise ValueError("the rows have different paths of loading: take their histories")
        return strains[0]

    @property
    def stress(self) -> Floats:
        """Mean stress xx (n, increments) [MPa] without the state of rest."""
        return np.array([history["stress"][1:, 0] for history in self.histories])

    def _rows(self) -> Iterator[tuple[int | float, ...]]:
        """Values of `_columns` at every increment of every sample, from rest on."""
        numbers = range(len(self.histories)) if self.index is None else self.index.tolist()
        histories = shown(self.histories, "curves", "curve", len(self.histories))
        for number, history in zip(numbers, histories, strict=True):
            values = _matrix(history)
            for increment, row in enumerate(values.tolist()):
                yield (number, increment, *row)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of what `_rows` has: `index`, `increment`, `strain_xx`, `stress_xx_MPa`, ..."""
        names = _column_names(self.histories[0])
        if any(_column_names(history) != names for history in self.histories):
            raise ValueError("the rows have different columns: take their histories")
        return ("index", "increment", *names)

    def to_pandas(self) -> Any:
        """All curves in one `pandas.DataFrame`, which needs pandas.

        Returns:
            A row for each increment of each sample, from rest on: `index` of the sample,
            `increment`, and the volume averages by component, such as `strain_xx`,
            `stress_xx_MPa`, `plastic_strain_xx` and `yielded_fraction`.

        Examples:
            >>> from fe_data import load_curves
            >>> frame = load_curves("fe_data/datasets/test_uniform.csv").to_pandas()
            >>> frame.columns.tolist()
            ['index', 'increment', 'strain_xx', 'stress_xx_MPa']
            >>> len(frame) == 50 * 51
            True
        """
        return import_pandas().DataFrame.from_records(list(self._rows()), columns=self._columns)

    @classmethod
    def from_pandas(cls, frame: Any) -> "Curves":
        """The curves of a `pandas.DataFrame`, as `to_pandas` and the command `curves` write it.

        Args:
            frame: Columns `index`, `increment`, `strain_xx` and `stress_xx_MPa` at least; other
                components are read if present, and further columns are ignored. `pandas.read_csv`
                keeps every bit with `float_precision="round_trip"`.

        Returns:
            The curves, in the order of the samples in the frame.

        Raises:
            TableError: If a column is missing, an entry is not a finite number, or the increments
                of a sample are not 0, 1, 2, ... in this order.

        Examples:
            >>> from fe_data import Curves, load_curves
            >>> curves = load_curves("fe_data/datasets/test_uniform.csv")
            >>> again = Curves.from_pandas(curves.to_pandas())
            >>> bool((again.stress == curves.stress).all())
            True
        """
        require_frame(frame, ("index", "increment", "strain_xx", "stress_xx_MPa"))
        names = [name for name in _ALL_COLUMNS if name in frame]
        values = np.column_stack([_finite(frame, name) for name in ("index", "increment", *names)])
        index = values[:, 0].astype(np.int64)
        starts = np.flatnonzero(np.diff(index, prepend=index[0] - 1))
        histories = []
        for number, part in zip(index[starts], np.split(values, starts[1:]), strict=True):
            if not np.array_equal(part[:, 1], np.arange(len(part))):
                raise TableError(f"frame: the increments of sample {number} are not 0, 1, 2, ...")
            histories.append(_history(dict(zip(names, part[:, 2:].T, strict=True))))
        if len(set(index[starts].tolist())) < len(starts):
            raise TableError("frame: the rows of a sample are not together")
        return cls(histories, index=index[starts])


def save_curves(curves: Curves, path: Path) -> None:
    """Write curves to a file, a row for each increment of each sample, as `Curves.to_pandas`.

    Args:
        curves: Curves of samples.
        path: File that ends in .csv, or in .parquet, which needs pandas with pyarrow. Earlier
            curves there are replaced.

    Raises:
        ValueError: If the file has another ending.
        FileExistsError: If the path holds another kind of file.
        ImportError: If a Parquet file needs pandas or pyarrow, which is missing.

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
    path = require_path("path", path)
    if path.suffix == ".csv":
        beginning = BEGINNING
        lines = [",".join(curves._columns), *(",".join(map(repr, row)) for row in curves._rows())]
        data = ("\n".join(lines) + "\n").encode()
    elif path.suffix == ".parquet":
        beginning = _PARQUET
        content = io.BytesIO()
        try:
            curves.to_pandas().to_parquet(content, index=False)
        except ImportError:
            what = "a Parquet file needs pandas with pyarrow: pip install pandas pyarrow"
            raise ImportError(what) from None
        data = content.getvalue()
        _require_own_parquet(path)
    else:
        raise ValueError(f"path = {str(path)!r:.200} must end in .csv or .parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data, beginning)


def _require_own_parquet(path: Path) -> None:
    """See that a Parquet file in this place, if any, has no columns that curves do not have."""
    require_own(path, _PARQUET)
    if path.exists() and path.stat().st_size:
        columns = importlib.import_module("pyarrow.parquet").read_schema(path).names
        if not {*columns} <= {"index", "increment", *_ALL_COLUMNS}:
            what = "a table of another kind is in this place, move it away or give another name"
            raise FileExistsError(errno.EEXIST, what, str(path))


def load_curves(path: Path) -> Curves:
    """Read the averaged curves of the samples of a table, under any loading.

    Args:
        path: A dataset folder or its `dataset.csv`: the curves are in the records of the folder.
            A folder of `rve`: its RVE is sample 0. Or a table of `fe_data/datasets`: the curves
            are in `curves.npz` next to the table, to seven digits.

    Returns:
        The curves of the samples that did not fail, in the order of the table.

    Raises:
        TableError: If the table or a record cannot be read, it has no curves, or all samples
            failed.

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
        raise TableError(f"{path}: there are no curves of it in a {SHIPPED} beside it") from None
    if stress.shape != (len(table), len(strain)):
        raise TableError(f"{path} has {len(table)} rows: {SHIPPED} has {len(stress)} curves of it")
    histories = [{"strain": _from_rest(strain), "stress": _from_rest(row)} for row in stress]
    return Curves(histories, arrays.get(f"{path.stem}_std"), table.index)


def is_one_rve(path: Path) -> bool:
    """Whether a folder holds the result of `rve` and not a table."""
    return Path(path, RESULT).is_file() and not Path(path, TABLE).exists()


def _of_one_rve(path: Path) -> Curves:
    """The curve in a result of `rve`."""
    try:
        found = json.loads(read_file(path, MAX_RESULT))["history"]
        needed = (*_UNITS, *_NUMBERS) if "time" in found else (*_UNITS, _YIELDED)
        history = {name: np.array(found[name], float) for name in needed}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TableError(
            f"{path} was not written by `rve`: it contains no stress–strain history"
        ) from None
    n = len(history["strain"])
    shapes = [values.shape for values in history.values()]
    finite = all(np.isfinite(values).all() for values in history.values())
    width = len(_COMPONENTS) if "time" in history else _PLANE
    if not finite or shapes != [(n, width)] * len(_UNITS) + [(n,)] * (len(history) - len(_UNITS)):
        raise TableError(
            f"{path} was not written by `rve`: its history has other shapes or no numbers"
        )
    return Curves([history], index=np.array([0], np.int64))


def _from_rest(values: Floats) -> Floats:
    """One component (increments + 1, 1) from its values (increments,) after rest."""
    return np.concatenate([[0.0], values])[:, None]


def _recorded(path: Path) -> Curves:
    """Curves in the records of the samples of a table that did not fail."""
    folder = path.parent
    histories = []
    numbers = []
    rows = list(read_rows(path, ("index", "status"), ()))
    for _, row in shown(rows, "records", "record", len(rows)):
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


def _finite(frame: Any, name: str) -> Floats:
    """A column of a frame (n,)."""
    try:
        values = frame[name].to_numpy(float)
    except (TypeError, ValueError, AttributeError):
        raise TableError(f"frame: column {name} is not one of numbers") from None
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise TableError(f"frame, row {row}: {name} is empty or not finite")
    return np.asarray(values)


def _checked_history(row: int, history: object) -> dict[str, Floats]:
    """The arrays of a row of histories as numbers, of which strain and stress are needed."""
    place = f"histories[{row}]"
    require_kind(place, history, dict)
    arrays = {name: numbers(f"{place}[{name!r:.60}]", values) for name, values in history.items()}  # type: ignore[attr-defined]
    for name in ("strain", "stress"):
        if name not in arrays or arrays[name].ndim != 2 or not arrays[name].size:
            raise ValueError(f"{place} must have a {name} of shape (increments + 1, components)")
    if len(arrays["strain"]) != len(arrays["stress"]):
        raise ValueError(f"{place}: strain and stress have different numbers of increments")
    return arrays


def _column_names(history: Mapping[str, Floats]) -> list[str]:
    """Names of the columns of a history: its arrays by component."""
    names = []
    for name, unit in _UNITS.items():
        if name in history:
            components = _COMPONENTS[: history[name].shape[1]]
            names += [f"{name}_{axes}{unit}" for axes in components]
    return names + [column for name, column in _NUMBERS.items() if name in history]


def _matrix(history: Mapping[str, Floats]) -> Floats:
    """Values (increments + 1, columns) of `_column_names`."""
    parts = [history[name] for name in (*_UNITS, *_NUMBERS) if name in history]
    return np.column_stack(parts)


def _history(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """The arrays of a history from its columns; an array has the components xx to the last one."""
    history = {}
    for name, unit in _UNITS.items():
        found = [columns.get(f"{name}_{axes}{unit}") for axes in _COMPONENTS]
        present = [values for values in found if values is not None]
        if any(values is None for values in found[: len(present)]):
            raise TableError(f"frame: of the components of {name} one before the last is missing")
        if present:
            history[name] = np.column_stack(present)
    history |= {name: columns[each].copy() for name, each in _NUMBERS.items() if each in columns}
    return history
