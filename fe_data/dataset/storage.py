"""A dataset folder: one record per sample, one configuration, and the table made from them.

DIR/config.json                     everything that determines the samples, with a digest
DIR/records/0012/0012345.npz        one record per sample, a thousand per folder
DIR/dataset.csv                     the table, written when all records exist
DIR/failures.csv                    each failed attempt with its reason; absent if none failed
DIR/provenance.json                 checksums, and versions and machines that made the records
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from fe_data.composite.phases import SETTINGS_OF_PHASES, Phases, leaves
from fe_data.dataset import record
from fe_data.dataset.design import MAX_SAMPLES, Design, digest_inputs, digest_microstructures
from fe_data.dataset.record import CorruptRecordError
from fe_data.dataset.table import TABLE as TABLE
from fe_data.geometry.spacing import SPACING, SPARSE
from fe_data.settings import MAX_SEED, Settings, require_integer
from safe_files.help_page import ExplainedError
from safe_files.locking import lock
from safe_files.reading import UnusualFile, read_file

FAILURES = "failures.csv"
PROVENANCE = "provenance.json"
CONFIG = "config.json"
RECORDS = "records"
MAX_CONFIG = 1_000_000  # bytes of a configuration
CONFIG_ENTRIES = {
    "design": str,
    "samples": int,
    "seed": int,
    "inputs_sha256": str,
    "settings": dict,
}
PROVENANCE_ENTRIES = {
    "config_sha256",
    "inputs_sha256",
    "table_sha256",
    "failures_sha256",  # only if an attempt failed
    "seed",
    "samples",
    "rve_seconds",
    "made_by",
}


class FolderLockedError(ExplainedError, RuntimeError):
    """Another process is writing the same samples.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data.dataset.storage import FolderLockedError, locked
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
        ...     try:
        ...         with locked(Path(folder)):
        ...             pass
        ...     except FolderLockedError as error:
        ...         print(error)
        /... is in use by another `generate` of the same samples: wait for it, ...
    """

    section = "clusters"


def configuration(
    design: Design,
    settings: Settings,
    anisotropy: bool = False,
    phases: Phases | None = None,
    interphase: float = 0.0,
    constants: bool = False,
    strengths: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return everything that determines the table, with the digest of these entries."""
    config: dict[str, Any] = {
        "format": record.FORMAT,
        "design": design.name,
        "samples": len(design),
        "seed": design.seed,
        "inputs_sha256": digest_inputs(design.varied, design.groups),
        "settings": dataclasses.asdict(settings),
    }
    if design.loadings:
        paths = [loading.as_dict() for loading in design.loadings]
        config |= {"paths": len(paths), "loadings_sha256": digest({"loadings": paths})}
    if design.microstructures:
        config["microstructures"] = len(design.microstructures)
        config["microstructures_sha256"] = digest_microstructures(design)
    if anisotropy:
        config["anisotropy"] = True
    if constants:
        config["constants"] = True
    if strengths:
        config["strengths"] = list(strengths)
    if design.fields:
        config["fields"] = list(design.fields)
    if interphase:
        config["interphase"] = interphase
    # Default laws are left out, so that digests of older datasets stay valid.
    if settings.min_spacing is None and float(design.inputs[:, 0].max()) <= SPARSE:
        config["settings"]["min_spacing"] = SPACING
    if settings.hardening == Settings.hardening:
        del config["settings"]["hardening"]
    if settings.radii == Settings.radii:
        del config["settings"]["radii"]
        del config["settings"]["radii_cov"]
    if phases is not None:
        config["material"] = phases.as_dict()
        for name in SETTINGS_OF_PHASES:
            config["settings"].pop(name, None)
    return {**config, "digest": digest(config)}


