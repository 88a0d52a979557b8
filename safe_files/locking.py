"""Locks on open files. A lock ends with its process, also if the process is killed."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]

# Errors of file systems without locks. Nothing is locked there.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file or folder until it is closed.

    Args:
        descriptor: Its file descriptor.
        shared: Whether other processes may also hold a shared lock.
        wait: Whether to wait until other processes have released their locks.

    Returns:
        Whether the file is locked; False on a system or a file system without locks.

    Raises:
        BlockingIOError: If `wait` is false and another process holds the lock.
        OSError: If the file cannot be locked for another reason.
    """
    if fcntl is None:
        return False
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return False
    return True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of a file, and hold the lock until the block ends.

    The lock is on the open file `.NAME.lock` next to `path`. The lock file is not deleted.

    Raises:
        OSError: If the lock file cannot be opened or locked.
    """
    if fcntl is None:
        yield
        return
    # Open for reading and writing: then a pipe in this place does not wait for its other end.
    name = path.with_name(f".{path.name}.lock")
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)
