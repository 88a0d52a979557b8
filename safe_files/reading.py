"""Read files of unknown origin safely: no devices, and a limited number of bytes."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

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


def require_regular(path: Path, *others: str) -> os.stat_result:
    """Return the status of a file; UnusualFile if it is neither regular nor one of `others`."""
    # Before opening: opening a pipe waits for its writer, and a device may have no end.
    status = path.stat()
    kind = OTHER_KINDS.get(stat.S_IFMT(status.st_mode))
    if kind not in {None, *others}:
        raise UnusualFile(f"{path} is {kind}: a regular file is needed")
    return status


def read_file(path: Path, most: int) -> bytes:
    """Read a regular file; UnusualFile if it is another kind, or has more than `most` bytes."""
    status = require_regular(path)
    if status.st_size > most:
        raise UnusualFile(f"{path} has {status.st_size} bytes: at most {most} are read")
    with naming(path):
        return path.read_bytes()


def open_stream(path: Path) -> BinaryIO:
    """Open a regular file or a pipe, such as <(command); a pipe without a writer is empty."""
    require_regular(path, "a pipe")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for a writer
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")
