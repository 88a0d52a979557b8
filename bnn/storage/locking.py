"""Let one process at a time change a file."""

import contextlib
import errno
import importlib
import os
from collections.abc import Iterator
from pathlib import Path

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # of file systems without locks


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a file, and hold it until the block ends.

    The lock belongs to the open file `.NAME.lock` next to `path`, so that the lock ends with its
    process in any case. The lock file stays. Windows has no such lock.

    Raises:
        OSError: If the lock file cannot be opened.
    """
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    # Opened to read and write, a pipe in this place does not wait for its other end.
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
