"""Files of results: one line of JSON per case of a study, written as soon as the case is done.

An interrupted run continues with the cases that are not in the file. If two lines have the same
key, the later line counts.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import joblib

from bnn.storage.reading import parse_json, read_text
from safe_files.locking import lock
from safe_files.progress import counted
from safe_files.writing import write_atomic

BEGINNING = '{"problem": "'  # of each line
MOST_BYTES = 10**8  # of a file

Result = dict[str, Any]


@contextlib.contextmanager
def stopping_in_words(path: Path) -> Iterator[None]:
    """End the program with a sentence if the block is interrupted, or a file cannot be used."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(f"interrupted: {path} has the results, the same command continues")
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


class Case(Protocol):
    """A case of a study, which a worker process can solve."""

    @property
    def key(self) -> tuple:
        """Values that identify its line."""

    def solve(self) -> Result:
        """Return its line."""


class Results:
    """The results in a file.

    Args:
        path: Path of the file, which need not exist.
        keys: Names that identify a line. With several keys, a line has the first of them whose
            names it contains.

    Raises:
        ValueError: If a line has none of these keys.
    """

    def __init__(self, path: Path, *keys: tuple[str, ...]) -> None:
        self.path = path
        self.keys = keys
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
        key = self._key_of(short)
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
            try:
                results[self._key_of(row)] = row
            except KeyError as error:
                raise ValueError(f"{place} is not a result: it lacks {error}") from None
        self.by_key = results

    def _key_of(self, row: Result) -> tuple:
        key = next((names for names in self.keys if {*names} <= row.keys()), self.keys[0])
        return tuple(row[name] for name in key)

    def solve_missing(self, cases: Iterable[Case], jobs: int, most: int | None = None) -> None:
        """Solve the cases that are not in the file, at most some of them, in worker processes."""
        with self.opened():
            missing = [case for case in cases if case.key not in self.by_key][:most]
            solve = (joblib.delayed(type(case).solve)(case) for case in missing)
            rows = joblib.Parallel(jobs, return_as="generator")(solve)
            for row in counted(rows, "cases", "case", len(missing)):
                self.add(row)


def _short(value: Any) -> Any:
    """Round a number, or each number of a list, to five digits."""
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
