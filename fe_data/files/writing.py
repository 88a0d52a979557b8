"""Write files whole or not at all, and replace none that the project did not write.

`bnn` and `fe_data` do not import each other. Each has this module, and a test keeps both equal.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

HEAD = 4096  # bytes that are read to recognise a file
# Of a PNG, SVG and PDF by matplotlib.
PICTURE = rb"\x89PNG.{0,300}Matplotlib|<\?xml.{0,2000}Matplotlib|%PDF-1\.\d\n%\xac\xdc \xab\xba"


def write_atomic(path: Path, data: bytes, beginning: bytes | None) -> None:
    """Write a file as `replacing` does."""
    with replacing(path, beginning) as file:
        file.write(data)


def save_picture(figure: Any, path: Path, **options: Any) -> None:
    """Write a figure of matplotlib; a file in its place that matplotlib did not draw stays."""
    with replacing(path, PICTURE) as file:
        figure.savefig(file, format=path.suffix[1:] or None, **options)


@contextlib.contextmanager
def replacing(path: Path, beginning: bytes | None) -> Iterator[BinaryIO]:
    """Open a new file, which takes the place of `path` when the block ends without an error.

    At any other end, such as a full disk, a kill or a power cut, the earlier file is as it was. The
    new file has the permissions of the earlier one. A link is replaced, and the file to which it
    leads stays as it is.

    Args:
        path: Path of the file, in an existing folder.
        beginning: As in `require_own`.

    Yields:
        The open file.

    Raises:
        OSError: If the file may not be replaced, or cannot be written.
    """
    require_own(path, beginning)
    # The name is random and new: two threads, processes or machines may write the same file.
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    mode = 0o600 if path.exists() else 0o666  # nobody else may read it before it has its own
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
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
    _sync_folder(path.parent)


def require_own(path: Path, beginning: bytes | None) -> None:
    """See that a file may be written or replaced.

    Args:
        path: Path of the file.
        beginning: Regular expression, with which any file must begin that is replaced unless it is
            empty. None replaces any file: for a caller that knows what is in this place.

    Raises:
        FileExistsError: If the path holds a file that begins differently.
        IsADirectoryError: If the path is a folder.
        PermissionError: If the file is read-only.
        OSError: If the path is a pipe or a device.
    """
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return
    if kind == stat.S_IFDIR:
        what = "a folder is in the place of this file, move it away"
        raise IsADirectoryError(errno.EISDIR, what, str(path))
    if kind != stat.S_IFREG:
        what = "a pipe or a device is in the place of this file, which must be a regular one"
        raise OSError(errno.EINVAL, what, str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "this file is read-only", str(path))
    if beginning is None:
        return
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head and not re.match(beginning, head, re.DOTALL):
        what = "a file of another kind is in this place, move it away or give another name"
        raise FileExistsError(errno.EEXIST, what, str(path))


def _take_permissions(descriptor: int, path: Path) -> None:
    """Give an open file owner and permissions of another, if there is one."""
    # Only an administrator may give files away; some systems have no owners or permissions.
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(descriptor, path.stat().st_uid, path.stat().st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    """Let the new name of a file outlast a power cut."""
    with contextlib.suppress(OSError):  # some network file systems cannot; the file is there
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
