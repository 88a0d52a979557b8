"""Tables of notebook 05 and of bnn's README: a row per method, a column per number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from figures.beyond.methods import LABELS
from figures.beyond.priors import Relevance
from figures.beyond.scores import SCORES
from figures.claims import load_published
from figures.scores import Spread, read_intervals

Row = Mapping[str, Spread] | Mapping[str, float]  # numbers of a method; floats in closed form
COMPARED = ("rmse", "miscalibration", "elppd")  # the scores of the paper
HEADINGS = {  # number → heading of its column and decimals
    "rmse": ("RMSE", 3),
    "miscalibration": ("miscalibration", 3),
    "elppd": ("ELPPD", 0),
    "crps": ("CRPS", 3),
    "coverage": ("coverage (95 %)", 2),
    "penalty": ("low-rank penalty", 2),
    "gradient_in_span": ("gradient in span(V)", 3),
    "dimension": ("(K−1)/d", 3),
    "mean": ("|mean − exact|", 3),
    "std": ("|std / exact − 1|", 2),
}
CASES = {"outd": "out of distribution", "ind": "in distribution"}


@dataclass(frozen=True)
class Results:
    """What the notebook measured.

    Attributes:
        cases: Training set → method → number → interval; the first has every method.
        exact: Training set → exact posterior → score.
        spans: "K = ..." → number → interval, for the published method with K networks behind it.
        example: "L = ..." → method → distance to the exact posterior.
        relevance: Training set → inputs of each output.
        noise: Kind of Σ_noise → method → number → interval; empty without replicates.
        exact_noise: Training set → kind of Σ_noise → exact posterior → score.
        sizes: "repeats", "n_members", "n_test", and "n_train" by training set.
    """

    cases: Mapping[str, Mapping[str, Mapping[str, Spread]]]
    exact: Mapping[str, Mapping[str, Mapping[str, float]]]
    spans: Mapping[str, Mapping[str, Spread]]
    example: Mapping[str, Mapping[str, Mapping[str, Spread]]]
    relevance: Mapping[str, Sequence[Relevance]]
    noise: Mapping[str, Mapping[str, Mapping[str, Spread]]]
    exact_noise: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
    sizes: Mapping[str, Any]

    @property
    def first(self) -> str:
        """The training set on which every method is trained."""
        return next(iter(self.cases))

    def label(self, case: str) -> str:
        """Words for a training set."""
        words = CASES.get(case.rstrip("0123456789"), case)
        return f"{words}, {self.sizes['n_train'][case]} training cells"


@dataclass(frozen=True)
class Table:
    """A table of the report; every entry is a text."""

    caption: str
    header: list[str]
    rows: list[list[str]]


def written(number: Spread | float, name: str) -> str:
    """A number with its usual decimals: mean ± half width of an interval, or the number alone."""
    if isinstance(number, Spread):
        half = "" if number.half_width is None else f" ± {written(number.half_width, name)}"
        return written(number.mean, name) + half
    return f"{number:.{HEADINGS[name][1]}f}".replace("-", "−")


def labelled(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Rows by label, which says so when a method has fewer seeds than another."""
    counts = {name: _count(row) for name, row in rows.items()}
    most = max(counts.values())
    return {
        LABELS[name]
        + (f" ({counts[name]} of {most} seeds)" if 0 < counts[name] < most else ""): row
        for name, row in rows.items()
    }


def _count(row: Row) -> int:
    """Seeds behind a row; 0 for a closed form."""
    number = next(iter(row.values()))
    return len(number.values) if isinstance(number, Spread) else 0


def _table(caption: str, names: Sequence[str], rows: Mapping[str, Row]) -> Table:
    """Table of labelled rows; a number that a row does not have is left empty."""
    return Table(
        caption,
        ["", *(HEADINGS[name][0] for name in names)],
        [
            [label, *(written(row[name], name) if name in row else "" for name in names)]
            for label, row in rows.items()
        ],
    )


