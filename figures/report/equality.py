"""Compare the results of a run with the committed ones, bit by bit.

python -m figures.report.equality figures/full prints how many numbers are equal. Compared are the
numbers of the metrics files, the cells of their tables, the simulated tables, and the content of
committed pictures. The committed results are read from git.
"""

import csv
import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from PIL import Image

from figures.pipeline.paths import REFERENCE, ROOT, SHIPPED_TABLES, picture_path, table_path
from figures.pipeline.profiles import load_profile
from figures.report.comparison import Comparison, Metrics, compare

NO_GIT = "not compared: git cannot read the committed results of this checkout"
NOT_RUN = "no notebook has run here since the results were committed"
# Entries of the provenance that do not explain different digits, or are compared separately.
OTHER = {"commit", "wall_time_s", "seed", "inputs_sha256", "config_sha256", "processor"}
METADATA = re.compile(rb"<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)  # of an SVG file
CELL = re.compile(r"/tables/\d+/rows/")  # place of a table's cell in a metrics file
WORDS = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True)
class FileComparison:
    """The comparison of one notebook or table."""

    name: str
    count: int  # numbers that are committed or in the run
    differing: int
    largest: float | None  # largest relative difference of numbers that both have
    pictures: int = 0
    other_pictures: tuple[str, ...] = ()  # pictures that differ
    reasons: tuple[str, ...] = ()  # differences in the provenance

    def __str__(self) -> str:
        """Return the differences on one line."""
        texts = [f"{self.differing} of {self.count} numbers differ"]
        if self.largest is not None:
            texts.append(f"the largest relative difference is {self.largest:.1e}")
        if self.other_pictures:
            texts.append(f"{len(self.other_pictures)} of {self.pictures} pictures differ")
        return "; ".join([f"{self.name}: {', '.join(texts)}", *self.reasons])


@dataclass(frozen=True)
class Agreement:
    """The comparison of a run with the committed results."""

    files: tuple[FileComparison, ...]
    verdicts: tuple[str, ...]  # verdicts that changed

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        if not self.files:
            return NOT_RUN
        count = sum(file.count for file in self.files)
        equal = count - sum(file.differing for file in self.files)
        pictures = sum(file.pictures for file in self.files)
        same = pictures - sum(len(file.other_pictures) for file in self.files)
        numbers = f"{equal} of {count} committed numbers are bitwise equal"
        return f"{numbers}, {same} of {pictures} pictures show the same"

    @property
    def lines(self) -> list[str]:
        """One line per notebook or table with differences, then the changed verdicts, if any."""
        other = [str(file) for file in self.files if file.differing or file.other_pictures]
        if not other:
            return []
        changed = "; ".join(self.verdicts) or "none"
        return [*other, f"verdicts that changed: {changed}"]


