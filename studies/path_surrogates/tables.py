"""The tables of docs/paths.md in Markdown, and every score as CSV."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from figures.markdown import comma_separated, markdown, with_blocks
from figures.style import save
from safe_files.writing import write_atomic
from studies.path_surrogates.data import REFERENCES
from studies.path_surrogates.picture import picture
from studies.path_surrogates.study import REFERENCE
from studies.path_surrogates.summary import LABELS, TITLES, Mean, Summary
from studies.results import Result

SHOWN = (0, 100)  # numbers of training paths in the page, without and with training
ONLY_IN_FILE = (REFERENCE, "gru", "prn")  # the page has "gru_long" and "prn_chosen"
FILE = "tables/paths.csv"  # relative to the folder of the page
SCORES = ("nmse", "coverage", "elppd", "cells", "fit", "predict")


def publish(rows: Sequence[Result], page: Path) -> None:
    """Write the tables into the page, and the figure next to it."""
    summary = Summary(rows)
    if not summary.cases():
        return
    text = page.read_text(encoding="utf-8")
    write_atomic(page, with_blocks(text, blocks(summary)).encode(), None)
    save(picture(summary), page.with_name("paths.png"))
    path = page.parent / FILE
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, all_scores(summary).encode(), None)


def blocks(summary: Summary) -> dict[str, str]:
    """Return the tables by the names of their places in the page."""
    return {"paths-errors": errors(summary)}


def errors(summary: Summary) -> str:
    """Return the table of mean square errors in thousandths, by estimator."""
    body = []
    for name, n in summary.cases():
        means = [summary.mean(problem, name, n, "nmse") for problem in REFERENCES]
        if name not in ONLY_IN_FILE and n in SHOWN and any(means):
            body.append([LABELS[name], *(shown(mean, 1e3) for mean in means)])
    means = [summary.mean(problem, REFERENCE, 0, "nmse") for problem in REFERENCES]
    body.append(["error of the reference means", *(shown(mean, 1e3) for mean in means)])
    return markdown(["estimator", *TITLES.values()], body)


def all_scores(summary: Summary) -> str:
    """Return all scores as CSV, with one row per estimator, number of paths and set."""
    rows = []
    for name, n in summary.cases():
        for problem in REFERENCES:
            means = {score: summary.mean(problem, name, n, score) for score in SCORES}
            if any(means.values()):
                draws = len(summary.values(problem, name, n, "nmse"))
                numbers = [text for mean in means.values() for text in _numbers(mean)]
                rows.append(
                    [LABELS[name].strip("`"), str(n), TITLES[problem], str(draws), *numbers]
                )
    columns = [column for score in SCORES for column in (score, f"{score}_half_width")]
    return comma_separated(["estimator", "paths", "set", "draws", *columns], rows)


def _numbers(mean: Mean | None) -> list[str]:
    """Format a mean and its 95 % half-width; missing numbers become empty texts."""
    numbers = mean or (np.nan, np.nan)
    return [f"{number:.5g}" if np.isfinite(number) else "" for number in numbers]


def shown(mean: Mean | None, factor: float = 1.0) -> str:
    """Format a mean to three digits, with its 95 % half-width."""
    if mean is None:
        return "–"
    value = factor * mean.mean
    size = np.floor(np.log10(abs(value))) if value else 0
    decimals = int(np.clip(2 - size, 0, 4))
    text = f"{value:.{decimals}f}".replace("-", "−")
    if np.isnan(mean.half_width):
        return text
    return f"{text} ± {factor * mean.half_width:.{decimals}f}"
