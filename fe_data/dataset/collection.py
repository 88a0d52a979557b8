"""Read all records of a dataset folder, and make the tables from them."""

import csv
import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from fe_data.dataset import record, storage
from fe_data.dataset.record import CorruptRecordError
from fe_data.dataset.storage import FAILURES, PROVENANCE, TABLE, record_path
from fe_data.dataset.table import PATH_COLUMNS, STATUSES, format_row, table_columns
from fe_data.dataset.worker import DIED, UNEXPECTED, UNREACHED
from fe_data.schema import (
    INPUT_NAMES,
    fitted_outputs,
    output_names,
    outputs_among,
    required_outputs,
)
from safe_files.reading import UnusualFile, read_file

REQUIRED: dict[str, type[Any] | tuple[type[Any], ...]] = {  # entries of a header
    "seed": int,
    "group": int,
    "status": str,
    "inputs": dict,
    "outputs": (dict, NoneType),
    "attempts": list,
    "seconds": (int, float),
    "provenance": dict,
}
FAILURE_COLUMNS = ("index", "attempt", "seed", "status", "reason")
Failure = tuple[int, int, int, str, str]  # in the order of FAILURE_COLUMNS


@dataclass
class Collection:
    """Content of the records of a folder, in the order of the samples."""

    rows: list[dict[str, Any]] = field(default_factory=list)  # rows of the table, by column
    failures: list[Failure] = field(default_factory=list)  # all failed attempts
    # Number of samples by status; "unfitted" only if there are any.
    counts: dict[str, int] = field(default_factory=lambda: {"ok": 0, "retried": 0, "failed": 0})
    problems: dict[int, str] = field(default_factory=dict)  # samples without a usable record
    warnings: dict[int, str] = field(default_factory=dict)  # by index of the sample
    made_by: Counter[str] = field(default_factory=Counter)  # number of records by provenance (JSON)
    seconds: float = 0.0  # sum over all samples


def read_header(folder: Path, index: int, config_digest: str) -> dict[str, Any]:
    """Read the header of a record; a CorruptRecordError unless it is complete and belongs here."""
    path = record_path(folder, index)
    try:
        data = read_file(path, record.MAX_BYTES)
    except FileNotFoundError:
        raise CorruptRecordError("no record") from None
    except UnusualFile as error:
        raise CorruptRecordError(str(error)) from None
    except OSError as error:
        raise CorruptRecordError(f"unreadable: {error.strerror}") from None
    header = record.decode_header(data)
    if header.get("config") != config_digest:
        raise CorruptRecordError("record of another configuration")
    if header.get("index") != index:
        raise CorruptRecordError(f"record of sample {header.get('index')}")
    for name, kind in REQUIRED.items():
        if name not in header or not isinstance(header[name], kind):
            raise CorruptRecordError(f"incomplete header ({name!r})")
    values = [*header["inputs"].values(), *header.get("fields", {}).values()]
    numbers = all(isinstance(value, int | float) for value in values)
    if header["status"] not in STATUSES or not numbers:
        raise CorruptRecordError("no numbers as inputs, or an unknown status")
    return header


def is_done(folder: Path, index: int, config_digest: str, retry_failed: bool = False) -> bool:
    """Return whether the record of a sample can be kept, so that it need not be simulated again."""
    try:
        header = read_header(folder, index, config_digest)
        table_row(header)
        failures = failed_attempts(header)
    except CorruptRecordError:
        return False
    reasons = [reason for *_, reason in failures]
    # The cause of an unexpected error may be the machine and not the sample.
    if any(reason.startswith(UNEXPECTED) for reason in reasons):
        return False
    # The same is true for dead workers.
    again = any(reason.startswith(DIED) for reason in reasons)
    return header["status"] != "failed" or not (retry_failed or again)


def collect(folder: Path, config: dict[str, Any], indices: Iterable[int]) -> Collection:
    """Read the records of the given samples; their curves are not kept in memory."""
    collection = Collection()
    for index in indices:
        try:
            header = read_header(folder, index, config["digest"])
            row = table_row(header)
            failures = failed_attempts(header)
        except CorruptRecordError as error:
            collection.problems[index] = str(error)
            continue
        collection.rows.append(row)
        status = header["status"]
        collection.counts[status] = collection.counts.get(status, 0) + 1
        collection.made_by[json.dumps(header["provenance"])] += 1
        collection.seconds += header["seconds"]
        collection.failures += failures
        if warning := warning_of(header):
            collection.warnings[index] = warning
    return collection


def warning_of(header: dict[str, Any]) -> str:
    """Return the warning of a record about its outputs, or with a given loading about its mesh."""
    info = header.get("info")
    names = ("mesh_warning",) if "loading" in header else ("warning", UNREACHED)
    if not isinstance(info, dict):
        return ""
    return "; ".join(str(info[name]) for name in names if info.get(name))


