"""Tables of bnn's README, from the committed metrics of notebook 05."""

from collections.abc import Mapping, Sequence
from typing import Any

from figures.beyond_findings import LABELS, MAIN, cell

NOTEBOOK = "05_beyond_the_paper"
PUBLISHED = {"rmse": "0.16", "miscalibration": "0.09", "elppd": "−114"}  # Table 3, OutD, anchored


def methods_table(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    """Every method on the first training set of each run.

    Args:
        metrics: Words for a run → its metrics.

    Returns:
        Markdown.
    """
    firsts = {words: _rows(content, next(iter(content["rows"]))) for words, content in
              metrics.items()}  # fmt: skip
    heads = [f"{words}: {name}" for words in firsts for name in MAIN.values()]
    lines = _head(["method", *heads])
    paper = [PUBLISHED[n] for n in MAIN] + [""] * (len(heads) - len(MAIN))
    lines.append(_line(["the paper prints", *paper]))
    for method, label in LABELS.items():
        if any(method in rows for rows in firsts.values()):
            cells = [_cell(rows, method, n) for rows in firsts.values() for n in MAIN]
            lines.append(_line([label, *cells]))
    return "\n".join(lines)


def cases_table(content: Mapping[str, Any]) -> str:
    """The main methods on the further training sets of one run.

    Args:
        content: Metrics of the run.

    Returns:
        Markdown.
    """
    cases = {case: _rows(content, case) for case in list(content["rows"])[1:]}
    scores = ("rmse", "elppd")
    sizes = content["n_train"]
    lines = _head(["method", *(f"{sizes[c]} cells: {MAIN[n]}" for c in cases for n in scores)])
    for method, label in LABELS.items():
        if any(method in rows for rows in cases.values()):
            cells = [_cell(rows, method, n) for rows in cases.values() for n in scores]
            lines.append(_line([label, *cells]))
    return "\n".join(lines)


def _rows(content: Mapping[str, Any], case: str) -> dict[str, Any]:
    return content["rows"][case] | content["exact"][case]


def _cell(rows: Mapping[str, Any], method: str, number: str) -> str:
    return cell(rows[method][number], number) if method in rows else ""


def _head(titles: Sequence[str]) -> list[str]:
    return [_line(titles), "|---" * len(titles) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
