"""Tables of bnn's README, from the committed metrics of notebook 05."""

from collections.abc import Mapping, Sequence
from typing import Any

from figures.beyond.findings import MAIN, cell, labelled
from figures.claims import load_published

NOTEBOOK = "05_beyond_the_paper"


def methods_table(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    """Every method on the first training set of each run, beside what the paper prints.

    Args:
        metrics: Words for a run → its metrics; the paper's columns are those of the first.

    Returns:
        Markdown.
    """
    rows = {words: _rows(run, next(iter(run["rows"]))) for words, run in metrics.items()}
    paper = load_published()["table_3"]["rows"]["outd_anchored"]
    printed = [str(paper[n]).replace("-", "−") for n in MAIN]
    printed += [""] * (len(rows) - 1) * len(MAIN)
    return _table(rows, list(MAIN), [["the paper prints", *printed]])


def cases_table(content: Mapping[str, Any]) -> str:
    """The main methods on the further training sets of one run.

    Args:
        content: Metrics of the run.

    Returns:
        Markdown.
    """
    sizes = content["n_train"]
    rows = {f"{sizes[case]} cells": _rows(content, case) for case in list(content["rows"])[1:]}
    return _table(rows, ("rmse", "elppd"), [])


def _rows(content: Mapping[str, Any], case: str) -> dict[str, Any]:
    return labelled(content["rows"][case] | content["exact"][case])


def _table(
    groups: Mapping[str, Mapping[str, Any]], numbers: Sequence[str], lines: Sequence[Sequence[str]]
) -> str:
    """Markdown: a row a method, a group of columns a run or training set, `lines` on top."""
    titles = ["method", *(f"{group}: {MAIN[n]}" for group in groups for n in numbers)]
    methods = dict.fromkeys(label for rows in groups.values() for label in rows)
    found = [
        [label, *(_cell(rows, label, n) for rows in groups.values() for n in numbers)]
        for label in methods
    ]
    cells = [titles, ["---"] * len(titles), *lines, *found]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _cell(rows: Mapping[str, Any], label: str, number: str) -> str:
    return cell(rows[label][number], number) if label in rows else ""
