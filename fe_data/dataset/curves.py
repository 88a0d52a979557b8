"""Averaged stress over strain of the samples of a table: from their records, or as shipped."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.record import MAX_BYTES, decode_arrays
from fe_data.dataset.storage import TABLE, record_path
from fe_data.dataset.table import TableError, load_table, read_rows
from fe_data.files.reading import most_unpacked, read_arrays, read_file

SHIPPED = "curves.npz"  # beside tables: strain, and stress by the name of the table
MAX_SHIPPED = 100_000_000  # bytes


@dataclass(frozen=True)
class Curves:
    """Stress over strain in the direction of loading, without the state of rest.

    Attributes:
        strain: (increments,) mean strain xx.
        stress: (n, increments) mean stress xx [MPa] of each row of the table.
        std: (n, increments) standard deviation [MPa] over fibre arrangements where the rows are
            means over these; else None.
    """

    strain: Floats
    stress: Floats
    std: Floats | None = None


def load_curves(path: Path) -> Curves:
    """Read the averaged curves of the samples of a table.

    Args:
        path: `dataset.csv` of a dataset folder, whose records hold the curves, or a table of
            `fe_data/datasets`, which has them in `curves.npz` beside it, to seven digits.

    Returns:
        The curves, in the order of `load_table`.

    Raises:
        TableError: The table cannot be read or there are no curves of its rows.
    """
    table, path = load_table(path), Path(path)
    if path.name == TABLE:
        histories = load_histories(path)
        stress = np.array([history["stress"][1:, 0] for history in histories])
        return Curves(histories[0]["strain"][1:, 0], stress)
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
    return Curves(strain, stress, arrays.get(f"{path.stem}_std"))


def load_histories(path: Path) -> list[dict[str, Floats]]:
    """Read the averaged histories of the samples of a dataset folder, whatever their loading.

    Args:
        path: `dataset.csv` of the folder.

    Returns:
        What `decode_arrays` gives of each sample that did not fail, in the order of the table.

    Raises:
        TableError: The table or a record cannot be read, or all samples failed.
    """
    rows = [row for _, row in read_rows(path, ("index", "status"), ())]
    folder, histories = Path(path).parent, []
    for index in (row["index"] for row in rows if row["status"] != "failed"):
        try:
            data = read_file(record_path(folder, int(index)), MAX_BYTES)
            histories.append(decode_arrays(data))
        except (OSError, ValueError) as error:
            raise TableError(f"{folder}: no curve of sample {index:.60} ({error})") from None
    if not histories:
        raise TableError(f"{folder}: no sample has outputs")
    return histories
