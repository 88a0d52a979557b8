"""Sets of strain paths with the stresses of RVEs, in files and shipped with the package."""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fe_data.arrays import Floats, keep_copies, numbers
from fe_data.composite.phases import SETTINGS_OF_PHASES
from fe_data.files.csv_rows import TableError
from fe_data.files.reading import most_unpacked, read_arrays
from fe_data.loading import AXES
from fe_data.paths.design import PATH_SETS, SHIPPED_SETTINGS
from fe_data.schema import INPUT_NAMES
from fe_data.settings import Settings, checked_inputs, require_kind, require_path
from safe_files.reading import read_file
from safe_files.text import Short
from safe_files.writing import write_atomic

SHIPPED = Path(__file__).parents[1] / "datasets" / "paths"
MAX_FILE = 500_000_000  # bytes
_ARRAYS = ("inputs", "strain", "stress")
BEGINNING = rb"PK\x03\x04.{26}inputs\.npy"  # of an archive whose first array is `inputs`
_SETTINGS = "settings"  # JSON text in a file; older files lack it


@dataclass(frozen=True, repr=False)
class Paths(Short):
    """Stress along a strain path for each input, for several microstructures.

    Attributes:
        inputs: (n, 4), in the order and units of `schema.INPUTS`.
        strain: (n, increments, 3) mean strain tensor xx, yy, xy [-] after each increment, without
            the initial state. A free strain is averaged over the microstructures.
        stress: (n, microstructures, increments, 3) mean stress xx, yy, xy [MPa] of each
            microstructure.
        settings: Settings of the simulations; None if they are unknown.

    Raises:
        ValueError: If an array has the wrong shape or a number that is not finite, or an input is
            out of range.
        TypeError: If `settings` has the wrong type.

    Examples:
        >>> from fe_data import load_paths
        >>> paths = load_paths("repeated_random")
        >>> paths.inputs.shape, paths.strain.shape, paths.stress.shape
        ((20, 4), (20, 100, 3), (20, 5, 100, 3))
    """

    inputs: Floats
    strain: Floats
    stress: Floats
    settings: Settings | None = None

    def __post_init__(self) -> None:
        if self.settings is not None:
            require_kind("settings", self.settings, Settings)
        for name in _ARRAYS:
            object.__setattr__(self, name, numbers(name, getattr(self, name)))
        keep_copies(self)
        n, steps = (*self.strain.shape, 0, 0)[:2]
        microstructures = (*self.stress.shape, 0, 0)[1]
        shapes = {
            "inputs": (n, len(INPUT_NAMES)),
            "strain": (n, steps, len(AXES)),
            "stress": (n, microstructures, steps, len(AXES)),
        }
        for name in ("strain", "inputs", "stress"):
            values = getattr(self, name)
            if values.shape != shapes[name] or not values.size:
                what = f"{name} has the shape {values.shape}"
                raise ValueError(f"{what}: must be {_SHAPES}, of the same n and increments")
            if name != "inputs" and not np.isfinite(values).all():
                row = int(np.argwhere(~np.isfinite(values))[0, 0])
                raise ValueError(f"{name}, row {row}: a number is not finite")
        checked_inputs("inputs", self.inputs)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def mean_stress(self) -> Floats:
        """Mean stress xx, yy, xy over the microstructures (n, increments, 3) [MPa]."""
        return np.asarray(self.stress.mean(axis=1))

    @property
    def phases(self) -> dict[str, Any]:
        """Elasticity, initial yield stress and hardening law, for `bnn.paths.PhaseProperties`.

        Raises:
            ValueError: If the settings of the simulations are unknown.

        Examples:
            >>> from fe_data import load_paths
            >>> load_paths("random").phases["hardening"]
            'power'
        """
        if self.settings is None:
            raise ValueError("settings = None: must be the settings of the simulations")
        return {name: getattr(self.settings, name) for name in SETTINGS_OF_PHASES}


_SHAPES = "inputs (n, 4), strain (n, increments, 3) and stress (n, microstructures, increments, 3)"


def save_paths(paths: Paths, path: Path) -> None:
    """Write paths and their settings to a compressed file; strains and stresses to seven digits.

    Args:
        paths: Paths from `load_paths` or `collect_paths`.
        path: Path of an .npz file. An earlier file of paths is replaced.

    Raises:
        ValueError: If the file has another suffix.
        FileExistsError: If another kind of file has this path.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import load_paths, save_paths
        >>> paths = load_paths("repeated_random")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_paths(paths, Path(folder, "random.npz"))
        ...     bool((load_paths(Path(folder, "random.npz")).stress == paths.stress).all())
        True
    """
    require_kind("paths", paths, Paths)
    path = require_path("path", path, ".npz")
    arrays: dict[str, NDArray[Any]] = {
        "inputs": paths.inputs,
        "strain": paths.strain.astype(np.float32),
        "stress": paths.stress.astype(np.float32),
    }
    if paths.settings is not None:
        arrays[_SETTINGS] = np.array(json.dumps(asdict(paths.settings)))
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_atomic(path, content.getvalue(), BEGINNING)


def load_paths(source: str | Path) -> Paths:
    """Read a set of paths that is shipped with the package, or a file of `save_paths`.

    Args:
        source: Name of a shipped set, as in `path_design`, or path of a file. If a file has the
            name of a set, pass a `Path`.

    Returns:
        The paths, with strains and stresses to seven digits, and with the settings of the
        simulations, if the file has them.

    Raises:
        TableError: If there is no such file, or it is not a file of paths.

    Examples:
        >>> from fe_data import load_paths
        >>> paths = load_paths("random")
        >>> paths.mean_stress.shape  # of 500 inputs, xx, yy, xy after each of 100 increments
        (500, 100, 3)
    """
    path = require_path("source", source)
    settings = None
    if isinstance(source, str) and source in PATH_SETS:
        path = SHIPPED / f"{source}.npz"
        settings = SHIPPED_SETTINGS
    try:
        data = read_file(path, MAX_FILE)
        arrays = read_arrays(data, most_unpacked(len(data)))
        if _SETTINGS in arrays:
            settings = settings_from(json.loads(str(arrays[_SETTINGS])))
        inputs, strain, stress = (_array(arrays, name) for name in _ARRAYS)
        return Paths(inputs, strain, stress, settings)
    except FileNotFoundError:
        sets = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.npz")))
        what = f"{str(source)!r:.200} is neither a file nor a shipped set"
        raise TableError(f"{what}: {sets}") from None
    except (ValueError, RecursionError) as error:
        raise TableError(f"{path} contains no set of paths: {error}") from None


def settings_from(content: Any) -> Settings:
    """Make settings from the content of a file; a ValueError says what is wrong with them."""
    try:
        return Settings(**content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"settings: {error}") from None


def _array(arrays: dict[str, Any], name: str) -> Any:
    if name not in arrays:
        raise ValueError(f"it has no array {name}")
    return arrays[name]
