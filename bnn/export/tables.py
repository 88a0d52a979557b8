"""Templates of C code, into which tables of constants and the functions' name are inserted."""

import os
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bnn.export.names import check_name
from bnn.storage.reading import as_path
from safe_files.writing import write_atomic

Table: TypeAlias = int | float | str | NDArray[Any]


def filled(code: str, name: str, tables: Mapping[str, Table]) -> str:
    """Insert the definitions of tables into C code, and rename its functions.

    Args:
        code: C code with functions whose names begin with "surrogate", and with the line
            `/* TABLES */`.
        name: Name that replaces "surrogate".
        tables: Constants by name; the name of a macro may have a parameter, as in "VALUE(z)".

    Returns:
        The text of the file.

    Raises:
        ValueError: If the name of a function is reserved or already used in the file.
    """
    check_name(name, tables, code)
    declared = "".join(_declaration(*table) for table in tables.items())
    return re.sub(r"\bsurrogate", name, code).replace("/* TABLES */\n", declared)


def write_code(
    path: str | os.PathLike[str], text: str, beginning: bytes, max_bytes: int, smaller: str
) -> None:
    """Write C code to a file; only a file with the same beginning is replaced.

    Args:
        path: Path of the file.
        text: The code.
        beginning: Pattern of the beginning of the files that may be replaced.
        max_bytes: Largest allowed size of the file.
        smaller: What makes the file smaller, such as "fewer data".

    Raises:
        ValueError: If the file would be too large.
        FileExistsError: If there is another file.
    """
    if len(text) > max_bytes:
        size = f"the file would have {len(text)} bytes, more than max_bytes = {max_bytes}"
        raise ValueError(f"{size}: take {smaller} or a larger max_bytes")
    write_atomic(as_path(path), text.encode("ascii"), beginning)


def _declaration(name: str, values: Table) -> str:
    """Return the definition of a constant in C: an array, or a macro for other values."""
    if not isinstance(values, np.ndarray):
        return f"#define {name} {values}\n"
    kind = {"f": "double ", "i": "int ", "U": "char *const "}[values.dtype.kind]
    shape = "".join(f"[{n}]" for n in values.shape)
    return f"static const {kind}{name}{shape} = {_initialiser(values)};\n"


def _initialiser(values: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> str:
    if values.ndim > 1:
        return "{" + ",\n".join(map(_initialiser, values)) + "}"
    return "{" + ",".join(_literal(value) for value in values.tolist()) + "}"


def _literal(value: float | str) -> str:
    if isinstance(value, str):
        return f'"{value}"\n'
    return repr(value).replace("inf", "HUGE_VAL")