def committed_files(out_dir: Path) -> dict[str, bytes] | None:
    """Return the committed files of a folder by name; empty if none exist, None if git fails."""
    folder = out_dir.resolve()
    if not folder.is_relative_to(ROOT):
        return {}
    place = folder.relative_to(ROOT).as_posix()
    git = ["git", "--no-optional-locks", "-C", str(ROOT)]
    try:
        top = subprocess.run(
            [*git, "rev-parse", "--show-toplevel"], capture_output=True, check=True
        ).stdout
        if not Path(os.fsdecode(top).rstrip("\n")).samefile(ROOT):
            return None  # the sources lie in another repository
        listed = subprocess.run(
            [*git, "ls-tree", "HEAD", "--", place], capture_output=True, check=True
        ).stdout
        if not listed:
            return {}
        packed = subprocess.run(
            [*git, "archive", "HEAD", "--", place], capture_output=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    contents = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and Path(member.name).parent.as_posix() == place:
                contents[Path(member.name).name] = content.read()
    return contents


def agreement(
    out_dir: Path, committed: Mapping[str, bytes], tables: Mapping[str, tuple[Path, Path]]
) -> Agreement:
    """Compare the notebooks of a run whose metrics are not identical to the committed files.

    Args:
        out_dir: Folder of the run.
        committed: Content of the committed files by name.
        tables: Paths of the simulated and the shipped table, by name.

    Returns:
        The differences.
    """
    compared = []
    before: dict[str, dict[str, Any]] = {}
    now: dict[str, dict[str, Any]] = {}
    for file, content in sorted(committed.items()):
        path = out_dir / file
        if path.suffix != ".json" or not path.is_file() or path.read_bytes() == content:
            continue
        before[path.stem] = json.loads(content)
        now[path.stem] = json.loads(path.read_bytes())
        compared.append(_notebook(path.stem, before[path.stem], now[path.stem], committed, out_dir))
    for name, (simulated, shipped) in tables.items():
        if simulated.is_file():
            compared.append(FileComparison(name, *_difference(_cells(shipped), _cells(simulated))))
    try:
        changed = [*_changed_verdicts(_read(before, out_dir.name), _read(now, out_dir.name))]
    except ValueError as error:  # metrics from another version of this code
        changed = [f"not known, since {' '.join(str(error).split())[:200]}"]
    return Agreement(tuple(compared), tuple(changed))


def _notebook(
    name: str,
    before: dict[str, Any],
    now: dict[str, Any],
    committed: Mapping[str, bytes],
    out_dir: Path,
) -> FileComparison:
    difference = _difference(dict(_numbers(before)), dict(_numbers(now)))
    drawn = sorted({*before.get("figures", {}), *now.get("figures", {})} & committed.keys())
    other = tuple(
        picture
        for picture in drawn
        if _shown(picture, committed.get(picture))
        != _shown(picture, _content(picture_path(out_dir, picture)))
    )
    reasons = _reasons(before.get("provenance", {}), now.get("provenance", {}))
    return FileComparison(name, *difference, len(drawn), other, tuple(reasons))


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the numbers of a metrics file and the cells of its tables, each with its place."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if path or key != "provenance":
                yield from _numbers(entry, f"{path}/{key}")
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            yield from _numbers(entry, f"{path}/{i}")
    elif CELL.match(path) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value


def _cells(table: Path) -> dict[str, object]:
    """Return the cells of a CSV file by row and column, as numbers if possible."""
    with table.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        rows = list(csv.DictReader(lines))
    cells: dict[str, object] = {}
    for i, row in enumerate(rows):
        for column, text in row.items():
            try:
                cells[f"{i}/{column}"] = float(text)
            except ValueError:
                cells[f"{i}/{column}"] = text
    return cells


def _difference(
    before: Mapping[str, object], now: Mapping[str, object]
) -> tuple[int, int, float | None]:
    """Return the count of all numbers, of differing ones, and the largest relative difference.

    Numbers that only one side has count as differing.
    """
    count = len({*before, *now})
    both = [(before[name], now[name]) for name in before if name in now]
    # Compared as texts: 1 and 1.0 differ, and so do 0.0 and -0.0, but NaN equals itself.
    pairs = [(a, b) for a, b in both if repr(a) != repr(b)]
    differing = count - len(both) + len(pairs)
    relative = [
        abs(a - b) / max(abs(a), abs(b))
        for a, b in pairs
        if isinstance(a, int | float) and isinstance(b, int | float) and a != b
    ]
    return count, differing, max(relative, default=None)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _shown(name: str, content: bytes | None) -> object:
    """Return the content of a picture: an SVG file without metadata, or pixels."""
    if content is None:
        return None
    if name.endswith(".svg"):
        return METADATA.sub(b"", content)
    with Image.open(io.BytesIO(content)) as picture:
        return picture.size, picture.convert("RGBA").tobytes()


def _reasons(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences in the provenance of two results, and both processors."""
    digests = [set(provenance.get("inputs_sha256", {}).values()) for provenance in (before, now)]
    if digests[0] != digests[1]:
        yield "the input tables differ"
    if before.get("config_sha256") != now.get("config_sha256"):
        yield "the settings differ"
    if before.get("seed") != now.get("seed"):
        yield f"seed {now.get('seed')}, committed {before.get('seed')}"
    for key in sorted({*before, *now} - OTHER):
        ours, theirs = (str(provenance.get(key, "not known")) for provenance in (now, before))
        if ours != theirs:
            if key == "arithmetic":  # without the list of variables
                ours, theirs = (text.partition(":")[0] for text in (ours, theirs))
            yield f"{key.replace('_', ' ')} {ours}, committed {theirs}"
    theirs = before.get("processor", "not known")
    yield f"processor {now.get('processor', 'not known')}, committed {theirs}"


def _read(contents: Mapping[str, dict[str, Any]], folder: str) -> dict[str, Metrics]:
    metrics = {name: Metrics.model_validate(content) for name, content in contents.items()}
    return {
        name: content.model_copy(update={"folder": folder}) for name, content in metrics.items()
    }


def _changed_verdicts(before: dict[str, Metrics], now: dict[str, Metrics]) -> Iterator[str]:
    """Yield the places of the paper and the claims whose verdict has changed."""
    then, here = compare(before), compare(now)
    for place, entry in here.items():
        earlier = then[place]
        if entry.verdict != earlier.verdict:
            yield f"{place}: {entry.verdict}, committed {earlier.verdict}"
        yield from _changed_outcomes(place, earlier, entry)
    for name, metrics in now.items():
        claims = {claim.id: claim for claim in before[name].claims if claim.about not in here}
        for claim in metrics.claims:
            held = claims.get(claim.id)
            if held is not None and held.holds != claim.holds:
                yield f"{name}, {claim.id}: {WORDS[claim.holds]}, committed {WORDS[held.holds]}"


def _changed_outcomes(place: str, before: Comparison, now: Comparison) -> Iterator[str]:
    earlier = before.outcomes
    for name, holds in now.outcomes.items():
        if name in earlier and earlier[name] != holds:
            yield f"{place}, {name}: {WORDS[holds]}, committed {WORDS[earlier[name]]}"


def tables_of_run(out_dir: Path) -> dict[str, tuple[Path, Path]]:
    """Return the paths of tables that the full run simulated, with the shipped ones, by name."""
    if out_dir.resolve() != REFERENCE:
        return {}
    simulated = ROOT / "data" / out_dir.name
    return {
        f"table {design}": (table_path(simulated, design), SHIPPED_TABLES / f"{design}.csv")
        for design in load_profile(out_dir.name).datasets
    }


def report(out_dir: Path) -> list[str]:
    """Return the report at the end of a run: a sentence, then details; empty if not committed."""
    committed = committed_files(out_dir)
    if committed is None:
        return [NO_GIT] if out_dir.resolve() == REFERENCE else []
    if not committed:
        return []
    compared = agreement(out_dir, committed, tables_of_run(out_dir))
    return [compared.statement, *compared.lines]


def main(out_dir: Path) -> None:
    """Print the comparison of the results in a folder with the committed ones."""
    first, *further = report(out_dir) or [f"no results of {out_dir} are committed"]
    for line in further:
        print(f"   {line}")
    print(first)


if __name__ == "__main__":
    typer.run(main)
