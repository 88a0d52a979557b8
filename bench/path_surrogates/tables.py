"""The tables of docs/paths.md in Markdown, and every score as CSV."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.path_surrogates.data import REFERENCES
from bench.path_surrogates.picture import picture
from bench.path_surrogates.study import REFERENCE
from bench.path_surrogates.summary import LABELS, OURS, TITLES, Mean, Summary
from bench.results import Result
from fe_data.files.writing import write_atomic
from figures.markdown import comma_separated, markdown, with_blocks
from figures.style import save

NAMED = "recurrent networks"  # the rival, trained for the better of two times
SHOWN = (0, 5, 100, 500)  # numbers of training paths in the page
FILE = "tables/paths.csv"  # beside the page
SCORES = ("nmse", "coverage", "elppd", "cells", "fit", "predict")
COMPARED = 100  # paths at which errors are compared
QUARTER = 0.25  # goal: error over that of the rival at this number of paths
TEN_TIMES = ((5, 50), (50, 500))  # goal: our paths, paths of the rival


def publish(rows: Sequence[Result], page: Path) -> None:
    """Write the tables into the page, and the picture beside it."""
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
    """The tables by the names of their places."""
    return {
        "paths-goals": goals(summary),
        "paths-errors": errors(summary),
    }


def errors(summary: Summary) -> str:
    """Mean square errors in thousandths: a row for each estimator and some numbers of paths."""
    body = []
    for name, n in summary.cases():
        means = [summary.mean(problem, name, n, "nmse") for problem in REFERENCES]
        if name != REFERENCE and n in SHOWN and any(means):
            paths = str(n) if n else "–"
            body.append([LABELS[name], paths, *(shown(each, 1e3) for each in means)])
    means = [summary.mean(problem, REFERENCE, 0, "nmse") for problem in REFERENCES]
    body.append(["error of the reference means", "–", *(shown(each, 1e3) for each in means)])
    return markdown(["estimator", "paths", *TITLES.values()], body)


def all_scores(summary: Summary) -> str:
    """A row for each estimator, number of training paths and set, as CSV."""
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
    columns = [each for score in SCORES for each in (score, f"{score}_2se")]
    return comma_separated(["estimator", "paths", "set", "draws", *columns], rows)


def _numbers(found: Mean | None) -> list[str]:
    """A mean and two standard errors, empty where there are none."""
    numbers = found or (np.nan, np.nan)
    return [f"{number:.5g}" if np.isfinite(number) else "" for number in numbers]


def shown(found: Mean | None, factor: float = 1.0) -> str:
    """A mean with two standard errors, to three digits."""
    if found is None:
        return "–"
    value = factor * found.mean
    size = np.floor(np.log10(abs(value))) if value else 0
    decimals = int(np.clip(2 - size, 0, 4))
    text = f"{value:.{decimals}f}".replace("-", "−")
    if np.isnan(found.error):
        return text
    return f"{text} ± {factor * found.error:.{decimals}f}"


def goals(summary: Summary) -> str:
    """The goals, and what came of each on each set."""
    header = ["goal", *TITLES.values()]
    body = [[f"error with {COMPARED} paths over that of {NAMED}: at most ¼"]]
    body[0] += [_verdict(summary, each, COMPARED, COMPARED, QUARTER) for each in REFERENCES]
    for few, many in TEN_TIMES:
        words = f"error with {few} paths over that of {NAMED} with {many}: at most 1"
        body.append(
            [words, *(_verdict(summary, problem, few, many, 1.0) for problem in REFERENCES)]
        )
    body.append(["coverage 0.90 to 0.98 with every number of paths"])
    body[-1] += [_covered(summary, problem) for problem in REFERENCES]
    return markdown(header, body)


def _verdict(summary: Summary, problem: str, n: int, of_rival: int, most: float) -> str:
    """The ratio of the errors, and whether it is small enough."""
    ours = summary.mean(problem, OURS, n, "nmse")
    rival = summary.rival(problem, of_rival)
    if not ours or not rival:
        return "–"
    ratio = ours.mean / rival.mean
    return f"{ratio:.2g}, {'met' if ratio <= most else '**not met**'}"


def _covered(summary: Summary, problem: str) -> str:
    """Whether the coverage is within the goal, and where it is not."""
    outside = summary.outside(problem, OURS)
    if not outside:
        return "met"
    sizes = ", ".join(str(n) for n, _ in outside)
    covered = sorted({f"{number:.3f}" for _, number in outside})
    return f"**not met** with {sizes} paths: {' to '.join([covered[0], *covered[1:][-1:]])}"
