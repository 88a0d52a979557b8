"""Read files of unknown origin safely: no devices, and a limited number of bytes."""

import contextlib
import io
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fe_data.settings import require_path

OTHER_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class UnusualFile(ValueError):
    """A file is not read, because it is not a regular file, has another format, or is too large."""


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError in the block, because errors of open files do not have it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def read_file(path: Path, most: int) -> bytes:
    """Read a regular file; UnusualFile if it is another kind, or has more than `most` bytes."""
    path = require_path("path", path)
    # Check the kind first: opening a pipe waits for its writer, and a device may have no end.
    status = path.stat()
    kind = OTHER_KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        raise UnusualFile(f"{path} is {kind}: a regular file is needed")
    if status.st_size > most:
        raise UnusualFile(f"{path} has {status.st_size} bytes: at most {most} are read")
    with naming(path):
        return path.read_bytes()


def open_stream(path: Path) -> BinaryIO:
    """Open a regular file or a pipe, such as <(command); a pipe without a writer is empty."""
    path = require_path("path", path)
    kind = OTHER_KINDS.get(stat.S_IFMT(path.stat().st_mode))
    if kind not in {None, "a pipe"}:
        raise UnusualFile(f"{path} is {kind}: a regular file is needed")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for a writer
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


def most_unpacked(packed: int) -> int:
    """Return the largest allowed size of the content of a compressed file with `packed` bytes."""
    # Tables of repeated inputs expand up to 150 times, a malicious file of zeros a thousand times.
    return max(1_000_000, 200 * packed)


def read_arrays(data: bytes, most: int, *names: str) -> dict[str, NDArray[Any]]:
    """Read arrays from the content of an .npz file.

    Args:
        data: The content.
        most: Largest number of bytes of all arrays together.
        names: Names of the arrays to read; without names all are read.

    Returns:
        The arrays by name.

    Raises:
        UnusualFile: If the arrays are larger, one is missing, or the content is not an .npz file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > most:  # parts are never read beyond their stated sizes
            raise UnusualFile(f"the arrays have {size} bytes: at most {most} are read")
        if not data.startswith(b"PK"):
            raise UnusualFile("the content is not that of an .npz file")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names or arrays.files}
    except UnusualFile:
        raise
    except Exception as error:  # errors of zipfile, zlib and NumPy have no other common base
        raise UnusualFile(" ".join(str(error).split())[:200]) from None
