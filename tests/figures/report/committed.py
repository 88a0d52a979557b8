"""Committed metrics, whatever a run has written over them since."""

import functools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from docs.prose import cells
from figures.pipeline.paths import ROOT
from figures.report.comparison import Metrics

SECTIONED = ("docs/findings.md",)  # a finding is a sentence, a table and what limits it


def committed_run(name: str) -> dict[str, dict[str, Any]]:
    """Metrics files of a run as git has them, by notebook; where git has none, the files there are.

    What is staged counts, so that new metrics can be tested before they are committed. Of a
    notebook that also trained several times, these metrics.
    """
    return {path.stem: json.loads(content_of(path)) for path in committed_files(name, ".json")}


@functools.cache
def typed_run(name: str) -> dict[str, Metrics]:
    """The same as the page reads them."""
    run = committed_run(name).items()
    return {stem: Metrics.model_validate(metrics | {"folder": name}) for stem, metrics in run}


def committed_files(name: str, *suffixes: str) -> list[Path]:
    """Files of a run that git has, staged ones too; without git, those that there are.

    Those of studies count as well, after those in figures.
    """
    folders = [ROOT / "figures" / name, *ROOT.glob(f"studies/*/results/{name}")]
    staged = filter(None, _git("ls-files", "-z", "--", *map(str, folders)).split("\0"))
    paths = [ROOT / file for file in staged] or [p for file in folders for p in file.glob("*")]
    return sorted((path for path in paths if path.suffix in suffixes), key=lambda path: path.name)


@functools.cache
def content_of(path: Path) -> str:
    """The text of a file as git has it; without git, that of the file there is."""
    return _git("show", f":./{path.relative_to(ROOT)}") or path.read_text(encoding="utf-8")


def _git(*arguments: str) -> str:
    """What git prints; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


class Numbers(dict[str, Any]):
    """A part of a metrics file, whose entries are attributes too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


@functools.cache
def metrics(notebook: str, folder: str = "full") -> Any:
    """The committed metrics of a notebook."""
    *_, path = [path for path in committed_files(folder, ".json") if path.stem == notebook]
    return json.loads(content_of(path), object_hook=Numbers)


def verdicts(content: Any, *ids: str) -> list[bool | None]:
    """Whether claims hold, by their ids."""
    holds = {claim.id: claim.holds for claim in content.claims}
    return [holds[claim_id] for claim_id in ids]


def ours(content: Any, identifier: str) -> Any:
    """Our numbers behind the claim of an id."""
    return {claim.id: claim.ours for claim in content.claims}[identifier]


@functools.cache
def paragraphs(page: str) -> list[str]:
    """Paragraphs and list items of a page or notebook as plain text on one line.

    Of a page in SECTIONED, sections.
    """
    path = ROOT / page
    text = path.read_text(encoding="utf-8") if path.suffix != ".ipynb" else "\n\n".join(cells(path))
    text = text.replace("~", " ")
    between = r"\n(?=#+ )" if page in SECTIONED else r"\n\s*\n"
    parts = re.split(rf"{between}|\n(?=- )", re.sub(r"[*$`\"\\]", "", text))
    return [" ".join(paragraph.split()) for paragraph in parts]


def quoted(pages: str | tuple[str, ...], beginning: str, *numbers: object) -> None:
    """Assert that the paragraph of each page with these words quotes the numbers."""
    for page in (pages,) if isinstance(pages, str) else pages:
        matching = [paragraph for paragraph in paragraphs(page) if beginning in paragraph]
        assert len(matching) == 1, f"{page}: {len(matching)} paragraphs have {beginning!r}"
        for number in map(str, numbers):
            whole = rf"(?<![\d.−]){re.escape(number)}(?!\.?\d)"
            assert re.search(whole, matching[0]), f"{page} does not quote {number}: {matching[0]}"
