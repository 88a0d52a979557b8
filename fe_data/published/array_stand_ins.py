"""What a pickle may call to rebuild a NumPy array, replaced by functions that trust nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_DIMENSIONS = 8
MAX_BYTES = 500_000_000
_NUMERIC = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"f2", "f4", "f8"}
_ORDERS = {"<": "<", ">": ">", "|": "=", "=": "="}


class UnsafePickle(ValueError):
    """The file asks for something else than numeric arrays."""


@dataclass(frozen=True)
class Global:
    """A name that the file refers to."""

    name: str


class DType:
    """Stands for numpy.dtype while it is rebuilt."""

    def __init__(self, code: str):
        self.code, self.order = code, "="

    def build(self, state: Any) -> None:
        """Take the state that a file gives to numpy.dtype."""
        # (version, byte order, subarray, names, fields, size, alignment, flags[, metadata])
        if not isinstance(state, tuple) or len(state) < 5 or state[2:5] != (None, None, None):
            raise UnsafePickle("structured arrays are not admitted")
        self.order = state[1]

    def dtype(self) -> np.dtype:
        """The type that was rebuilt, if it is numeric."""
        # Only texts are hashed or printed: nested tuples that share their parts take for ever.
        if not isinstance(self.code, str) or not isinstance(self.order, str):
            raise UnsafePickle("not a type of a NumPy array")
        if self.code not in _NUMERIC or self.order not in _ORDERS:
            raise UnsafePickle(f"arrays of type {self.code!r:.40} are not admitted")
        return np.dtype(_ORDERS[self.order] + self.code)


class Array:
    """Stands for numpy.ndarray while it is rebuilt."""

    def __init__(self):
        self.values: np.ndarray | None = None

    def build(self, state: Any) -> None:
        """Take the state that a file gives to numpy.ndarray."""
        # (version, shape, dtype, whether in Fortran order, data)
        if not isinstance(state, tuple) or len(state) != 5:
            raise UnsafePickle("not a state of a NumPy array")
        _, shape, dtype, fortran, data = state
        self.values = _array(data, dtype, shape, "F" if fortran else "C")


def _reconstruct(kind: Any, *_: Any) -> Array:
    if kind != Global("numpy.ndarray"):
        raise UnsafePickle("subclasses of NumPy's array are not admitted")
    return Array()


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any = "C") -> Array:
    array = Array()
    array.values = _array(data, dtype, shape, order)
    return array


def _scalar(dtype: Any, data: Any) -> float | int:
    return _array(data, dtype, (), "C").item()


def _array(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray:
    if not isinstance(dtype, DType):
        raise UnsafePickle("an array without a type")
    if not isinstance(shape, tuple) or len(shape) > MAX_DIMENSIONS:
        raise UnsafePickle("an array without a shape")
    if not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape):
        raise UnsafePickle("an array without a shape")
    if isinstance(data, str):  # Python 2
        data = data.encode("latin-1")
    kind = dtype.dtype()
    if not isinstance(data, bytes | bytearray) or len(data) != math.prod(shape) * kind.itemsize:
        raise UnsafePickle("an array whose data do not fill its shape")
    return np.frombuffer(bytes(data), kind).reshape(shape, order="F" if order == "F" else "C")


def _encode(text: Any, encoding: Any = "") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise UnsafePickle("a text in an unknown encoding")
    return text.encode("latin-1")


CALLS: dict[str, Callable[..., Any]] = {
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.numeric._frombuffer": _frombuffer,
    "numpy.dtype": lambda code, *_: DType(code),
    # Bytes in the oldest protocols; their only argument is none, for no bytes.
    "_codecs.encode": _encode,
    "__builtin__.bytes": lambda: b"",
}
