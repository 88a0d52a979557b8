"""Unpack compressed content of unknown origin, up to a limited size."""

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_files.reading import UnusualFile


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
