"""Generated tables of the READMEs, from metrics: python -m figures.report.summary --write."""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat

from figures.beyond.tables import cases_table, methods_table
from figures.claims import FAILED, REPRODUCED, Check, Item
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import BEYOND
from figures.report.comparison import compare
from figures.report.page import COLUMNS, with_digits_of

README = ROOT / "README.md"
BNN_README = ROOT / "bnn" / "README.md"
RUNS = {"full": "our tables", "full-authors": "published tables"}  # folder → computed from


def load_run(name: str) -> dict[str, dict[str, Any]]:
    """Metrics files of a run, by notebook."""
    paths = sorted((ROOT / "figures" / name).glob("*.json"))
    return {path.stem: json.loads(path.read_text()) for path in paths}


def heading(item: Item) -> str:
    """The heading in a notebook that announces a figure or table; empty when there is none."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{item.notebook}.ipynb", as_version=4)
    kind, number = item.place.replace(".", "").split()
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    # The place stands alone or as in (Figs. 2 and 3), (Tables 3 and 4).
    found = re.search(
        rf"^## (.*\({kind}s?\.? (?:[^)]*\D)?{number}\b[^)]*\).*)$", text, re.MULTILINE
    )
    return found[1] if found else ""


def files_of(item: Item) -> list[str]:
    """What a figure or table is written to, in the folder of a run."""
    return list(item.pictures) or [f"{item.notebook}.json"]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in [header, *rows]]
    lines.insert(1, "|---" * len(header) + "|")
    return "\n".join(lines).replace("|  |", "| |")


def map_table(items: Sequence[Item]) -> str:
    """Figure → notebook cell → file."""
    header = ["", "notebook", "cell", "file in `figures/full`", "verdict"]
    rows = []
    for item in items:
        files = ", ".join(f"`{name}`" for name in files_of(item))
        verdict = ", ".join(filter(None, [item.verdict, item.count]))
        rows.append([item.place, item.notebook[:2], heading(item), files, verdict])
    return markdown(header, rows)


def runtime_table(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    """Notebook → command → runtime."""
    command = "`PROFILE=full $(make -s python) -m doit notebook:full:{}`"
    times = {name: content["provenance"]["wall_time_s"] for name, content in metrics.items()}
    rows = [[name, command.format(name), f"{time:.0f}"] for name, time in times.items()]
    return markdown(["notebook", "command", "wall time [s]"], rows)


def score_table(runs: Mapping[str, Sequence[Item]]) -> str:
    """Table 3 of the paper against ours, a column for each run."""
    tables = [next(item for item in items if item.place == "Table 3") for items in runs.values()]
    ours, *others = ({(c.row, c.column): c for c in table.checks} for table in tables)
    rows = [
        [row, COLUMNS[column], with_digits_of(check.published, check.published), _cell(check)]
        + [_cell(other.get((row, column))) for other in others]
        for (row, column), check in ours.items()
    ]
    return markdown(["", "score", "paper", *(RUNS[name] for name in runs)], rows)


def _cell(check: Check | None) -> str:
    if check is None:
        return "–"
    numbers = [check.ours] if check.deviation is None else [check.ours, check.deviation]
    text = " ± ".join(with_digits_of(number, check.published, 1) for number in numbers)
    mark = {REPRODUCED: " ✓", FAILED: " ✗"}
    return text + mark.get(check.verdict, "")


def blocks(runs: Mapping[str, Mapping[str, Any]]) -> dict[Path, dict[str, str]]:
    """README → name of each generated block in it → its text, from the metrics of the runs."""
    items = {name: compare(metrics) for name, metrics in runs.items()}
    beyond = {words: runs[name][BEYOND] for name, words in reversed(RUNS.items())}
    return {
        README: {
            "scores": score_table(items),
            "map": map_table(items["full"]),
            "runtime": runtime_table(runs["full"]),
        },
        BNN_README: {"methods": methods_table(beyond), "cases": cases_table(runs["full"][BEYOND])},
    }


def filled(text: str, current: Mapping[str, str]) -> str:
    """A text with every block between its comments replaced by the current one."""
    for name, block in current.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}{block}\n{end}{after}"
    return text


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 1 when a README is out of date and is not to be written."""
    parser = argparse.ArgumentParser(prog="python -m figures.report.summary")
    parser.add_argument("--write", action="store_true", help="bring the READMEs up to date")
    options = parser.parse_args(arguments)
    status = 0
    for path, current in blocks({name: load_run(name) for name in RUNS}).items():
        text = path.read_text()
        if options.write:
            path.write_text(filled(text, current))
        elif filled(text, current) != text:
            remedy = "python -m figures.report.summary --write"
            print(f"error: {path.relative_to(ROOT)} is out of date: {remedy}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
