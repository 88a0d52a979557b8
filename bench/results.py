"""Files of results: one line of JSON for each case of a study, written as soon as the case is done.

A run that was interrupted finds the finished cases in the file. Of two lines with the same key the
later one counts.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bnn.storage.reading import is_number, parse_json, read_text
from fe_data.files.writing import write_atomic

BEGINNING = '{"problem": "'  # of each line
MOST_BYTES = 10**8  # of a file
MOST_LETTERS = 1000  # of a text in it
MOST_NUMBERS = 1000  # of a list in it

Result = dict[str, Any]
Check = Callable[[object], bool]


def is_text(value: object) -> bool:
    """Whether a value is a text that is not too long."""
    return isinstance(value, str) and len(value) <= MOST_LETTERS


def is_count(value: object) -> bool:
    """Whether a value is an integer from 0 on."""
    return isinstance(value, int) and is_number(value, 0)


def is_numbers(value: object) -> bool:
    """Whether a value is a list of finite numbers that is not too long."""
    return isinstance(value, list) and len(value) <= MOST_NUMBERS and all(map(is_number, value))


@dataclass(frozen=True)
class Format:
    """What a line has: all of `key` and `needed`, some of `more`, and scores of other names."""

    key: Mapping[str, Check]  # by which a line is found again
    needed: Mapping[str, Check] = field(default_factory=dict)
    more: Mapping[str, Check] = field(default_factory=dict)
    is_score: Check = is_number

    def key_of(self, row: Result) -> tuple:
        """The values of the key."""
        return tuple(row[name] for name in self.key)

    def wrong(self, row: Result) -> str | None:
        """Say what is wrong with a row; None if it is right."""
        needed = {**self.key, **self.needed}
        if missing := needed.keys() - row.keys():
            return f"it lacks {', '.join(sorted(missing))}"
        kinds = needed | dict(self.more)
        for name, value in row.items():
            if not kinds.get(name, self.is_score)(value):
                return f"{name} = {value!r:.60} is not allowed"
        return None


class Results:
    """The results of a file.

    Args:
        path: Of the file, which need not exist.
        formats: Of its lines. A line has the first format of which it has the whole key.

    Raises:
        ValueError: The file has other lines.
    """

    def __init__(self, path: Path, *formats: Format) -> None:
        self.path = path
        self.formats = formats
        self.by_key: dict[tuple, Result] = {}
        self._read()

    @property
    def rows(self) -> list[Result]:
        """The results that count."""
        return list(self.by_key.values())

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the folder of the file alone, and remove lines that do not count from the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                remedy = "name a file in another folder, --results FILE, and join the lines"
                raise OSError(f"another run writes beside {self.path}: {remedy}") from None
            self._read()
            lines = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_atomic(self.path, lines.encode(), None)  # _read has seen that it holds results
            yield
        finally:
            os.close(folder)

    def add(self, row: Result) -> None:
        """Write a row, instead of one with the same key."""
        short = {name: _short(value) for name, value in row.items()}
        key = self._format(short).key_of(short)
        if self.by_key.get(key) == short:
            return
        self.by_key[key] = short
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(short) + "\n")

    def _read(self) -> None:
        """Read the file, without a last line that is cut off, as it is after a kill."""
        text = read_text(self.path, MOST_BYTES) if self.path.exists() else ""
        lines = text.splitlines(keepends=True)
        found: dict[tuple, Result] = {}
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
                raise ValueError(f"{place} is no result: {row!r:.60} must be an object")
            kind = self._format(row)
            if wrong := kind.wrong(row):
                raise ValueError(f"{place} is no result: {wrong}")
            found[kind.key_of(row)] = row
        self.by_key = found

    def _format(self, row: Result) -> Format:
        fitting = (kind for kind in self.formats if kind.key.keys() <= row.keys())
        return next(fitting, self.formats[0])


def _short(value: Any) -> Any:
    """A number, or each of a list, to five digits."""
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
