"""Locks, so that only one process at a time changes a file."""

import contextlib
import errno
import importlib
import os
from collections.abc import Iterator
from pathlib import Path

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # errors of file systems without locks


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of a file, and hold the lock until the block ends.

    The lock is on the open file `.NAME.lock` next to `path`, so it always ends with its process.
    The lock file is not deleted. On Windows and on file systems without locks there is no lock.

    Raises:
        OSError: If the lock file cannot be opened or locked.
    """
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    # Open for reading and writing: then a pipe in this place does not wait for its other end.
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)
