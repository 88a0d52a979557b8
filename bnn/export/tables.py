"""Code in C of which tables of numbers and the name of its functions are filled in."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bnn.export.names import check_name

Table: TypeAlias = int | float | str | NDArray[Any]


def filled(code: str, name: str, tables: Mapping[str, Table]) -> str:
    """Return code with the definitions of tables, and functions that begin with a name.

    Args:
        code: Code in C with functions that begin with "surrogate", and a line for the tables.
        name: Name in place of "surrogate".
        tables: Constants by name; that of a macro may have a parameter.

    Returns:
        The text of the file.

    Raises:
        ValueError: If a function would have a name that is taken.
    """
    check_name(name, tables, code)
    declared = "".join(_declaration(*table) for table in tables.items())
    return re.sub(r"\bsurrogate", name, code).replace("/* TABLES */\n", declared)


def _declaration(name: str, values: Table) -> str:
    """Return the definition of a constant in C: of an array, or of a macro for other values."""
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