def digest(config: dict[str, Any]) -> str:
    """Return the SHA-256 of a configuration without its entry `digest`."""
    content = {name: value for name, value in config.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def record_path(folder: Path, index: int) -> Path:
    """Return the file of the record of one sample."""
    return folder / RECORDS / f"{index // 1000:04d}" / f"{index:07d}.npz"


def open_folder(folder: Path, config: dict[str, Any]) -> None:
    """Create a dataset folder, or check that an existing one has the same configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    # List the files before reading the configuration, because another shard may write it meanwhile.
    names = (CONFIG, TABLE, FAILURES, PROVENANCE, RECORDS)
    files = [name for name in names if (folder / name).exists()]
    try:
        present = load_config(folder)
    except ValueError:
        present = None  # absent or damaged; the records also have the digest of the configuration
    if present is None:
        if not _holds_own_records(folder, config) and files:
            what = f"{files[0]}, which is not of a dataset folder"
            raise ValueError(f"{folder} contains {what}: choose another --out")
        record.write_atomic(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
    elif present["digest"] != config["digest"]:
        what = f"samples of another configuration ({_difference(present, config)})"
        raise ValueError(f"{folder} contains {what}: choose another --out")


def load_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a dataset folder; a ValueError if it is missing or damaged."""
    path = folder / CONFIG
    try:
        config = json.loads(read_file(path, MAX_CONFIG))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{folder} is not a dataset folder: it has no {CONFIG}") from None
    except UnusualFile:
        raise
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(config, dict) or config.get("digest") != digest(config):
        raise ValueError(f"{path} is damaged: its digest does not match its content")
    entries = all(isinstance(config.get(name), kind) for name, kind in CONFIG_ENTRIES.items())
    if config.get("format") != record.FORMAT or not entries:
        raise ValueError(f"{path} is not a configuration of format {record.FORMAT}")
    try:
        require_integer("samples", config["samples"], 1, MAX_SAMPLES)
        require_integer("seed", config["seed"], 0, MAX_SEED)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return config


@contextlib.contextmanager
def locked(folder: Path, shard: tuple[int, int] = (1, 1)) -> Iterator[None]:
    """Lock the samples of one shard (i, n) for writing; (1, 1) locks all samples.

    The lock belongs to an open file, so it always ends with its process. If another process has
    locked some of these samples, `FolderLockedError` is raised. Two processes that lock at the same
    moment may both get this error.
    """
    number, total = shard
    with contextlib.ExitStack() as stack:
        whole = stack.enter_context(_lock_file(folder / ".lock"))
        _lock(whole, folder, shared=total > 1)
        if total > 1:
            file = stack.enter_context(_lock_file(folder / f".lock-{number}-of-{total}"))
            _lock(file, folder)
            _refuse_overlap(folder, shard)
        yield


def make_places(folder: Path, indices: Iterable[int]) -> None:
    """Prepare the paths of records and tables, so that errors occur before the simulation."""
    for path in (record_path(folder, index) for index in indices):
        record.make_place(path)
    for name in (TABLE, FAILURES, PROVENANCE):
        record.make_place(folder / name)


def require_no_link(folder: Path, indices: Iterable[int]) -> None:
    """Raise a ValueError if records would be written into another folder, through a link."""
    parents = {record_path(folder, index).parent for index in indices}
    for path in ({folder / RECORDS} if parents else set()) | parents:
        if path.is_symlink():
            what = f"{path} is a link to another folder, whose records are not replaced"
            raise ValueError(f"{what}: remove the link, or choose another --out")


def require_unchanged(
    folder: Path, config_digest: str, texts: Mapping[str, str] | None = None
) -> None:
    """Check that tables and provenance may be replaced.

    Args:
        folder: Dataset folder.
        config_digest: Digest of its configuration.
        texts: New content by name of the file, which is also allowed.

    Raises:
        ValueError: If a file is not as `generate` wrote it.
    """
    # The tables are read first, because another shard writes the provenance first.
    files = [path for path in (folder / TABLE, folder / FAILURES) if path.is_file()]
    digests = {path: _digest_of_file(path) for path in files}
    written = _written_provenance(folder / PROVENANCE, config_digest)
    if (folder / PROVENANCE).is_file():
        digests = {folder / PROVENANCE: _digest_of_file(folder / PROVENANCE), **digests}
    for path, digest in digests.items():
        new = (texts or {}).get(path.name)
        if new is not None and digest == hashlib.sha256(new.encode()).hexdigest():
            continue
        if not _is_as_written(path, digest, written):
            what = f"{path} is not as `generate` wrote it, and is not replaced"
            raise ValueError(f"{what}: move it away, or choose another --out")


def _is_as_written(path: Path, digest: str, written: dict[str, Any]) -> bool:
    """Return whether a file with the checksum `digest` is as in the provenance `written`."""
    if path.name == PROVENANCE:
        return bool(written)
    if path.name == TABLE:
        return digest == written.get("table_sha256")
    return digest == written.get("failures_sha256")


def _written_provenance(path: Path, config_digest: str) -> dict[str, Any]:
    """Read the provenance; an empty dictionary unless `generate` wrote it for this dataset."""
    try:
        text = read_file(path, record.MAX_BYTES).decode()
        content = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or not content.keys() <= PROVENANCE_ENTRIES:
        return {}
    right = content.get("config_sha256") == config_digest
    return content if right and text == formatted(content) else {}


def formatted(provenance: dict[str, Any]) -> str:
    """Return the text of a provenance."""
    return json.dumps(provenance, indent=2) + "\n"


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_folder(folder: Path) -> None:
    """Remove a dataset folder; a ValueError, and no removal, if it has any other file."""
    expected = [folder / name for name in (CONFIG, TABLE, FAILURES, PROVENANCE)]
    expected += [*folder.glob(".lock*"), *folder.glob(".*.tmp")]
    # Records, and temporary files of records from a killed process
    expected += (folder / RECORDS).glob("[0-9]*/*.npz")
    expected += (folder / RECORDS).glob("[0-9]*/.*.tmp")
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    for path in files:
        if path not in expected:
            raise ValueError(f"{path} is not a file of a dataset: move it away, or remove {folder}")
    shutil.rmtree(folder)


def _refuse_overlap(folder: Path, shard: tuple[int, int]) -> None:
    """Raise FolderLockedError if a shard of another division has locked some of these samples."""
    number, total = shard
    for path in folder.glob(".lock-*-of-*"):
        other, shards = map(int, path.name.removeprefix(".lock-").split("-of-"))
        if shards != total and (number - other) % math.gcd(total, shards) == 0:
            with path.open("rb") as file:
                _lock(file, folder, shared=True)


def _lock_file(path: Path) -> IO[bytes]:
    if path.exists() and not path.is_file():  # opening a pipe would wait for its reader
        raise UnusualFile(f"{path} is not a regular file: move it away")
    return path.open("ab")


def _lock(file: IO[bytes], folder: Path, *, shared: bool = False) -> None:
    # Writing to a file system without locks is safe nevertheless: it is atomic.
    try:
        lock(file.fileno(), shared=shared, wait=False)
    except BlockingIOError:
        raise FolderLockedError(
            f"{folder} is in use by another `generate` of the same samples: "
            "wait for it, or choose another --out"
        ) from None


def _holds_own_records(folder: Path, config: dict[str, Any]) -> bool:
    """Return whether the first readable record has this configuration; reject another one."""
    for path in (folder / RECORDS).glob("*/*.npz"):
        try:
            header = record.decode_header(read_file(path, record.MAX_BYTES))
        except (CorruptRecordError, UnusualFile, OSError):
            continue
        if header.get("config") == config["digest"]:
            return True
        what = f"samples of another configuration ({path.name})"
        raise ValueError(f"{folder} contains {what}: choose another --out")
    return False


def _difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    default = vars(Settings())
    here = json.loads(json.dumps(here))  # tuples become lists, as in a configuration that was read
    flat = [{**default, **config, **config["settings"]} for config in (there, here)]
    first = ("design", "samples", "seed", *default, "fields", "interphase", "inputs_sha256")
    # Compare the material first, because it determines other inputs.
    rest = (
        "paths",
        "loadings_sha256",
        "microstructures",
        "microstructures_sha256",
        "anisotropy",
        "constants",
        "strengths",
        "format",
    )
    for name in ("material", *first, *rest):
        if flat[0].get(name) != flat[1].get(name):
            if name == "material":
                return _difference_of_materials(*(values.get(name) for values in flat))
            if all(isinstance(values.get(name), dict) for values in flat):
                return f"another table of {name}"
            return f"{name} = {flat[0].get(name)!r:.40} there, {flat[1].get(name)!r:.40} here"
    return "other settings"


def _difference_of_materials(*pair: Any) -> str:
    """Describe the first difference between the materials of two configurations."""
    fields = [
        {".".join(p): v for p, v in leaves(material or {}, ("material",))} for material in pair
    ]
    for name in sorted({*fields[0], *fields[1]}):
        values = [leaf.get(name) for leaf in fields]
        if values[0] != values[1]:
            return f"{name} = {values[0]!r:.40} there, {values[1]!r:.40} here"
    return "another material"