def tables(results: Results) -> list[Table]:
    """Tables of the report."""
    rows = {
        case: labelled({**results.cases[case], **results.exact[case]}) for case in results.cases
    }
    first, *others = results.cases
    return [
        _table(
            f"Every method, {results.label(first)}. Means over {results.sizes['repeats']} "
            "seeds with the half width of their 95 % interval; exact posteriors in closed form. "
            "Gradient in span(V): part of the squared gradient of the data term, before training, "
            "along the directions that the low-rank regulariser sees.",
            [*SCORES, "penalty", "gradient_in_span"],
            rows[first],
        ),
        _table(
            "Low-rank regulariser with more pre-trained networks behind it, all of one start.",
            [*COMPARED, "penalty", "gradient_in_span", "dimension"],
            results.spans,
        ),
        *(_table(f"The main methods, {results.label(c)}.", SCORES, rows[c]) for c in others),
        *(
            _table(
                f"Distance to the exact posterior of the one-dimensional example, {case}, averaged "
                "over [−1, 1].",
                ["mean", "std"],
                labelled(methods),
            )
            for case, methods in results.example.items()
        ),
        *(_relevance(results.label(c), outputs) for c, outputs in results.relevance.items()),
        *(_noise_tables(results) if results.noise else []),
    ]


def _relevance(label: str, outputs: Sequence[Relevance]) -> Table:
    """Inputs of each output in the paper and by the evidence."""
    return Table(
        f"Inputs that matter, {label}: by the evidence those of the mean (vf) and those whose "
        "length scale is below 10 (scaled units, in which the range of an input is 2).",
        ["output", "paper", "by evidence", "length scales"],
        [
            [
                each.output,
                ", ".join(each.paper),
                ", ".join(each.chosen),
                ", ".join(f"{scale:.1f}" for scale in each.lengthscales),
            ]
            for each in outputs
        ],
    )


def _noise_tables(results: Results) -> list[Table]:
    ensembles = {
        f"{LABELS[method]}; Σ_noise {kind}": table[method]
        for method in next(iter(results.noise.values()))
        for kind, table in results.noise.items()
    }
    exact = {
        f"{results.label(case)}; Σ_noise {kind}": table["exact_evidence"]
        for case, kinds in results.exact_noise.items()
        for kind, table in kinds.items()
    }
    caption = "What Σ_noise does, each ELPPD being that of the method's own predictive density:"
    return [
        _table(f"{caption} ensembles, {results.label(results.first)}.", SCORES, ensembles),
        _table(f"{caption} {LABELS['exact_evidence']}.", SCORES, exact),
    ]


def methods_table(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    """Every method on the first training set of each run, beside what the paper prints.

    Args:
        metrics: Words for a run → its metrics file; the paper's columns are those of the first.

    Returns:
        Markdown.
    """
    rows = {words: _rows_of(run, next(iter(run["rows"]))) for words, run in metrics.items()}
    paper = load_published()["table_3"]["rows"]["outd_anchored"]
    printed = [str(paper[name]).replace("-", "−") for name in COMPARED]
    empty = [""] * (len(rows) - 1) * len(COMPARED)
    return _markdown(rows, COMPARED, [["the paper prints", *printed, *empty]])


def cases_table(content: Mapping[str, Any]) -> str:
    """The main methods on the further training sets of a metrics file, as Markdown."""
    further = list(content["rows"])[1:]
    rows = {f"{content['n_train'][case]} cells": _rows_of(content, case) for case in further}
    return _markdown(rows, ("rmse", "elppd"), [])


def _rows_of(content: Mapping[str, Any], case: str) -> dict[str, Row]:
    return labelled(read_intervals(content["rows"][case] | content["exact"][case]))


def _markdown(
    groups: Mapping[str, Mapping[str, Row]], names: Sequence[str], top: Sequence[Sequence[str]]
) -> str:
    """A row per method, a group of columns per run or training set, and rows on top."""
    titles = ["method", *(f"{group}: {HEADINGS[name][0]}" for group in groups for name in names)]
    labels = dict.fromkeys(label for rows in groups.values() for label in rows)
    body = [
        [
            label,
            *(
                written(rows[label][name], name) if label in rows else ""
                for rows in groups.values()
                for name in names
            ),
        ]
        for label in labels
    ]
    lines = [titles, ["---"] * len(titles), *top, *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
