"""Files of results: one line of JSON per case of a study, written as soon as the case is done.

An interrupted run continues with the cases that are not in the file. If two lines have the same
key, the later line counts.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bnn.storage.reading import is_number, parse_json, read_text
from safe_files.locking import lock
from safe_files.writing import write_atomic

BEGINNING = '{"problem": "'  # of each line
MOST_BYTES = 10**8  # of a file
MOST_LETTERS = 1000  # of a text in a line
MOST_NUMBERS = 1000  # of a list in a line

Result = dict[str, Any]
Check = Callable[[object], bool]


def is_text(value: object) -> bool:
    """Return whether a value is a text of at most MOST_LETTERS characters."""
    return isinstance(value, str) and len(value) <= MOST_LETTERS


def is_count(value: object) -> bool:
    """Return whether a value is an integer >= 0."""
    return isinstance(value, int) and is_number(value, 0)


def is_numbers(value: object) -> bool:
    """Return whether a value is a list of at most MOST_NUMBERS finite numbers."""
    return isinstance(value, list) and len(value) <= MOST_NUMBERS and all(map(is_number, value))


@dataclass(frozen=True)
class Format:
    """Format of a line: names and checks of its values.

    A line must have all names of `key` and `needed`, and may have names of `more`. All other names
    are scores.
    """

    key: Mapping[str, Check]  # names that identify a line
    needed: Mapping[str, Check] = field(default_factory=dict)
    more: Mapping[str, Check] = field(default_factory=dict)
    is_score: Check = is_number

    def key_of(self, row: Result) -> tuple:
        """Return the values of the key."""
        return tuple(row[name] for name in self.key)

    def wrong(self, row: Result) -> str | None:
        """Return an error text for a row, or None if it is valid."""
        needed = {**self.key, **self.needed}
        if missing := needed.keys() - row.keys():
            return f"it lacks {', '.join(sorted(missing))}"
        kinds = needed | dict(self.more)
        for name, value in row.items():
            if not kinds.get(name, self.is_score)(value):
                return f"{name} = {value!r:.60} is not allowed"
        return None


class Results:
    """The results in a file.

    Args:
        path: Path of the file, which need not exist.
        formats: Possible formats of its lines. A line has the first format whose key it contains
            completely.

    Raises:
        ValueError: If a line has none of these formats.
    """

    def __init__(self, path: Path, *formats: Format) -> None:
        self.path = path
        self.formats = formats
        self.by_key: dict[tuple, Result] = {}
        self._read()

    @property
    def rows(self) -> list[Result]:
        """The results, without lines that were replaced by later ones."""
        return list(self.by_key.values())

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder of the file, and remove replaced lines from the file.

        Raises:
            OSError: If another process holds the lock.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            try:
                lock(folder, wait=False)
            except BlockingIOError:
                remedy = "give --results a file in another folder, and join the files later"
                raise OSError(
                    f"another run writes to the folder of {self.path}: {remedy}"
                ) from None
            self._read()
            lines = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_atomic(self.path, lines.encode(), None)  # _read has checked the content
            yield
        finally:
            os.close(folder)

    def add(self, row: Result) -> None:
        """Append a row to the file; it replaces a row with the same key."""
        short = {name: _short(value) for name, value in row.items()}
        key = self._format(short).key_of(short)
        if self.by_key.get(key) == short:
            return
        self.by_key[key] = short
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(short) + "\n")

    def _read(self) -> None:
        """Read the file, but ignore an incomplete last line, which a killed process may leave."""
        text = read_text(self.path, MOST_BYTES) if self.path.exists() else ""
        lines = text.splitlines(keepends=True)
        results: dict[tuple, Result] = {}
        for number, line in enumerate(lines, start=1):
            place = f"{self.path}, line {number}"
            try:
                row = parse_json(line, place)
            except ValueError:
                is_cut_off = number == len(lines) and not line.endswith("\n")
                if is_cut_off and line[: len(BEGINNING)] == BEGINNING[: len(line)]:
                    break
                raise
            if not isinstance(row, dict):
                raise ValueError(f"{place} is not a result: {row!r:.60} must be an object")
            kind = self._format(row)
            if wrong := kind.wrong(row):
                raise ValueError(f"{place} is not a result: {wrong}")
            results[kind.key_of(row)] = row
        self.by_key = results

    def _format(self, row: Result) -> Format:
        fitting = (kind for kind in self.formats if kind.key.keys() <= row.keys())
        return next(fitting, self.formats[0])


def _short(value: Any) -> Any:
    """Round a number, or each number of a list, to five digits."""
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
