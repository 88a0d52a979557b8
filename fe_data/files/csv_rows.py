"""Read rows of CSV files; floats keep every bit, and errors list all invalid entries."""

import contextlib
import csv
import gzip
import io
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from fe_data.arrays import Floats
from fe_data.files.reading import most_unpacked
from fe_data.settings import require_integer, require_path
from safe_files.progress import counted
from safe_files.reading import UnusualFile, naming, open_stream, read_file

Row = dict[str, str]
MAX_PROBLEMS = 20  # listed in one message; further problems are only counted
MAX_LINE = 1_000_000  # characters
MAX_PACKED = 500_000_000  # bytes of a .gz file


class TableError(ValueError):
    """A table cannot be used; the message has file, line, column and value.

    Examples:
        >>> from fe_data import load_table
        >>> load_table("fe_data/datasets/CARD.md")
        Traceback (most recent call last):
        ...
        fe_data.files.csv_rows.TableError: ...CARD.md, line 1: columns vf, ... are missing...
    """


@dataclass
class Problems:
    """All problems of one file, for one message."""

    path: Path
    listed: list[str] = field(default_factory=list)  # the first MAX_PROBLEMS
    count: int = 0  # of all problems

    def add(self, line: int, text: str) -> None:
        """Add a problem of a line."""
        self.count += 1
        if self.count <= MAX_PROBLEMS:
            self.listed.append(f"line {line}: {text}")

    def parse(
        self, line: int, row: Row, kind: Callable[[str, str], Any], name: str, default: Any = None
    ) -> Any:
        """Parse an entry; return the default if the entry is invalid or the column is missing."""
        try:
            return kind(name, row[name]) if name in row else default
        except ValueError as error:
            self.add(line, str(error))
            return default

    def raise_if_any(self) -> None:
        """Raise a TableError that lists the problems."""
        if self.listed:
            shown = "; ".join(self.listed)
            rest = self.count - MAX_PROBLEMS
            raise TableError(f"{self.path}, {shown}" + (f"; and {rest} more" if rest > 0 else ""))


def read_rows(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str],
    *,
    others: bool = True,
    also: str | None = None,
) -> Iterator[tuple[int, Row]]:
    """Read a CSV file row by row.

    Args:
        path: The file, which may be compressed as .gz, or a pipe.
        required: Columns that the file must have.
        optional: Columns that are read if the file has them.
        others: Whether to ignore further columns; otherwise they raise a TableError.
        also: If given, columns with this text in their names are read too.

    Yields:
        Number of the line, and the entries by name of column.

    Raises:
        TableError: If the file is not valid CSV, has no rows, or its columns are not as required.
    """
    path = require_path("path", path)
    row = None
    try:
        with _opened(path) as file:
            lines = counted(_lines(path, file), path.name, "line")
            reader = csv.reader(lines, strict=True)
            header = _header(path, next(reader, []), required, optional)
            further = [name for name in header if also is not None and also in name]
            names = dict.fromkeys((*required, *optional, *further))
            wanted = {name: header.index(name) for name in names if name in header}
            if not others and (strange := [name for name in header if name not in wanted]):
                allowed = ", ".join((*required, *optional))
                what = f"column {strange[0]!r:.60} is unknown: allowed are {allowed}"
                raise TableError(f"{path}, line 1: {what}")
            for entries in filter(None, reader):
                if len(entries) != len(header):
                    numbers = f"{len(entries)} cells where the header has {len(header)}"
                    raise TableError(f"{path}, line {reader.line_num}: {numbers}")
                row = {name: entries[column].strip() for name, column in wanted.items()}
                yield reader.line_num, row
    except UnusualFile as error:
        raise TableError(str(error)) from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not a text file in UTF-8") from None
    except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path} is not a CSV file: {error}") from None
    if row is None:
        raise TableError(f"{path} has no rows below its header")


def _opened(path: Path) -> TextIO:
    """Open the text of a table, which may be compressed."""
    file: BinaryIO = _unpacked(path) if path.suffix == ".gz" else open_stream(path)
    return io.TextIOWrapper(file, encoding="utf-8-sig", newline="")


def _unpacked(path: Path) -> BinaryIO:
    packed = read_file(path, MAX_PACKED)
    most = most_unpacked(len(packed))
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        text = file.read(most + 1)
    if len(text) > most:
        what = f"has {len(packed)} bytes and unpacks to more"
        raise UnusualFile(f"{path} {what} than {most} bytes, the limit for its size")
    return io.BytesIO(text)


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    with naming(path):
        while line := file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise TableError(f"{path} has a line of more than {MAX_LINE} characters")
            yield line


def _header(
    path: Path, entries: list[str], required: Sequence[str], optional: Sequence[str]
) -> list[str]:
    header = [entry.strip() for entry in entries]
    if not any(header):
        kind, names = ("", required) if required else ("some of ", optional)
        expected = f"expected a header with {kind}{', '.join(names)}"
        raise TableError(f"{path} is empty: {expected}")
    if len(header) == 1 and ";" in header[0]:
        what = f"a comma separates columns, not a semicolon: {header[0]!r:.300}"
        raise TableError(f"{path}, line 1: {what}")
    if missing := [name for name in required if name not in header]:
        columns = ",".join(header)
        raise TableError(f"{path}, line 1: {are_missing(missing)} in {columns!r:.300}")
    if twice := sorted(name for name, n in Counter(header).items() if name and n > 1):
        raise TableError(f"{path}, line 1: column {', '.join(twice):.300} appears twice")
    return header


def read_numbers(path: Path, names: Sequence[str], *, others: bool = True) -> Floats:
    """Read columns of finite numbers (n, len(names)); a TableError lists all invalid entries."""
    problems = Problems(path)
    rows = read_rows(path, names, (), others=others)
    numbers = [[problems.parse(*row, parse_float, name) for name in names] for row in rows]
    problems.raise_if_any()
    return np.array(numbers, float)


def parse_float(name: str, text: str) -> float:
    """Parse a finite number."""
    value = _number(float, "a number", name, text)
    if not math.isfinite(value):
        raise ValueError(f"{name} = {text!r:.60} is not finite")
    return value


def parse_integer(name: str, text: str) -> int:
    """Parse an integer in [0, 2**63)."""
    return require_integer(name, int(_number(int, "an integer", name, text)), 0, 2**63 - 1)


def _number(kind: Callable[[str], float], words: str, name: str, text: str) -> float:
    # Python also accepts "1_000" and digits of other scripts, which are mistakes in a table.
    with contextlib.suppress(ValueError):
        if "_" not in text and text.isascii():
            return kind(text)
    raise ValueError(f"{name} = {text!r:.60} is not {words}")


def format_value(value: object) -> str:
    """Format a number, a text or None; reading a float restores the same bits."""
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def are_missing(columns: Sequence[str]) -> str:
    """Say which columns are missing."""
    if len(columns) == 1:
        return f"column {columns[0]} is missing"
    return f"columns {', '.join(columns)} are missing"
