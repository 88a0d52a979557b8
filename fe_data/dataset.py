"""A dataset folder: one record a sample, one configuration, and the table made from them.

DIR/config.json                     what the samples are a function of, with its digest
DIR/records/0012/0012345.npz        one record a sample, a thousand a folder
DIR/dataset.csv                     the table: written when every record is there
DIR/failures.csv                    every failed attempt with its reason; absent when none failed
"""

import contextlib
import csv
import errno
import fcntl
import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fe_data import record
from fe_data.design import Design
from fe_data.record import DamagedRecord
from fe_data.settings import OUTPUT_NAMES, Settings
from fe_data.table import COLUMNS, format_row

TABLE = "dataset.csv"
FAILURES = "failures.csv"
PROVENANCE = "provenance.json"
CONFIG = "config.json"
RECORDS = "records"
# Some network file systems have no locks; writing there is safe all the same, since it is atomic.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
HEADER_ENTRIES = {
    "seed",
    "group",
    "status",
    "inputs",
    "outputs",
    "attempts",
    "seconds",
    "provenance",
}
FAILURE_COLUMNS = ("index", "attempt", "seed", "status", "reason")


class FolderInUse(RuntimeError):
    """Another process is writing the same samples."""


@dataclass
class Collection:
    """What the records of a folder hold, in the order of the samples."""

    rows: list[str] = field(default_factory=list)  # lines of the table
    failures: list[tuple] = field(default_factory=list)  # FAILURE_COLUMNS of each failed attempt
    counts: dict[str, int] = field(default_factory=lambda: {"ok": 0, "retried": 0, "failed": 0})
    problems: dict[int, str] = field(default_factory=dict)  # samples without a usable record
    made_by: Counter[str] = field(default_factory=Counter)  # JSON text of provenance: records
    seconds: float = 0.0  # of all cells together


def configuration(design: Design, settings: Settings) -> dict:
    """Everything that the table is a function of, with a digest of it all."""
    config = {
        "format": record.FORMAT,
        "design": design.name,
        "samples": len(design),
        "seed": design.seed,
        "inputs_sha256": design.inputs_digest,
        "settings": settings.to_dict(),
    }
    return {**config, "digest": digest(config)}


