"""Read the NumPy arrays in a pickle file without running anything that the file says.

A pickle is a program, but it can call only what `find_class` gives it: here stand-ins for the few
names that NumPy's arrays are rebuilt from. NumPy makes the arrays when the file has been read.
"""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 500_000_000  # of a file
MAX_DEPTH = 6  # of nested containers
TYPES = {np.dtype(code).str[1:] for code in "bhilBHILefd"}  # integers and floats


class UnsafePickle(ValueError):
    """The file asks for something else than numeric arrays."""


def load_arrays(path: Path) -> Any:
    """Arrays of a pickle file, with the containers, numbers and texts around them."""
    if (size := path.stat().st_size) > MAX_BYTES:
        raise UnsafePickle(f"{path} has {size} bytes: at most {MAX_BYTES} are read")
    data = path.read_bytes()
    try:
        return _plain(_Reader(io.BytesIO(data)).load())
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except Exception as error:  # a damaged file may make the reader fail in any way
        reason = " ".join(str(error).split())[:100]
        raise UnsafePickle(f"{path} is not a whole pickle file: {reason}") from None


class _Type:
    """Stands for numpy.dtype while a pickle is read."""

    def __init__(self, code: Any, *_: Any):
        if not isinstance(code, str) or code not in TYPES:
            raise UnsafePickle(f"arrays of type {code!r:.40} are not admitted")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])  # of (version, byte order, ...)


class _Array:
    """Stands for numpy.ndarray, and for the three functions that make an array or a scalar."""

    def __init__(self, *arguments: Any):
        self.parts = arguments  # of a scalar: type, data; of numpy._frombuffer: as below

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.parts = (data, kind, shape, "F" if fortran else "C")

    def values(self) -> NDArray[Any]:
        data, kind, shape, order = (
            (*self.parts[::-1], (), "C") if len(self.parts) == 2 else self.parts
        )
        return np.frombuffer(data, kind.dtype).reshape(shape, order=order)


_NAMES = {
    "numpy.dtype": _Type,
    "numpy.ndarray": _Array,
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy.core.multiarray.scalar": _Array,
    "numpy.core.numeric._frombuffer": _Array,
    "_codecs.encode": bytes,  # how the oldest protocols write bytes
    "__builtin__.bytes": bytes,
}


class _Reader(pickle._Unpickler):
    """Python's reader written in Python: a damaged number cannot make it reserve all memory."""

    # Python reserves room for a bytearray of any size before it looks for the bytes.
    dispatch = pickle._Unpickler.dispatch | {
        pickle.BYTEARRAY8[0]: pickle._Unpickler.dispatch[pickle.BINBYTES8[0]]
    }

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if (known := full.replace("numpy._core.", "numpy.core.", 1)) not in _NAMES:
            raise UnsafePickle(f"{full!r:.80} is not admitted: only numeric NumPy arrays are")
        return _NAMES[known]


def _plain(value: Any, depth: int = 0) -> Any:
    """The content of a file with arrays in place of their stand-ins."""
    if depth > MAX_DEPTH:
        raise UnsafePickle("containers are nested too deeply")
    if isinstance(value, _Array):
        return value.values()
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if not isinstance(value, int | float | str | bytes | None):
        raise UnsafePickle("only arrays, numbers and texts are admitted")
    return value
