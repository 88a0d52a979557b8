"""Write files completely or not at all, and never replace files of other programs."""

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from safe_files.locking import lock

HEAD = 4096  # bytes that are read to recognise a file
# Beginnings of PNG, SVG and PDF files by matplotlib.
PICTURE = rb"\x89PNG.{0,300}Matplotlib|<\?xml.{0,2000}Matplotlib|%PDF-1\.\d\n%\xac\xdc \xab\xba"


def write_atomic(path: Path, data: bytes, beginning: bytes | None) -> None:
    """Write a file like `replacing`."""
    with replacing(path, beginning) as file:
        file.write(data)


def save_picture(figure: Any, path: Path, **options: Any) -> None:
    """Write a matplotlib figure; a FileExistsError if it would replace a file of another kind."""
    with replacing(path, PICTURE) as file:
        figure.savefig(file, format=path.suffix[1:] or None, **options)


@contextlib.contextmanager
def replacing(path: Path, beginning: bytes | None) -> Iterator[BinaryIO]:
    """Open a new file, which replaces `path` if the block ends without an error.

    After an error such as a full disk, a kill or a power cut, the earlier file is unchanged. The
    new file has the permissions of the earlier file. If `path` is a link, the link is replaced, not
    the file to which it leads. Temporary files that killed processes left of the file are deleted.

    Args:
        path: Path of the file, in an existing folder.
        beginning: See `require_own`.

    Yields:
        The open file.

    Raises:
        OSError: If the file may not be replaced, or cannot be written.
    """
    require_own(path, beginning)
    # A random name, because several threads, processes or machines may write the same file.
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    mode = 0o600 if path.exists() else 0o666  # private until the permissions are copied
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            _lock(file.fileno())
            _take_permissions(file.fileno(), path)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        named = getattr(error, "filename", None)
        if isinstance(error, OSError) and error.errno and named in {None, str(temporary)}:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    _remove_leftovers(path)
    _sync_folder(path.parent)


def require_own(path: Path, beginning: bytes | None) -> None:
    """Check that a file may be written or replaced.

    Args:
        path: Path of the file.
        beginning: Regular expression that must match the beginning of an existing file, unless the
            file is empty. None allows any file, for callers that have checked the file.

    Raises:
        FileExistsError: If an existing file begins differently.
        IsADirectoryError: If the path is a folder.
        PermissionError: If the file is read-only.
        OSError: If the path is a pipe or a device.
        ValueError: If the path has a null byte.
    """
    if "\0" in str(path):
        raise ValueError(f"path = {str(path)!r:.60}: must not contain a null byte")
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return
    if kind == stat.S_IFDIR:
        what = "a folder has this name, move it away"
        raise IsADirectoryError(errno.EISDIR, what, str(path))
    if kind != stat.S_IFREG:
        what = "a pipe or a device has this name, a regular file is needed"
        raise OSError(errno.EINVAL, what, str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "this file is read-only", str(path))
    if beginning is None:
        return
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head and not re.match(beginning, head, re.DOTALL):
        what = "this file has another format: move it, or use another name"
        raise FileExistsError(errno.EEXIST, what, str(path))


def _lock(descriptor: int) -> bool:
    """Return whether this process has locked an open file."""
    try:
        return lock(descriptor, wait=False)
    except OSError:  # another process writes it
        return False


def _remove_leftovers(path: Path) -> None:
    """Delete temporary files of `path` that no process writes any more."""
    leftover_name = re.compile(rf"\.{re.escape(path.name[:50])}\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError):
        siblings = list(path.parent.iterdir())
        for leftover in (file for file in siblings if leftover_name.fullmatch(file.name)):
            # A file of this second may be so new that its process has not locked it yet.
            if leftover.is_symlink() or time.time() - leftover.stat().st_mtime < 1.0:
                continue
            with leftover.open("rb") as file:
                if _lock(file.fileno()):
                    leftover.unlink()


def _take_permissions(descriptor: int, path: Path) -> None:
    """Give an open file the owner and permissions of the file at `path`, if it exists."""
    # Only an administrator can change owners, and some systems have no owners or permissions.
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(descriptor, path.stat().st_uid, path.stat().st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    """Write a folder to disk, so that the new name of a file survives a power cut."""
    with contextlib.suppress(OSError):  # some network file systems do not support this
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
