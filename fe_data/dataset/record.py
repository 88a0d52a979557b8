"""The record of one simulated sample: an .npz file with averaged curves and a SHA-256 checksum.

`np.load(path, allow_pickle=False)` reads a record: arrays by name, and `record`, a JSON text with
all scalars and the provenance. The last 64 bytes of the file (the comment of the zip archive) are
the checksum of all bytes before them. So truncated or changed files are detected.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import io
import json
import math
import platform
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.files.reading import read_arrays
from fe_data.settings import require_kind
from safe_files import writing
from safe_files.reading import UnusualFile

FORMAT = 1
HEADER = "record"
PACKAGES = ("numpy", "scipy", "joblib", "gmsh", "fenics-dolfinx", "petsc4py")
ARCHIVED = "$Format:%H$"  # git writes the commit here when it packs an archive
MAX_BYTES = 200_000_000  # of a record, about two million increments
# Committed results of full runs, which a run may replace while another one is still at work.
RESULTS = (
    "figures/full*",
    "figures/six-rebuilt*",
    "studies/*/results/full*",
    "studies/*/results/six-rebuilt*",
)
_CHECKSUM_BYTES = 64


class CorruptRecordError(ValueError):
    """A file is not a complete record; the message says what is wrong.

    Examples:
        >>> from fe_data import decode_arrays
        >>> decode_arrays(b"a text")
        Traceback (most recent call last):
        ...
        fe_data.dataset.record.CorruptRecordError: not a record
    """


def encode(header: dict[str, Any], arrays: Mapping[str, Floats]) -> bytes:
    """Encode a record; scalars in the header that are not finite become None."""
    buffer = io.BytesIO()
    text = json.dumps(plain({"format": FORMAT, **header}), allow_nan=False).encode()
    floats = {name: np.asarray(values, dtype=np.float64) for name, values in arrays.items()}
    np.savez(buffer, **{HEADER: np.array(text)}, **floats)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * _CHECKSUM_BYTES
    content = buffer.getvalue()[:-_CHECKSUM_BYTES]
    return content + hashlib.sha256(content).hexdigest().encode()


def decode_header(data: bytes) -> dict[str, Any]:
    """Check the checksum of a record and read its scalars and texts, but not its arrays."""
    content = data[:-_CHECKSUM_BYTES]
    checksum = data[-_CHECKSUM_BYTES:]
    if not data.startswith(b"PK\x03\x04"):
        raise CorruptRecordError("not a record")
    if hashlib.sha256(content).hexdigest().encode() != checksum:
        raise CorruptRecordError("checksum does not match the content")
    try:
        # Records are not compressed, so the content is no larger than the file.
        header = json.loads(read_arrays(data, len(data), HEADER)[HEADER].item())
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptRecordError(f"no readable header: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CorruptRecordError(f"not a record of format {FORMAT}")
    return header


def decode_arrays(data: bytes) -> dict[str, Floats]:
    """Read the averaged curves of a record.

    Args:
        data: Content of a file in `records/` of a dataset folder.

    Returns:
        Arrays by name: `strain`, `stress` [MPa] and `plastic_strain` (increments + 1, 4) with the
        components xx, yy, zz and xy, or (increments + 1, 6) with xz and yz under a general loading;
        `yielded_fraction` (increments + 1,); `fibre_centres` (n_fibres, 2) and, if fibres have
        different radii, `fibre_radii` (n_fibres,).

    Raises:
        CorruptRecordError: If the content is not a complete record.
        TypeError: If `data` is not bytes.

    Examples:
        >>> import numpy as np
        >>> from fe_data import decode_arrays
        >>> from fe_data.dataset.record import encode
        >>> decode_arrays(encode({"index": 0}, {"strain": np.zeros((51, 4))}))["strain"].shape
        (51, 4)
    """
    require_kind("data", data, bytes)
    decode_header(data)
    try:
        arrays = read_arrays(data, len(data))
    except UnusualFile as error:
        raise CorruptRecordError(f"no readable arrays: {error}") from None
    return {name: values for name, values in arrays.items() if name != HEADER}


def make_place(path: Path) -> None:
    """Create the folder of a file of a dataset, and clear the path of the file.

    An empty folder, a pipe, or a link that does not lead to a regular file is removed. Anything
    else that cannot be replaced by a file raises an OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_fifo() or (path.is_symlink() and not path.is_file()):
        path.unlink()
    elif path.is_dir():
        with contextlib.suppress(OSError):  # the folder is not empty
            path.rmdir()
    writing.require_own(path, None)


def write_atomic(path: Path, data: bytes) -> None:
    """Write or replace a file of a dataset folder, completely or not at all."""
    make_place(path)
    writing.write_atomic(path, data, None)


def plain(value: object) -> object:
    """Convert a value for JSON: NumPy scalars to Python scalars, NaN and infinities to None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@functools.cache
def provenance() -> dict[str, str]:
    """Commit of this code, versions of its libraries ("unknown" if missing), and machine type."""
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    """Commit of the code, with -dirty if tracked files differ (except results of full runs)."""

    def git(*arguments: str) -> str:
        # No optional locks: a killed git would leave them behind and block the user's git.
        place = ["--no-optional-locks", "-C", str(Path(__file__).parent)]
        command = ["git", *place, *arguments]
        output = subprocess.check_output(
            command, stderr=subprocess.DEVNULL, encoding="utf-8", timeout=10
        )
        return output.strip()

    try:
        git(
            "ls-files", "--error-unmatch", Path(__file__).name
        )  # fails if the folder lies in another repository
        commit = git("describe", "--always", "--abbrev=12", "--exclude=*")
        tracked = ":/", *(f":!/{place}" for place in RESULTS)
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *tracked)
    except (OSError, subprocess.SubprocessError):
        return "unknown" if "$" in ARCHIVED else f"{ARCHIVED[:12]}-archive"
    return f"{commit}-dirty" if changed else commit
