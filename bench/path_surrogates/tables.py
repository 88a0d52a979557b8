"""The tables of docs/paths.md, in Markdown."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.path_surrogates.data import REFERENCES
from bench.path_surrogates.picture import picture
from bench.path_surrogates.study import REFERENCE, Row
from bench.path_surrogates.summary import LABELS, MEAN_FIELDS, OURS, RIVALS, TITLES, Mean, Summary
from fe_data.files.writing import write_atomic
from figures.markdown import markdown, with_blocks
from figures.style import save

NAMED = "recurrent networks"  # the rival, trained for the better of two times
COMPARED = 100  # paths at which errors are compared
QUARTER = 0.25  # goal: error over that of the rival at this number of paths
TEN_TIMES = ((5, 50), (50, 500))  # goal: our paths, paths of the rival


def publish(rows: Sequence[Row], page: Path) -> None:
    """Write the tables into the page, and the picture beside it."""
    summary = Summary(rows)
    if not summary.cases():
        return
    text = page.read_text(encoding="utf-8")
    write_atomic(page, with_blocks(text, blocks(summary)).encode(), None)
    save(picture(summary), page.with_name("paths.png"))


def blocks(summary: Summary) -> dict[str, str]:
    """The tables by the names of their places."""
    return {
        "paths-goals": goals(summary),
        "paths-errors": table(summary, "nmse", 1e3) + "\n" + _of_reference(summary),
        "paths-coverage": table(summary, "coverage"),
        "paths-elppd": table(summary, "elppd"),
        "paths-cells": table(summary, "cells"),
        "paths-share": shares(summary),
        "paths-seconds": seconds(summary),
    }


def table(summary: Summary, score: str, factor: float = 1.0) -> str:
    """A row for each estimator and number of training paths, a column for each set."""
    body = []
    for name, n in summary.cases():
        means = [summary.mean(problem, name, n, score) for problem in REFERENCES]
        if any(means):
            paths = str(n) if n else "–"
            body.append([LABELS[name], paths, *(shown(each, factor) for each in means)])
    return markdown(["estimator", "paths", *TITLES.values()], body)


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
    body[0] += [_quarter(summary, problem) for problem in REFERENCES]
    for few, many in TEN_TIMES:
        words = f"error with {few} paths over that of {NAMED} with {many}: at most 1"
        body.append(
            [words, *(_verdict(summary, problem, few, many, 1.0) for problem in REFERENCES)]
        )
    body.append(["coverage 0.90 to 0.98 with every number of paths"])
    body[-1] += [_covered(summary, problem) for problem in REFERENCES]
    return markdown(header, body)


def shares(summary: Summary) -> str:
    """What mean fields remove of the error of no stress at all, and learning of theirs."""
    body = []
    for problem in REFERENCES:
        nothing = summary.mean(problem, REFERENCE, 0, "of_nothing")
        alone = summary.mean(problem, MEAN_FIELDS, 0, "nmse")
        ours = summary.mean(problem, OURS, COMPARED, "nmse")
        body.append(
            [
                TITLES[problem],
                _removed(nothing, alone),
                _removed(alone, ours),
                _enough(summary, problem, alone),
            ]
        )
    columns = ["mean fields remove", f"learning {COMPARED} paths removes of the rest"]
    columns += [f"paths with which {NAMED} err less than mean fields"]
    return markdown(["set", *columns], body)


def seconds(summary: Summary) -> str:
    """Processor time of a fit, and of a prediction of the fifteen cells of a set."""
    body = []
    for name, n in summary.cases():
        if n in (5, COMPARED, 500):
            fit = summary.mean(REFERENCES[0], name, n, "fit")
            predict = summary.mean(REFERENCES[0], name, n, "predict")
            if fit and predict:
                body.append([LABELS[name], str(n), f"{fit.mean:.0f}", f"{predict.mean:.2f}"])
    return markdown(["estimator", "paths", "fit [s]", "prediction [s]"], body)


def _of_reference(summary: Summary) -> str:
    """The row that says how exact the sets themselves are."""
    means = [summary.mean(problem, REFERENCE, 0, "nmse") for problem in REFERENCES]
    cells = ["error of the reference means", "–", *(shown(each, 1e3) for each in means)]
    return "| " + " | ".join(cells) + " |"


def _removed(before: Mean | None, after: Mean | None) -> str:
    """The share of an error that is gone."""
    return f"{1.0 - after.mean / before.mean:.1%}".replace("%", " %") if before and after else "–"


def _enough(summary: Summary, problem: str, most: Mean | None) -> str:
    """The smallest number of paths with which the rival has a smaller error."""
    sizes = sorted({n for name in RIVALS for n in summary.sizes(name)})
    errors = {n: summary.rival(problem, n) for n in sizes}
    enough = [n for n, each in errors.items() if each and most and each.mean < most.mean]
    return str(min(enough)) if enough else f"more than {max(sizes)}" if sizes else "–"


def _quarter(summary: Summary, problem: str) -> str:
    return _verdict(summary, problem, COMPARED, COMPARED, QUARTER)


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
