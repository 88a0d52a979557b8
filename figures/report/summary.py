"""Generated parts of README and guides, from metrics: python -m figures.report.summary --write."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from fe_data.files.writing import write_atomic
from figures.beyond.methods import LABELS
from figures.claims import Table, load_published
from figures.knowledge.findings import in_words
from figures.knowledge.study import MODELS
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import BEYOND, KNOWLEDGE
from figures.report.comparison import REBUILT, Metrics, compare, read
from figures.report.findings import Finding, found_on, load_records
from figures.report.words import ENVIRONMENT
from figures.scores import written

# Folder → what it was computed from.
RUNS = {
    "full": "our tables",
    "full-authors": "published tables",
    REBUILT: "our cells at the published inputs",
}
FOUND_ON = ("full", "full-authors")  # runs that findings are about
PAGES = {
    "readme.md": ROOT / "README.md",
    "reproduction.md": ROOT / "docs" / "reproduction.md",
    "which_estimator.md": ROOT / "docs" / "which_estimator.md",
    "estimator_tables.md": ROOT / "docs" / "estimator_tables.md",
    "next_cell.md": ROOT / "docs" / "next_cell.md",
}  # template → page that has its blocks
SCORES = {"rmse": ("RMSE", 3), "miscalibration": ("miscalibration", 3), "elppd": ("ELPPD", 0)}
RMSE_AND_ELPPD = {name: SCORES[name] for name in ("rmse", "elppd")}
OF_TRUTH = {"truth_rmse_fields": ("RMSE against the truth", 3), "elppd": ("ELPPD", 0)}
OF_INTERVALS = {"truth_coverage": ("coverage of f", 3)}
Runs = Mapping[str, Mapping[str, Metrics]]  # by folder and notebook


def committed() -> dict[str, dict[str, Metrics]]:
    """The committed runs."""
    return {name: read(sorted((ROOT / "figures" / name).glob("*.json"))) for name in RUNS}


def findings(runs: Runs) -> dict[str, Finding]:
    """Findings by id, each with its text on all runs, which must bear it out."""
    found: dict[str, Finding] = {}
    for run in (runs[name] for name in FOUND_ON):
        for name, each in found_on(run).all_met().items():
            before = found.setdefault(name, each)
            if before is not each:  # a text below a title is part of a sentence
                before.text += f"{'; ' if each.title else ' '}{each.text}"
    return {each.id: found[each.id] for each in load_records().findings}


def by_label(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Scores by label of the method, which says so when it has fewer seeds than another."""
    repeated = {name: row["rmse"] for name, row in rows.items() if isinstance(row["rmse"], dict)}
    seeds = {name: len(rmse["values"]) for name, rmse in repeated.items()}
    most = max(seeds.values())
    fewer = {name: f" ({n} of {most} seeds)" for name, n in seeds.items() if n < most}
    return {LABELS[name] + fewer.get(name, ""): row for name, row in rows.items()}


def grouped(
    groups: Mapping[str, Mapping[str, Any]], columns: Mapping[str, tuple[str, int]]
) -> Table:
    """A table with a row for each method and, for each group of scores, these columns."""
    header = ["method"]
    rows: dict[str, list[str]] = {method: [] for group in groups.values() for method in group}
    for name, group in groups.items():
        for score, (heading, decimals) in columns.items():
            header.append(f"{name}: {heading}")
            for method, cells in rows.items():
                number = group.get(method, {}).get(score)
                cells.append("" if number is None else written(number, decimals))
    return Table("", header, [[method, *cells] for method, cells in rows.items()])


def tables(runs: Runs) -> dict[str, Table]:
    """Methods side by side: on both kinds of tables, on training sets, with more knowledge."""
    scores = {}
    for name in FOUND_ON:
        beyond = runs[name][BEYOND].model_extra or {}
        cases = beyond["rows"].items()
        scores[name] = {case: by_label(rows | beyond["exact"][case]) for case, rows in cases}
    both = {words: scores[name]["outd"] for name, words in reversed(RUNS.items()) if name in scores}
    inside = {in_words(case): scores["full"][case] for case in ("ind25", "ind50", "ind100")}
    known = runs["full"][KNOWLEDGE].model_extra or {}
    more = {
        in_words(case): {MODELS[name].label: row for name, row in rows.items()}
        for case, rows in known["rows"].items()
    }
    single = {
        in_words(case): {LABELS[name]: row for name, row in rows.items()}
        for case, rows in known["ensembles"].items()
    }
    judged = {words: rows | single.get(words, {}) for words, rows in more.items()}
    coverage = grouped(judged, OF_INTERVALS)
    coverage.header[1:] = judged
    methods = grouped(both, SCORES)
    printed = load_published()["Table 3"].rows["published.outd_anchored"].printed
    paper = [number.replace("-", "−") for number in printed]
    methods.rows.insert(0, ["the paper prints", *paper, "", "", ""])
    return {
        "methods": methods,
        "cases": grouped(inside, RMSE_AND_ELPPD),
        "knowledge": grouped(more, OF_TRUTH),
        "coverage": coverage,
    }


def blocks(runs: Runs) -> dict[Path, dict[str, str]]:
    """Page → name of each generated block in it → its text, from the metrics of the runs."""
    context = {
        "runs": runs,
        "ours": compare(runs["full"]),
        "theirs": compare(runs["full-authors"]),
        "rebuilt": compare(runs[REBUILT]),
        "found": findings(runs),
        "departures": load_records().differences,
        "tables": tables(runs),
        "markdown": markdown,
    }
    found = {}
    for name, path in PAGES.items():
        module = ENVIRONMENT.get_template(name).make_module(context)
        texts = {block: text for block, text in vars(module).items() if block[0] != "_"}
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
            write_atomic(path, with_blocks(text, parts).encode(), None)
        elif with_blocks(text, parts) != text:
            remedy = "python -m figures.report.summary --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