def digest(config: dict) -> str:
    """SHA-256 of a configuration; its own `digest` entry does not count."""
    content = {name: value for name, value in config.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def record_path(folder: Path, index: int) -> Path:
    """File of the record of one sample."""
    return folder / RECORDS / f"{index // 1000:04d}" / f"{index:07d}.npz"


def open_folder(folder: Path, config: dict) -> None:
    """Make a dataset folder, or accept one that holds samples of the same configuration.

    Raises:
        ValueError: the folder holds samples of another configuration.
        OSError: the folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        present = load_config(folder)
    except ValueError:
        present = None  # absent or damaged: the records tell whose they are
    if present is None:
        _refuse_foreign_records(folder, config)
        text = json.dumps(config, indent=2) + "\n"
        record.write_atomic(folder / CONFIG, text.encode())
    elif present["digest"] != config["digest"]:
        raise ValueError(
            f"{folder} holds samples of another configuration ({_difference(present, config)}): "
            "choose another --out"
        )


def load_config(folder: Path) -> dict:
    """Configuration of a dataset folder.

    Raises:
        ValueError: there is none, or it is damaged.
    """
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{folder} is not a dataset folder: it has no {CONFIG}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(config, dict) or config.get("digest") != digest(config):
        raise ValueError(f"{path} is damaged: its digest does not match its content")
    return config


@contextlib.contextmanager
def locked(folder: Path, shard: tuple[int, int] = (1, 1)) -> Iterator[None]:
    """Hold the right to write the samples of one shard, (i, n); (1, 1) excludes everybody else.

    The lock belongs to the open file, so that it ends with its process, however that dies.

    Raises:
        FolderInUse: another process holds it.
    """
    number, total = shard
    with contextlib.ExitStack() as stack:
        whole = stack.enter_context((folder / ".lock").open("ab"))
        _lock(whole, folder, fcntl.LOCK_EX if total == 1 else fcntl.LOCK_SH)
        if total > 1:
            part = stack.enter_context((folder / f".lock-{number}-of-{total}").open("ab"))
            _lock(part, folder, fcntl.LOCK_EX)
        yield


def read_header(folder: Path, index: int, config_digest: str) -> dict:
    """Header of the record of one sample, if it is whole and of this configuration.

    Raises:
        DamagedRecord: it is missing, damaged or belongs elsewhere.
    """
    path = record_path(folder, index)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DamagedRecord("no record") from None
    except OSError as error:
        raise DamagedRecord(f"unreadable: {error.strerror}") from None
    header = record.decode_header(data)
    if header.get("config") != config_digest:
        raise DamagedRecord("record of another configuration")
    if header.get("index") != index:
        raise DamagedRecord(f"record of sample {header.get('index')}")
    if not header.keys() >= HEADER_ENTRIES:
        raise DamagedRecord("incomplete header")
    return header


def is_done(folder: Path, index: int, config_digest: str, *, retry_failed: bool = False) -> bool:
    """Whether a sample has a usable record."""
    try:
        header = read_header(folder, index, config_digest)
    except DamagedRecord:
        return False
    return not (retry_failed and header["status"] == "failed")


def collect(folder: Path, config: dict, indices: Iterable[int]) -> Collection:
    """Read the records of the given samples; memory holds one line of text a sample."""
    found = Collection()
    for index in indices:
        try:
            header = read_header(folder, index, config["digest"])
            row = table_row(header)
        except DamagedRecord as error:
            found.problems[index] = str(error)
            continue
        found.rows.append(row)
        found.counts[header["status"]] += 1
        found.made_by[json.dumps(header["provenance"])] += 1
        found.seconds += header["seconds"]
        found.failures.extend(_failed_attempts(header))
    return found


def table_row(header: dict) -> str:
    """Line of the table that a record's header holds.

    Raises:
        DamagedRecord: the header lacks an entry, or an output of a finished sample is not finite.
    """
    try:
        outputs = header["outputs"] or dict.fromkeys(OUTPUT_NAMES)
        scalars = {name: header[name] for name in ("index", "seed", "group", "status")}
        row = format_row({**scalars, **header["inputs"], **outputs})
        finite = [isinstance(x, float) and math.isfinite(x) for x in map(outputs.get, OUTPUT_NAMES)]
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedRecord(f"incomplete header ({error})") from None
    if finite != [header["status"] != "failed"] * len(finite):
        raise DamagedRecord("outputs do not go with the status")
    return row


def write_table(folder: Path, config: dict, found: Collection) -> None:
    """Write dataset.csv, its provenance, and failures.csv where an attempt failed."""
    text = table_text(found)
    record.write_atomic(folder / PROVENANCE, _provenance_text(config, found, text).encode())
    record.write_atomic(folder / TABLE, text.encode())
    if found.failures:
        record.write_atomic(folder / FAILURES, failures_text(found).encode())
    else:
        (folder / FAILURES).unlink(missing_ok=True)


def _provenance_text(config: dict, found: Collection, table: str) -> str:
    makers = [{**json.loads(text), "records": count} for text, count in found.made_by.items()]
    content = {
        "config_sha256": config["digest"],
        "inputs_sha256": config["inputs_sha256"],
        "table_sha256": hashlib.sha256(table.encode()).hexdigest(),
        "seed": config["seed"],
        "samples": found.counts,
        "cell_seconds": round(found.seconds, 3),
        "made_by": makers,
    }
    return json.dumps(content, indent=2) + "\n"


def table_text(found: Collection) -> str:
    """Content of dataset.csv."""
    return ",".join(COLUMNS) + "\n" + "".join(found.rows)


def failures_text(found: Collection) -> str:
    """Content of failures.csv."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(FAILURE_COLUMNS)
    writer.writerows(found.failures)
    return buffer.getvalue()


def remove_leftovers(folder: Path, indices: Iterable[int]) -> None:
    """Delete what a killed process left of the samples it was writing."""
    ours = {record_path(folder, index).name for index in indices}
    for path in (folder / RECORDS).glob("*/.*.tmp"):
        if path.name[1:].rsplit(".", 2)[0] in ours:
            path.unlink(missing_ok=True)


def _failed_attempts(header: dict) -> list[tuple]:
    attempts = enumerate(header["attempts"], start=1)
    return [
        (header["index"], n, a["seed"], header["status"], a["error"])
        for n, a in attempts
        if a["error"]
    ]


def _lock(file, folder: Path, kind: int) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FolderInUse(
            f"{folder} is in use by another `generate` of the same samples: "
            "wait for it, or choose another --out"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def _refuse_foreign_records(folder: Path, config: dict) -> None:
    for path in (folder / RECORDS).glob("*/*.npz"):
        try:
            header = record.decode_header(path.read_bytes())
        except (DamagedRecord, OSError):
            continue
        if header.get("config") == config["digest"]:
            return
        raise ValueError(
            f"{folder} holds samples of another configuration ({path.name}): choose another --out"
        )


def _difference(there: dict, here: dict) -> str:
    flat = [{**config, **config["settings"]} for config in (there, here)]
    for name in ("design", "samples", "seed", *here["settings"], "inputs_sha256", "format"):
        if flat[0].get(name) != flat[1].get(name):
            return f"{name} = {flat[0].get(name)!r:.40} there, {flat[1].get(name)!r:.40} here"
    return "other settings"
