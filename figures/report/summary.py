"""Generated parts of README and guides, from metrics: python -m figures.report.summary --write."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from figures.beyond.methods import LABELS
from figures.knowledge.findings import in_words
from figures.knowledge.study import MODELS
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import BEYOND, KNOWLEDGE
from figures.report.comparison import Metrics, compare, read
from figures.report.findings import borne_out, findings, load_records
from figures.report.words import ENVIRONMENT

RUNS = {"full": "our tables", "full-authors": "published tables"}  # folder → computed from
PAGES = {
    "readme.md": ROOT / "README.md",
    "which_estimator.md": ROOT / "docs" / "which_estimator.md",
    "next_cell.md": ROOT / "docs" / "next_cell.md",
}  # template → page that has its blocks


def committed() -> dict[str, dict[str, Metrics]]:
    """The committed runs, by folder and notebook."""
    return {name: read(sorted((ROOT / "figures" / name).glob("*.json"))) for name in RUNS}


def by_label(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Scores by label of the method, which says so when it has fewer seeds than another."""
    seeds = {
        name: len(row["rmse"]["values"])
        for name, row in rows.items()
        if isinstance(row["rmse"], dict)
    }
    most = max(seeds.values())
    fewer = {name: f" ({n} of {most} seeds)" for name, n in seeds.items() if n < most}
    return {LABELS[name] + fewer.get(name, ""): row for name, row in rows.items()}


def context(runs: Mapping[str, Mapping[str, Metrics]]) -> dict[str, Any]:
    """What the templates of README and guides are filled with."""
    ours, theirs = ({e.item.place: e for e in compare(runs[name])} for name in RUNS)
    scores = {}
    for name in RUNS:
        beyond = runs[name][BEYOND].model_extra or {}
        cases = beyond["rows"].items()
        scores[name] = {case: by_label(rows | beyond["exact"][case]) for case, rows in cases}
    known = (runs["full"][KNOWLEDGE].model_extra or {})["rows"]
    return {
        "runs": runs,
        "ours": ours,
        "theirs": theirs,
        "found": findings({words: runs[name] for name, words in RUNS.items()}),
        "records": load_records(),
        "paragraphs": borne_out(runs["full"], RUNS["full"], load_records().paragraphs),
        "scores": scores,
        "known": {
            in_words(case): {MODELS[name].label: row for name, row in rows.items()}
            for case, rows in known.items()
        },
        "markdown": markdown,
    }


def blocks(runs: Mapping[str, Mapping[str, Metrics]]) -> dict[Path, dict[str, str]]:
    """Page → name of each generated block in it → its text, from the metrics of the runs."""
    given = context(runs)
    found = {}
    for name, path in PAGES.items():
        module = ENVIRONMENT.get_template(name).make_module(given)
        texts = {block: text for block, text in vars(module).items() if not block.startswith("_")}
        found[path] = {
            block: text.strip() for block, text in texts.items() if isinstance(text, str)
        }
    return found


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = []
    for row in [header, *rows]:
        cells = (f" {cell} " if cell else " " for cell in row)
        lines.append("|".join(["", *cells, ""]))
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def with_blocks(text: str, current: Mapping[str, str]) -> str:
    """A text with every block between its comments replaced by the current one."""
    for name, block in current.items():
        start = f"<!-- {name} -->\n"
        end = f"<!-- end {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}{block}\n{end}{after}"
    return text


def main(write: bool = False) -> None:
    """Check the generated parts of the pages, or bring them up to date."""
    try:
        current = blocks(committed())
    except ValueError as error:
        sys.exit(f"error: {error}")
    for path, parts in current.items():
        text = path.read_text(encoding="utf-8")
        if write:
            path.write_text(with_blocks(text, parts), encoding="utf-8")
        elif with_blocks(text, parts) != text:
            remedy = "python -m figures.report.summary --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
