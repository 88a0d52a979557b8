"""Tables of notebook 05 and of bnn's README: a row per method, a column per number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from figures.beyond.methods import LABELS
from figures.beyond.priors import Relevance
from figures.beyond.scores import SCORES
from figures.claims import load_published
from figures.scores import Interval, read_intervals

Row = Mapping[str, Interval] | Mapping[str, float]  # numbers of a method; floats in closed form
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
    """What the notebook measured, by training set; the first of them has every method."""

    cases: Mapping[str, Mapping[str, Mapping[str, Interval]]]  # method → number → interval
    exact: Mapping[str, Mapping[str, Mapping[str, float]]]  # exact posterior → score
    spans: Mapping[str, Mapping[str, Interval]]  # "K = ..." → numbers of the published method
    example: Mapping[str, Mapping[str, Mapping[str, Interval]]]  # "L = ..." → method → distances
    relevance: Mapping[str, Sequence[Relevance]]  # inputs of each output
    # Kind of Σ_noise → method → number, and training set → kind of Σ_noise → exact posterior.
    noise: Mapping[str, Mapping[str, Mapping[str, Interval]]]  # empty without replicates
    exact_noise: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
    sizes: Mapping[str, Any]  # "repeats", "n_members", "n_test", and "n_train" by training set

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


def written(number: Interval | float, name: str) -> str:
    """A number with its usual decimals: mean ± half width of an interval, or the number alone."""
    if isinstance(number, Interval):
        parts = number.mean, number.half_width
        return " ± ".join(written(part, name) for part in parts if part is not None)
    return f"{number:.{HEADINGS[name][1]}f}".replace("-", "−")


def labelled(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Rows by label, which says so when a method has fewer seeds than another."""
    first = {name: next(iter(row.values())) for name, row in rows.items()}
    counts = {name: len(n.values) for name, n in first.items() if isinstance(n, Interval)}
    most = max(counts.values(), default=0)

    def label(name: str) -> str:
        count = counts.get(name, most)  # a closed form needs no seeds
        return LABELS[name] + (f" ({count} of {most} seeds)" if count < most else "")

    return {label(name): row for name, row in rows.items()}


def _table(caption: str, names: Sequence[str], rows: Mapping[str, Row]) -> Table:
    """Table of labelled rows; a number that a row does not have is left empty."""
    header = ["", *(HEADINGS[name][0] for name in names)]
    return Table(caption, header, [[label, *_cells(row, names)] for label, row in rows.items()])


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    return [written(row[name], name) if name in row else "" for name in names]


def tables(results: Results) -> list[Table]:
    """Tables of the report."""
    rows = {case: labelled({**row, **results.exact[case]}) for case, row in results.cases.items()}
    first, *others = results.cases
    seen = ("penalty", "gradient_in_span")
    scored = [
        (
            f"Every method, {results.label(first)}. Means over {results.sizes['repeats']} "
            "seeds with the half width of their 95 % interval; exact posteriors in closed form. "
            "Gradient in span(V): part of the squared gradient of the data term, before training, "
            "along the directions that the low-rank regulariser sees.",
            (*SCORES, *seen),
            rows[first],
        ),
        (
            "Low-rank regulariser with more pre-trained networks behind it, all of one start.",
            (*COMPARED, *seen, "dimension"),
            results.spans,
        ),
        *((f"The main methods, {results.label(case)}.", SCORES, rows[case]) for case in others),
    ]
    words = "Distance to the exact posterior of the one-dimensional example"
    for case, methods in results.example.items():
        caption = f"{words}, {case}, averaged over [−1, 1]."
        scored.append((caption, ("mean", "std"), labelled(methods)))
    found = [_table(*each) for each in scored]
    found += [_relevance(results.label(case), each) for case, each in results.relevance.items()]
    return found + (_noise_tables(results) if results.noise else [])


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
    """Every method on the first training set of each run (its name → metrics), as Markdown."""
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
    body = [
        [label, *chain(*(_cells(rows.get(label, {}), names) for rows in groups.values()))]
        for label in dict.fromkeys(chain(*groups.values()))
    ]
    lines = [titles, ["---"] * len(titles), *top, *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
