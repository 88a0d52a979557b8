"""Read the NumPy arrays in a pickle file without running anything that the file says.

A pickle is a program. Python's own reader (the one written in Python) obeys here only the opcodes
that build numbers, texts, bytes, lists, tuples and dictionaries, and `find_class` gives it
stand-ins for the few names that NumPy's arrays are rebuilt from. NumPy makes the arrays at the end,
when their type, shape and size have been checked.
"""

import io
import math
import pickle
import pickletools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 500_000_000  # of a file
MAX_DEPTH = 6  # of nested containers
MAX_ITEMS = 1_000_000  # in all containers
MAX_NUMBERS = 50_000_000  # in all arrays, shared ones counted each time
MAX_DIMENSIONS = 8
_TYPES = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"f2", "f4", "f8"}
_ORDERS = {"<": "<", ">": ">", "|": "=", "=": "="}
_OPCODES = {opcode.name: ord(opcode.code) for opcode in pickletools.opcodes}
_PLAIN_DATA = """
    PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT
    BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    BINBYTES SHORT_BINBYTES BINBYTES8 EMPTY_LIST EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE LIST APPEND
    APPENDS SETITEM SETITEMS PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET GLOBAL
    STACK_GLOBAL"""


class UnsafePickle(ValueError):
    """The file asks for something else than numeric arrays."""


def load_arrays(path: Path) -> Any:
    """Read the arrays of a pickle file, with the containers, numbers and texts around them.

    Args:
        path: The file.

    Returns:
        What the file holds.

    Raises:
        UnsafePickle: The file holds anything else; nothing of it has been run.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise UnsafePickle(f"{path} has {size} bytes: at most {MAX_BYTES} are read")
    try:
        content = _Reader(io.BytesIO(path.read_bytes()), encoding="latin-1").load()
        return _plain(content, {"items": MAX_ITEMS, "numbers": MAX_NUMBERS})
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except (pickle.UnpicklingError, EOFError, ArithmeticError, AssertionError, AttributeError,
            LookupError, TypeError, ValueError, struct.error) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:100]
        raise UnsafePickle(f"{path} is not a whole pickle file: {reason}") from None


class _Type:
    """Stands for numpy.dtype while it is rebuilt."""

    def __init__(self, code: Any, *_: Any):
        self.code, self.order = code, "="

    def __setstate__(self, state: Any) -> None:
        # (version, byte order, subarray, names, fields, size, alignment, flags[, metadata])
        if not isinstance(state, tuple) or len(state) < 5 or state[2:5] != (None, None, None):
            raise UnsafePickle("structured arrays are not admitted")
        self.order = state[1]

    def dtype(self) -> np.dtype[Any]:
        # Only texts are hashed or printed: nested tuples that share their parts take for ever.
        if not isinstance(self.code, str) or not isinstance(self.order, str):
            raise UnsafePickle("not a type of a NumPy array")
        if self.code not in _TYPES or self.order not in _ORDERS:
            raise UnsafePickle(f"arrays of type {self.code!r:.40} are not admitted")
        return np.dtype(_ORDERS[self.order] + self.code)


class _Array:
    """Stands for numpy.ndarray, and for the three functions that make one."""

    def __init__(self, *arguments: Any):
        self.parts = arguments if len(arguments) == 4 else None  # data, type, shape, order

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.parts = (data, kind, shape, "F" if fortran else "C")

    def values(self) -> NDArray[Any]:
        if self.parts is None:
            raise UnsafePickle("an array without data")
        data, kind, shape, order = self.parts
        if not isinstance(kind, _Type):
            raise UnsafePickle("an array without a type")
        few = isinstance(shape, tuple) and len(shape) <= MAX_DIMENSIONS
        if not few or not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape):
            raise UnsafePickle("an array without a shape")
        if isinstance(data, str):  # Python 2
            data = data.encode("latin-1")
        dtype = kind.dtype()
        if not isinstance(data, bytes) or len(data) != math.prod(shape) * dtype.itemsize:
            raise UnsafePickle("an array whose data do not fill its shape")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if order == "F" else "C")


def _reconstruct(kind: Any, *_: Any) -> _Array:
    if kind is not _Array:
        raise UnsafePickle("subclasses of NumPy's array are not admitted")
    return _Array()


def _scalar(kind: Any, data: Any) -> Any:
    return _Array(data, kind, (), "C").values().item()


def _encode(text: Any = "", encoding: Any = "latin1") -> bytes:
    """Bytes as the oldest protocols write them."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise UnsafePickle("a text in an unknown encoding")
    return text.encode("latin-1")


_NAMES = {
    "numpy.ndarray": _Array,
    "numpy.dtype": _Type,
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.numeric._frombuffer": _Array,
    "_codecs.encode": _encode,
    "__builtin__.bytes": _encode,
}


class _Dictionary(dict[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, str | int):  # hashing nested tuples may take for ever
            raise UnsafePickle("keys of a dictionary must be texts or integers")
        super().__setitem__(key, value)


class _Admitted(dict[int, Callable[[Any], None]]):
    def __missing__(self, code: int) -> None:
        name = {number: name for name, number in _OPCODES.items()}[code]
        raise UnsafePickle(f"opcode {name} is not admitted: only numeric NumPy arrays are")


class _Reader(pickle._Unpickler):
    """Python's reader of pickles, with its table of opcodes cut down to those of plain data."""

    stack: list[Any]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        known = full.replace("numpy._core.", "numpy.core.", 1)
        if known not in _NAMES:
            raise UnsafePickle(f"{full!r:.80} is not admitted: only numeric NumPy arrays are")
        return _NAMES[known]

    def load_reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not any(function is known for known in _NAMES.values()):
            raise UnsafePickle("a call of something else than NumPy's array functions")
        self.append(function(*arguments))

    def load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, _Type | _Array):
            raise UnsafePickle("a state for something else than a NumPy array")
        target.__setstate__(state)

    def load_dict(self) -> None:
        items = self.pop_mark()
        self.append(_Dictionary())
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][key] = value

    dispatch = _Admitted(
        {_OPCODES[name]: pickle._Unpickler.dispatch[_OPCODES[name]] for name in _PLAIN_DATA.split()}
        | {
            # Python reserves room for a bytearray of any size before it looks for the bytes.
            _OPCODES["BYTEARRAY8"]: pickle._Unpickler.dispatch[_OPCODES["BINBYTES8"]],
            _OPCODES["REDUCE"]: load_reduce,
            _OPCODES["BUILD"]: load_build,
            _OPCODES["DICT"]: load_dict,
            _OPCODES["EMPTY_DICT"]: lambda reader: reader.append(_Dictionary()),
        }
    )


def _plain(value: Any, budget: dict[str, int], depth: int = 0) -> Any:
    """Arrays in place of their stand-ins; bounds what shared and nested containers unfold to."""
    budget["items"] -= 1
    if depth > MAX_DEPTH or budget["items"] < 0:
        raise UnsafePickle("containers are nested too deeply or hold too much")
    if isinstance(value, _Array):
        array = value.values()
        budget["numbers"] -= array.size
        if budget["numbers"] < 0:
            raise UnsafePickle(f"arrays of more than {MAX_NUMBERS} numbers in all")
        return array
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, budget, depth + 1) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, budget, depth + 1) for key, item in value.items()}
    if not isinstance(value, int | float | str | bytes | None):
        raise UnsafePickle("a bare type in place of an array")
    return value
