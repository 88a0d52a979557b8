"""Reading of JSON files from unknown sources, with limits on size and numbers."""

import json
import math
import os
from pathlib import Path
from typing import Any, NoReturn

from safe_files.reading import read_file

MOST_DIGITS = 18  # of an integer, so that it fits into 64 bits


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file; ValueError unless it is a string or a path without a null byte."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path = {path!r:.60}: must be a text or a Path")
    if "\0" in str(path):
        raise ValueError(f"path = {str(path)!r:.60}: must not contain a null byte")
    return Path(path)


def existing(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, see `as_path`; FileNotFoundError if there is nothing."""
    path = as_path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    return path


def read_json(path: str | os.PathLike[str], most: int) -> Any:
    """Read a JSON file.

    Args:
        path: Path of the file.
        most: Largest accepted size of the file, in bytes.

    Returns:
        The content, as `parse_json` returns it.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file is not a regular file, is larger, or `parse_json` rejects it.
    """
    return parse_json(read_text(path, most), str(path))


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Read a text file in UTF-8, with the same arguments and errors as `read_json`."""
    path = existing(path)
    try:
        return read_file(path, most).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: must be text in UTF-8 ({error})") from None


def parse_json(text: str, name: str) -> Any:
    """Return the content of a JSON text.

    Args:
        text: The JSON text.
        name: Name of its file, for error messages.

    Returns:
        Lists, dictionaries, strings, None, True, False, finite floats, and integers of at most 18
        digits.

    Raises:
        ValueError: If the text is not JSON, contains other numbers, or is nested too deeply.
    """
    try:
        return json.loads(
            text, parse_constant=_refuse, parse_float=_finite_float, parse_int=_short_integer
        )
    except RecursionError:
        raise ValueError(f"{name}: the lists in it are nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{name}: must be JSON with finite numbers ({error})") from None


def is_number(value: object, low: float = -math.inf, high: float = math.inf) -> bool:
    """Return whether a value of a JSON file is a number, not a bool, from low to high."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and low <= value <= high  # type: ignore[operator]


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def _finite_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _short_integer(text: str) -> int:
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"{text[:20]}... is an integer of more than {MOST_DIGITS} digits")
    return int(text)
