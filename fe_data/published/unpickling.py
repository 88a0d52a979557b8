"""Read a pickle of NumPy arrays from the standard input and write its content as JSON.

A pickle is a program, but it can call only functions that `find_class` returns. Here these are
stand-ins for the few functions from which NumPy arrays are rebuilt. A short pickle can also expand
without end, so this file runs as a process with limited memory and processor time.
"""

import argparse
import contextlib
import json
import pickle
import resource
import sys
from typing import Any

import numpy as np

MAX_MEMORY = 10**9  # bytes
MAX_TEXT = 50_000_000  # characters of the JSON
TYPES = {np.dtype(code).str[1:] for code in "bhilBHILefd"}  # integers and floats


class Type:
    """Stand-in for numpy.dtype, which keeps only the type code and the byte order."""

    def __init__(self, code: Any, *_: Any):
        if code not in TYPES:
            raise pickle.UnpicklingError(f"arrays of type {code!r:.40} are not allowed")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])  # state is (version, byte order, ...)


class Array:
    """Stand-in for numpy.ndarray, whose state is (version, shape, type, Fortran order, data)."""

    def __init__(self, *_: Any):
        self.values: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.values = from_buffer(data, kind, shape, "F" if fortran else "C")


def from_buffer(data: Any, kind: Any, shape: Any, order: Any) -> Any:
    """Return the values of an array as nested lists."""
    return np.frombuffer(data, kind.dtype).reshape(shape, order=order).tolist()


ADMITTED = {
    "numpy.dtype": Type,
    "numpy.ndarray": Array,
    "numpy.core.multiarray._reconstruct": Array,
    "numpy.core.multiarray.scalar": lambda kind, data: from_buffer(data, kind, (), "C"),
    "numpy.core.numeric._frombuffer": from_buffer,
    "_codecs.encode": lambda text, _: str.encode(text, "latin1"),  # bytes in the oldest protocols
    "__builtin__.bytes": lambda: b"",
}


class Reader(pickle.Unpickler):  # noqa: S301
    """Unpickler that knows only the admitted names."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name of NumPy; other names raise an UnpicklingError."""
        full = f"{module}.{name}"
        if (public := full.replace("numpy._core.", "numpy.core.", 1)) not in ADMITTED:
            raise pickle.UnpicklingError(f"{full:.80} is not allowed: only numeric arrays are")
        return ADMITTED[public]


def plain(value: Any) -> Any:
    """Return the values of an array for JSON; a TypeError for other objects."""
    if not isinstance(value, Array):
        raise TypeError(f"a {type(value).__name__} is not allowed")
    return value.values


def main(seconds: int) -> None:
    """Write the content to stdout, or exit with an error message."""
    limits = {"RLIMIT_AS": MAX_MEMORY, "RLIMIT_CPU": seconds, "RLIMIT_FSIZE": 0}
    for name, most in limits.items():
        with contextlib.suppress(ValueError):  # a lower limit exists, or macOS supports none
            resource.setrlimit(getattr(resource, name), (most, most))
    try:
        text = json.dumps(Reader(sys.stdin.buffer).load(), default=plain)
    except MemoryError:
        sys.exit(f"its content takes more than {MAX_MEMORY} bytes")
    except Exception as error:  # a damaged file may make the reader fail in any way
        sys.exit(" ".join(str(error).split())[:200] or type(error).__name__)
    if len(text) > MAX_TEXT:
        sys.exit(f"its content takes more than {MAX_TEXT} characters")
    sys.stdout.write(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m fe_data.published.unpickling")
    parser.add_argument("seconds", type=int, help="of processor time")
    main(parser.parse_args().seconds)
