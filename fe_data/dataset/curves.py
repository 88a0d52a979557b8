"""Averaged curves of the samples of a table, from their records or from a shipped file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.record import MAX_BYTES, decode_arrays
from fe_data.dataset.storage import TABLE, record_path
from fe_data.dataset.table import TableError, load_table, read_rows
from fe_data.files.reading import most_unpacked, read_arrays, read_file
from fe_data.settings import require_kind

SHIPPED = "curves.npz"  # beside the tables: the strain, and the stress of each table by its name
MAX_SHIPPED = 100_000_000  # bytes


@dataclass(frozen=True)
class Curves:
    """Averaged curves of the rows of a table.

    Attributes:
        histories: For each row the arrays `strain` [-] and `stress` [MPa], (increments + 1,
            components), by name. They begin at rest. A row of a dataset folder has all arrays of
            `decode_arrays`; shipped curves have the component xx alone.
        std: (n, increments) standard deviation [MPa] of the stress xx over fibre arrangements, if
            the rows are means over arrangements; else None.

    Examples:
        >>> from fe_data import load_curves
        >>> curves = load_curves("fe_data/datasets/test_uniform.csv")
        >>> curves.stress.shape, curves.strain[-1].round(3).item()
        ((50, 50), 0.05)
    """

    histories: list[dict[str, Floats]]
    std: Floats | None = None

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


def load_curves(path: Path) -> Curves:
    """Read the averaged curves of the samples of a table, under any loading.

    Args:
        path: `dataset.csv` of a dataset folder, whose records hold the curves, or a table of
            `fe_data/datasets`, which has them in `curves.npz` beside it, to seven digits.

    Returns:
        The curves of the samples that did not fail, in the order of the table.

    Raises:
        TableError: The table or a record cannot be read, there are no curves of its rows, or all
            samples failed.

    Examples:
        >>> from fe_data import load_curves
        >>> len(load_curves("fe_data/datasets/train_beta.csv").histories)
        50
    """
    require_kind("path", path, str, Path)
    path = Path(path)
    if path.name == TABLE:
        return Curves(_recorded(path))
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
    return Curves(histories, arrays.get(f"{path.stem}_std"))


def _from_rest(values: Floats) -> Floats:
    """One component (increments + 1, 1) from its values (increments,) after rest."""
    return np.concatenate([[0.0], values])[:, None]


def _recorded(path: Path) -> list[dict[str, Floats]]:
    """Histories in the records of the samples of a table that did not fail."""
    folder = path.parent
    histories = []
    for _, row in read_rows(path, ("index", "status"), ()):
        if row["status"] == "failed":
            continue
        try:
            data = read_file(record_path(folder, int(row["index"])), MAX_BYTES)
            histories.append(decode_arrays(data))
        except (OSError, ValueError) as error:
            index = row["index"]
            raise TableError(f"{folder}: no curve of sample {index:.60} ({error})") from None
    if not histories:
        raise TableError(f"{folder}: no sample has outputs")
    return histories