def failed_attempts(header: dict[str, Any]) -> list[Failure]:
    """Return rows of failures.csv of a sample; a CorruptRecordError if an entry is missing."""
    try:
        return [
            (header["index"], number, attempt["seed"], header["status"], attempt["error"])
            for number, attempt in enumerate(header["attempts"], start=1)
            if attempt["error"]
        ]
    except (KeyError, TypeError) as error:
        raise CorruptRecordError(f"incomplete header ({error})") from None


def table_row(header: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the table by column; a CorruptRecordError if an entry is not valid."""
    try:
        row = {name: header[name] for name in ("index", "seed", "group", "status")}
        row |= {name: header["inputs"][name] for name in INPUT_NAMES}
        row |= header.get("fields", {})
        row |= {name: header[name] for name in ("microstructure",) if name in header}
        if "path" in header:
            return row | {"path": header["path"]}
        outputs = header["outputs"] or {}
        unfitted = header["status"] == "unfitted"
        # An unfitted sample with a power law lacks a strength.
        fitted = not unfitted or any(name in outputs for name in fitted_outputs())
        lacks = not fitted or bool(header["attempts"][-1]["error"])
        names = () if header["status"] == "failed" else outputs_among(outputs, fitted=fitted)
        row |= {name: outputs[name] for name in names}
        right = all(isinstance(outputs[name], float) for name in names)
        right = right and all(math.isfinite(outputs[name]) for name in names)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise CorruptRecordError(f"incomplete header ({error})") from None
    if not right or (not names and outputs) or (unfitted and not lacks):
        raise CorruptRecordError("outputs do not match the status")
    return row


def columns_of(config: dict[str, Any], collection: Collection) -> tuple[str, ...]:
    """Return columns of the table: outputs of strengths, and others that all samples have.

    Samples that failed do not count. If all failed, only the required outputs have columns.
    """
    with_outputs = [row for row in collection.rows if row["status"] != "failed"]
    strengths = tuple(config.get("strengths", ()))
    names = [
        name
        for name in output_names()
        if name in required_outputs()
        or name.startswith(strengths)
        or (with_outputs and all(name in row for row in with_outputs))
    ]
    return table_columns(names)


def write_tables(folder: Path, config: dict[str, Any], collection: Collection) -> None:
    """Write the files of `table_texts`; a ValueError if they would replace a changed file."""
    texts = table_texts(config, collection)
    storage.require_unchanged(folder, config["digest"], texts)
    old = {name: _content(folder / name) for name in (PROVENANCE, TABLE, FAILURES)}
    changed = [name for name in old if old[name] != texts.get(name, "").encode()]
    # Earlier tables go first. After a kill no table lies next to the checksum of another table.
    for name in (TABLE, FAILURES):
        if name in changed and old[name]:
            (folder / name).unlink(missing_ok=True)
    for name in changed:
        if name in texts:
            record.write_atomic(folder / name, texts[name].encode())


def _content(path: Path) -> bytes:
    """Return the content of a file; empty if there is none."""
    return path.read_bytes() if path.is_file() else b""


def table_texts(config: dict[str, Any], collection: Collection) -> dict[str, str]:
    """Return content of provenance.json, dataset.csv and, if an attempt failed, failures.csv."""
    columns = PATH_COLUMNS if "paths" in config else columns_of(config, collection)
    if "microstructures" in config:  # given fibres have no seed
        columns = tuple("microstructure" if name == "seed" else name for name in columns)
    end = columns.index(INPUT_NAMES[-1]) + 1
    columns = (*columns[:end], *config.get("fields", ()), *columns[end:])
    empty = dict.fromkeys(columns)  # a failed sample has no outputs
    rows = [format_row(empty | row, columns) for row in collection.rows]
    table = ",".join(columns) + "\n" + "".join(rows)
    makers = [{**json.loads(text), "records": count} for text, count in collection.made_by.items()]
    texts = {PROVENANCE: "", TABLE: table}
    checksums = {"table_sha256": hashlib.sha256(table.encode()).hexdigest()}
    if collection.failures:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(FAILURE_COLUMNS)
        writer.writerows(collection.failures)
        texts[FAILURES] = buffer.getvalue()
        checksums["failures_sha256"] = hashlib.sha256(texts[FAILURES].encode()).hexdigest()
    content = {
        "config_sha256": config["digest"],
        "inputs_sha256": config["inputs_sha256"],
        **checksums,
        "seed": config["seed"],
        "samples": collection.counts,
        "rve_seconds": round(collection.seconds, 3),
        "made_by": makers,
    }
    texts[PROVENANCE] = storage.formatted(content)
    return texts
