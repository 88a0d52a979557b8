"""Read the NumPy arrays in a pickle file without running anything that the file says.

A pickle is a program, but it can call only what `find_class` gives it: here stand-ins for the few
names that NumPy's arrays are rebuilt from. NumPy makes the arrays when the file has been read.

A pickle may also repeat a part of itself by its number, so that a short file stands for a content
without end. While the file is read, nothing here looks into the parts of a container. Afterwards
the content is made up to `MAX_RATIO` times the size of the file.
"""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from fe_data.files.reading import UnusualFile, read_file

MAX_BYTES = 500_000_000  # of a file
# The content may have this many times the bytes of the file. Honest files have up to 8 times: more
# takes parts that are repeated.
MAX_RATIO = 10
MIN_CONTENT = 1_000_000  # bytes of content that are admitted for any file, however small
ITEM_BYTES = 8  # counted for each item of a list, a tuple or a dict
MAX_DEPTH = 6  # of nested containers
ADMITTED = "only arrays, numbers and texts are admitted"
MAX_MEMO = 2**32  # above the number of any part that is repeated
TYPES = {np.dtype(code).str[1:] for code in "bhilBHILefd"}  # integers and floats


class UnsafePickle(ValueError):
    """The file asks for something else than numeric arrays."""


def load_arrays(path: Path) -> Any:
    """Arrays of a pickle file, with the containers, numbers and texts around them."""
    try:
        data = read_file(path, MAX_BYTES)
    except UnusualFile as error:
        raise UnsafePickle(str(error)) from None
    try:
        return _Content(len(data)).plain(_Reader(io.BytesIO(data)).load())
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except Exception as error:  # a damaged file may make the reader fail in any way
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise UnsafePickle(f"{path} is not a whole pickle file: {reason}") from None


class _Type:
    """Stands for numpy.dtype while a pickle is read."""

    def __init__(self, code: Any, *_: Any):
        if type(code) is not str:
            raise UnsafePickle(f"arrays of a type that is a {type(code).__name__} are not admitted")
        if code not in TYPES:
            raise UnsafePickle(f"arrays of type {code[:40]!r} are not admitted")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        order: Any = state[1]  # of (version, byte order, ...)
        if not isinstance(order, str) or order not in {"<", ">", "=", "|"}:
            raise UnsafePickle("the byte order of an array is unknown")
        self.dtype = np.dtype(order + self.dtype.str[1:])


class _Bytes:
    """Stands for bytes, which the oldest protocols write as a text to be encoded."""

    def __init__(self, text: Any = "", encoding: Any = "latin1"):
        if type(text) is not str or type(encoding) is not str or encoding != "latin1":
            raise UnsafePickle("bytes are made of a text in latin1 only")
        self.text = text

    def __setstate__(self, state: Any) -> NoReturn:
        raise UnsafePickle("bytes have no state")

    def values(self) -> bytes:
        """Return the bytes."""
        return self.text.encode("latin1")


class _Array:
    """Stands for numpy.ndarray, and for the three functions that make an array or a scalar."""

    def __init__(self, *arguments: Any):
        self.parts = arguments  # of a scalar: type, data; of numpy._frombuffer: as below

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.parts = (data, kind, shape, "F" if fortran else "C")

    def values(self) -> NDArray[Any]:
        """Return the array; UnsafePickle if its shape is not a tuple of integers from 0."""
        if len(self.parts) == 2:  # a scalar
            kind, data = self.parts
            shape: Any = ()
            order: Any = "C"
        else:
            data, kind, shape, order = self.parts
        if isinstance(data, _Bytes):
            data = data.values()
        if type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape):
            raise UnsafePickle("the shape of an array is not a tuple of integers from 0")
        return np.frombuffer(data, kind.dtype).reshape(shape, order=order)


_NAMES = {
    "numpy.dtype": _Type,
    "numpy.ndarray": _Array,
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy.core.multiarray.scalar": _Array,
    "numpy.core.numeric._frombuffer": _Array,
    "_codecs.encode": _Bytes,
    "__builtin__.bytes": _Bytes,
}


class _Dict(dict[str, Any]):
    """Stands for a dict. Only texts are keys: hashing a tuple with many parts takes long."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is not str:
            raise UnsafePickle(f"a key is a {type(key).__name__}: only texts are admitted")
        super().__setitem__(key, value)


class _Reader(pickle._Unpickler):
    """Python's reader written in Python: a damaged number cannot make it reserve all memory."""

    stack: list[Any]
    memo: dict[int, Any]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]
    readline: Callable[[], bytes]

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name of NumPy; every other name is refused."""
        full = f"{module}.{name}"
        if (known := full.replace("numpy._core.", "numpy.core.", 1)) not in _NAMES:
            raise UnsafePickle(f"{full[:80]!r} is not admitted: only numeric NumPy arrays are")
        return _NAMES[known]

    def load_empty_dictionary(self) -> None:
        """Push a dict whose keys are texts."""
        self.append(_Dict())

    def load_dict(self) -> None:
        """Push such a dict with the items since the last mark."""
        items = self.pop_mark()
        self.load_empty_dictionary()
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][key] = value

    def load_put(self) -> None:
        """Note the last part under a number, which must not be too large."""
        number = int(self.readline()[:-1])
        if not 0 <= number < MAX_MEMO:  # larger ones may be chosen so that all have one hash
            raise UnsafePickle("a part has a number out of range")
        self.memo[number] = self.stack[-1]

    def refuse_set(self) -> NoReturn:
        """Refuse the file."""
        raise UnsafePickle(f"there is a set: {ADMITTED}")

    dispatch: ClassVar[dict[int, Any]] = pickle._Unpickler.dispatch | {
        pickle.EMPTY_DICT[0]: load_empty_dictionary,
        pickle.DICT[0]: load_dict,
        pickle.PUT[0]: load_put,
        pickle.EMPTY_SET[0]: refuse_set,
        pickle.FROZENSET[0]: refuse_set,
        # Python reserves room for a bytearray of any size before it looks for the bytes.
        pickle.BYTEARRAY8[0]: pickle._Unpickler.dispatch[pickle.BINBYTES8[0]],
    }


class _Content:
    """The content of a file with arrays in place of their stand-ins."""

    def __init__(self, size: int):
        self.most = max(MIN_CONTENT, MAX_RATIO * size)
        self.taken = 0

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return a part with all parts in it; UnsafePickle if they are too many or too deep."""
        if depth > MAX_DEPTH:
            raise UnsafePickle("containers are nested too deeply")
        if isinstance(value, _Array | _Bytes):
            made = value.values()
            self._take(made.nbytes if isinstance(made, np.ndarray) else len(made))
            return made
        if isinstance(value, list | tuple):
            self._take(ITEM_BYTES * len(value))
            return type(value)(self.plain(item, depth + 1) for item in value)
        if isinstance(value, dict):
            self._take(ITEM_BYTES * len(value))
            return {key: self.plain(item, depth + 1) for key, item in value.items()}
        if not isinstance(value, int | float | str | bytes | None):
            raise UnsafePickle(ADMITTED)
        return value

    def _take(self, size: int) -> None:
        self.taken += size
        if self.taken > self.most:
            what = f"parts are named again and again: the content has more than {self.most} bytes"
            raise UnsafePickle(what)
