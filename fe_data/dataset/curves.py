"""Averaged stress over strain of the samples of a table: from their records, or as shipped."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.record import decode_arrays
from fe_data.dataset.storage import TABLE, record_path
from fe_data.dataset.table import TableError, load_table, read_rows

SHIPPED = "curves.npz"  # beside tables: strain, and stress by the name of the table


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
        with np.load(path.with_name(SHIPPED), allow_pickle=False) as file:
            arrays = {name: file[name].astype(float) for name in file.files}
        strain, stress = arrays["strain"], arrays[path.stem]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
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
    rows = read_rows(path, ("index", "status"), ())
    folder, histories = Path(path).parent, []
    for index in (row["index"] for _, row in rows if row["status"] != "failed"):
        try:
            histories.append(decode_arrays(record_path(folder, int(index)).read_bytes()))
        except (OSError, ValueError) as error:
            raise TableError(f"{folder}: no curve of sample {index:.60} ({error})") from None
    if not histories:
        raise TableError(f"{folder}: no sample has outputs")
    return histories
