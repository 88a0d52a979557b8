"""Check a dataset folder: its configuration, every record, and the tables made from the records."""

import csv
import hashlib
import io
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.dataset import collection, storage
from fe_data.dataset.collection import Collection
from fe_data.dataset.design import digest_inputs, retry_seed, seed_of
from fe_data.schema import INPUT_NAMES
from fe_data.settings import require_path
from safe_files.progress import counted
from safe_files.reading import UnusualFile, read_file

MAX_ROW = 10_000  # bytes of a sample in a table, including reasons of failures


def verify(folder: Path) -> tuple[list[str], dict[str, int]]:
    """Check every record of a dataset folder, and compare its tables with the records.

    Args:
        folder: Folder that `generate` wrote.

    Returns:
        One sentence per problem, and the number of samples by status.

    Examples:
        >>> import tempfile
        >>> from fe_data import verify
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     problems, counts = verify(folder)
        >>> problems
        ['... is not a dataset folder: it has no config.json']
    """
    folder = require_path("folder", folder)
    try:
        config = storage.load_config(folder)
    except ValueError as error:
        return [str(error)], {}
    n = config["samples"]
    collected = collection.collect(folder, config, counted(range(n), "records", "record"))
    problems = [f"sample {index}: {text}" for index, text in collected.problems.items()]
    problems += _strangers(folder, n)
    if not collected.problems:
        problems += _check_design(config, collected)
    return problems + _check_files(folder, config, collected), collected.counts


def _check_files(folder: Path, config: dict[str, Any], collected: Collection) -> list[str]:
    """Return the problems of the files that are made from the records."""
    texts = collection.table_texts(config, collected)
    unread = {str(index) for index in collected.problems}
    checked = (_check_text(folder / name, text, unread) for name, text in texts.items())
    problems = list(filter(None, checked))
    if storage.FAILURES not in texts and (folder / storage.FAILURES).exists() and not unread:
        problems.append(f"{storage.FAILURES}: must not exist, because no attempt failed")
    return problems


def _check_design(config: dict[str, Any], collected: Collection) -> list[str]:
    """Return the problems of inputs and seeds that differ from the configuration."""
    names = (*INPUT_NAMES, *config.get("fields", ()))
    inputs = np.array([[row.get(name, np.nan) for name in names] for row in collected.rows], float)
    groups = np.array([row["group"] for row in collected.rows])
    problems = []
    if digest_inputs(inputs, groups) != config["inputs_sha256"]:
        problems.append("the records' inputs are not those of the configuration")
    for index, row in enumerate(collected.rows):
        first = seed_of(config["design"], config["seed"], index)
        second = retry_seed(first)
        expected = {"retried": [second], "unfitted": [first, second]}.get(row["status"], [first])
        if row["seed"] not in expected:
            problems.append(
                f"sample {index}: seed = {row['seed']} is not that of the configuration"
            )
    return problems


def _check_text(path: Path, expected: str, unread: set[str]) -> str:
    """Return the problem of a file, or an empty text; rows of samples in `unread` are ignored."""
    most = len(expected.encode()) + MAX_ROW * (len(unread) + 1)
    try:
        text = read_file(path, most).decode()
    except FileNotFoundError:
        return f"{path.name} is missing"
    except UnusualFile as error:
        return str(error)
    except (OSError, UnicodeDecodeError):
        return f"{path.name} cannot be read"
    table = path.with_name(storage.TABLE)
    # The provenance counts all records. If some are unreadable, only the checksum is compared.
    if unread and path.name == storage.PROVENANCE:
        right = not table.is_file() or hashlib.sha256(table.read_bytes()).hexdigest() in text
        return "" if right else f"{path.name}: not the checksum of {table.name}"
    rows = _json_lines if path.name == storage.PROVENANCE else _csv_rows
    try:
        written = [(line, row) for line, row in rows(text) if row[0] not in unread]
    except csv.Error:
        return f"{path.name} cannot be read"
    end = (len(text.splitlines()) + 1, [""])
    for (line, row), (_, record) in zip_longest(written, rows(expected), fillvalue=end):
        if row != record:
            return f"{path.name}, line {line}: differs from the records"
    if not unread and text != expected:
        return f"{path.name}: has the entries of the records, but is not formatted as by `generate`"
    return ""


def _csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line of each row of a table, and the entries of the row."""
    reader = csv.reader(io.StringIO(text, newline=""))
    for row in reader:
        yield reader.line_num, row or [""]


def _json_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and text of each line."""
    for number, line in enumerate(text.splitlines(), start=1):
        yield number, [line]


def _strangers(folder: Path, samples: int) -> list[str]:
    """Return the problems of files in the folder of the records that belong to no sample."""
    records = {storage.record_path(folder, index) for index in range(samples)}
    return [
        f"{path.relative_to(folder)}: belongs to no sample"
        for path in (folder / storage.RECORDS).rglob("*")
        if not path.is_dir() and path not in records
    ]
