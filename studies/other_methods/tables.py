"""Tables of notebook 05: one row per method, one column per score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from figures.claims import Table
from figures.composite.scores import SCORES, Distance, MethodScores, WeightSpaceScores
from figures.scores import Interval, written
from studies.other_methods.methods import LABELS
from studies.other_methods.priors import Relevance

COMPARED = ("rmse", "miscalibration", "elppd")  # the scores of the paper
HEADINGS = {  # number → heading of its column and decimals
    "rmse": ("RMSE", 3),
    "miscalibration": ("miscalibration", 3),
    "elppd": ("ELPPD", 0),
    "crps": ("CRPS", 3),
    "coverage": ("coverage (95 %)", 2),
    "reference_rmse_fields": ("RMSE against the reference data", 3),
    "penalty": ("low-rank penalty", 2),
    "gradient_in_span": ("gradient in span(V)", 3),
    "dimension": ("(K−1)/d", 3),
    "mean": ("|mean − exact|", 3),
}
NOISES = {  # kind of Σ_noise → words
    "paper": "from the paper",
    "replicates_diagonal": "from replicates, diagonal",
    "replicates": "from replicates",
}
CASES = {"outd": "out of distribution", "ind": "in distribution"}
Measured = TypeVar("Measured")  # numbers of a method: scores or distances


@dataclass(frozen=True)
class Results:
    """Results of the notebook by training set; the first set has every method."""

    cases: Mapping[str, Mapping[str, MethodScores[Interval]]]  # by method
    exact: Mapping[
        str, Mapping[str, MethodScores[float]]
    ]  # of the exact posteriors, in closed form
    spans: Mapping[str, WeightSpaceScores[Interval]]  # pre-trained networks → the published method
    example: Mapping[str, Mapping[str, Distance[Interval]]]  # "L = ..." → method
    relevance: Mapping[str, Sequence[Relevance]]  # inputs of each output
    # Kind of Σ_noise → method, and training set → kind of Σ_noise → exact posterior.
    noise: Mapping[str, Mapping[str, MethodScores[Interval]]]  # empty without replicates
    exact_noise: Mapping[str, Mapping[str, Mapping[str, MethodScores[float]]]]
    repeats: int
    n_members: int
    n_test: int
    n_train: Mapping[str, int]

    @property
    def first(self) -> str:
        """Training set on which every method is trained."""
        return next(iter(self.cases))

    @property
    def published(self) -> WeightSpaceScores[Interval]:
        """Scores of the published method on the first training set."""
        row = self.cases[self.first]["low_rank"]
        assert isinstance(row, WeightSpaceScores)
        return row

    def label(self, case: str) -> str:
        """Return words for a training set."""
        words = CASES.get(case.rstrip("0123456789"), case)
        return f"{words}, {self.n_train[case]} training RVEs"


def _shown(row: object, name: str) -> str:
    """Format a number of a row as mean ± half-width; empty if the row has none."""
    number = getattr(row, name, None)
    return "" if number is None else written(number, HEADINGS[name][1])


def labelled(rows: Mapping[str, Measured]) -> dict[str, Measured]:
    """Return rows by label of the method; the label notes if a method has fewer seeds."""
    first = {name: next(iter(vars(row).values())) for name, row in rows.items()}
    seeds = {name: len(n.values) for name, n in first.items() if isinstance(n, Interval)}
    most = max(seeds.values(), default=0)
    fewer = {name: f" ({n} of {most} seeds)" for name, n in seeds.items() if n < most}
    return {LABELS[name] + fewer.get(name, ""): row for name, row in rows.items()}


def _table(caption: str, names: Sequence[str], rows: Mapping[str, Any]) -> Table:
    header = ["", *(HEADINGS[name][0] for name in names)]
    cells = [[label, *(_shown(row, name) for name in names)] for label, row in rows.items()]
    return Table(caption, header, cells)


def tables(results: Results) -> list[Table]:
    """Return the tables of the report."""
    rows = {case: labelled({**row, **results.exact[case]}) for case, row in results.cases.items()}
    first, *others = results.cases
    seen = ("penalty", "gradient_in_span")
    every = (
        f"All methods, {results.label(first)}: means over {results.repeats} "
        "seeds with 95 % confidence half-widths; exact posteriors in closed form. "
        "Gradient in span(V): share of the squared gradient of the data term, before training, "
        "in the directions on which the low-rank regulariser acts."
    )
    spans = {f"K = {count}": row for count, row in results.spans.items()}
    more = "Low-rank regulariser from K pre-trained networks, with the same initial weights."
    example = "Distance to the exact posterior of the one-dimensional example, {}, averaged over "
    return [
        _table(every, (*SCORES, *seen), rows[first]),
        _table(more, (*COMPARED, *seen, "dimension"), spans),
        *(_table(f"The main methods, {results.label(c)}.", SCORES, rows[c]) for c in others),
        *(
            _table(example.format(case) + "[−1, 1].", ("mean",), labelled(distances))
            for case, distances in results.example.items()
        ),
        *(
            _relevance(results.label(case), relevance)
            for case, relevance in results.relevance.items()
        ),
        *(_noise_tables(results) if results.noise else []),
    ]


def _relevance(label: str, outputs: Sequence[Relevance]) -> Table:
    """Return the table of inputs of each output, in the paper and from the evidence."""
    return Table(
        f"Inputs that matter, {label}. From the evidence: inputs of the prior mean (vf) and "
        "inputs with a length scale below 10 (each scaled input has the range 2).",
        ["output", "paper", "from the evidence", "length scales"],
        [
            [
                relevance.output,
                *map(", ".join, (relevance.paper, relevance.chosen)),
                ", ".join(f"{scale:.1f}" for scale in relevance.lengthscales),
            ]
            for relevance in outputs
        ],
    )


def _noise_tables(results: Results) -> list[Table]:
    ensembles = {
        f"{LABELS[method]}; Σ_noise {NOISES[kind]}": rows[method]
        for method in next(iter(results.noise.values()))
        for kind, rows in results.noise.items()
    }
    exact = {
        f"{results.label(case)}; Σ_noise {NOISES[kind]}": rows["exact_evidence"]
        for case, kinds in results.exact_noise.items()
        for kind, rows in kinds.items()
    }
    caption = "Effect of Σ_noise; each ELPPD is of the method's own predictive density:"
    return [
        _table(f"{caption} ensembles, {results.label(results.first)}.", SCORES, ensembles),
        _table(f"{caption} {LABELS['exact_evidence']}.", SCORES, exact),
    ]
