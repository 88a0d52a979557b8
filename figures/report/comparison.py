"""Every figure and table of the paper, compared with the metrics files of a run."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from pydantic import BaseModel

from figures.claims import (
    Claim,
    Item,
    PaperRow,
    Table,
    decimals,
    load_published,
    says_something,
    tolerance,
)
from figures.pipeline.paths import (
    REFERENCE,
    ROOT,
    committed_metrics,
    notebook_path,
    repeated_metrics,
    repeats_folder,
    results_folder,
)
from figures.pipeline.profiles import DRAWS, REPEATED, SURROGATE
from figures.pipeline.settings import TRAINING_CASE

REPRODUCED = "reproduced"
UNDECIDED = "undecided"
DIFFERS = "differs"
NOT_COMPARABLE = "not comparable"
PARTLY = "partly"  # of a whole figure or table
NOT_JUDGED = ""  # shown next to the paper's number, but its scatter is unknown
SIGNS = {REPRODUCED: "✓", PARTLY: "~", UNDECIDED: "○", DIFFERS: "✗"}
MANY_DIGITS = 30  # for smaller printed numbers ours are shown with one more decimal
REBUILT = "six-rebuilt"  # folder of the run on our RVEs at the published inputs


class Number(NamedTuple):
    """A number of a metrics file."""

    mean: float
    std: float | None
    n: int  # number of results in the mean


class Metrics(BaseModel, extra="allow"):
    """A metrics file; fields that a notebook does not write are empty."""

    folder: str = ""  # from which it was read
    title: str = ""
    paper_size: bool | None = None  # whether the run has the paper's size; None: not in the paper
    published_tables: list[str] = []  # designs whose tables are those that the authors published
    n: dict[str, int] = {}  # number of RVEs of each design
    n_train: dict[str, int] = {}  # number of RVEs of each training set
    repeats: int | None = None
    figures: dict[str, str] = {}  # picture → caption
    left_out: list[str] = []  # figures of the paper for which the folder has no tables
    claims: list[Claim] = []
    tables: list[Table] = []  # tables that are not in the paper
    provenance: dict[str, Any] = {}

    def at(self, path: str) -> Any:
        """Return the value at a path of names, or None."""
        value: Any = self.model_extra
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def number(self, path: str) -> Number | None:
        """Return the number at a path of names, or None."""
        match self.at(path):
            case {"mean": mean, "std": std, **rest}:
                values = rest.get("values")
                return Number(mean, std, len(values) if isinstance(values, list) else 1)
            case float() | int() as value:
                return Number(value, None, 1)
        return None


@dataclass(frozen=True)
class Check:
    """A number that the paper prints, with ours."""

    published: str  # with all printed digits
    ours: float  # in the same unit
    deviation: float | None  # standard deviation of ours
    decimals: int  # shown decimals of ours; small numbers have one more than the printed one
    verdict: str
    allowed: float | None = None  # tolerance of the difference; None if not judged


def check(
    printed: str,
    ours: Number,
    scatter: float | None,
    comparable: bool,
    at_most: float | None = None,
) -> Check:
    """Judge our number.

    Args:
        printed: Number in the paper, with all its digits.
        ours: Our number.
        scatter: Standard deviation of a single result; None if unknown, which gives no verdict.
        comparable: Whether the run has the size of the paper.
        at_most: Upper limit of the scatter, if `scatter` is only a part of it. A difference between
            the two tolerances is undecided.

    Returns:
        Our number with its verdict.
    """
    places = decimals(printed)
    if abs(float(printed)) < MANY_DIGITS:
        places += 1
    if scatter is None:
        return Check(printed, ours.mean, ours.std, places, NOT_JUDGED)
    allowed = tolerance(printed, scatter, ours.n)
    if not comparable:
        verdict = NOT_COMPARABLE
    elif (difference := abs(ours.mean - float(printed))) > allowed:
        verdict = DIFFERS
        # Here ours counts as a single result.
        if at_most is not None and difference <= tolerance(printed, at_most, n=1):
            verdict = UNDECIDED
    else:
        verdict = REPRODUCED if says_something(printed, allowed) else NOT_COMPARABLE
    return Check(printed, ours.mean, ours.std, places, verdict, allowed)


@dataclass(frozen=True)
class Comparison:
    """A figure or table of the paper with the results of a run."""

    item: Item
    metrics: Metrics  # of the notebook that reproduces it
    # Notebook whose numbers are compared: the one over independent datasets, if it has run.
    judge: str
    judged: Metrics  # metrics of this notebook
    claims: list[Claim]  # claims of this notebook, or of the one above if it has none

    @property
    def pictures(self) -> dict[str, str]:
        """Captions of its pictures by file; for example fig06a_vanilla.svg belongs to Fig. 6."""
        kind, number = self.item.place.split()
        prefix = f"fig{number:0>2}"
        captions = self.metrics.figures
        return {f: text for f, text in captions.items() if kind == "Fig." and f.startswith(prefix)}

    @property
    def source(self) -> str:
        """Notebook whose numbers and claims are judged."""
        place = self.item.place
        of_judge = self.rows or any(claim.about == place for claim in self.judged.claims)
        return self.judge if of_judge else self.item.notebook

    @property
    def files(self) -> list[str]:
        """Its files in the folder of a run."""
        numbers = [f"{self.judge}.json"] if self.item.rows else []
        return [*numbers, *self.pictures]

    def label(self, name: str) -> str:
        """Return the label of a row."""
        return self.item.rows[name].label_for(self.judged.n | self.judged.n_train)

    @cached_property
    def rows(self) -> dict[str, dict[str, Check]]:
        """Its numbers by row and column, for the rows that the run has."""
        if not self.judged.model_fields_set:  # the notebook is not in the run
            return {}
        rows = {name: self._row(name, row) for name, row in self.item.rows.items()}
        return {name: checks for name, checks in rows.items() if checks}

    def _row(self, name: str, row: PaperRow) -> dict[str, Check]:
        """Return the numbers of a row by column.

        The row is empty if the run does not have its training set or design. It is also empty over
        independent datasets if the row is only shown and not judged.

        Raises:
            ValueError: If a number is missing.
        """
        metrics = self.judged
        paths = [self.item.ours.format(row=name, column=column) for column in self.item.columns]
        numbers = [metrics.number(path) for path in paths]
        no_rves = row.case not in {None, TRAINING_CASE, *metrics.n, *metrics.n_train}
        shown_beside = self.judge == DRAWS and row.scatter is None
        if (no_rves or shown_beside) and not any(numbers):
            return {}
        same = row.same_tables is not None and row.tables <= set(metrics.published_tables)
        # At the published inputs, microstructures add an unknown amount to the scatter between
        # seeds. The scatter over datasets, with other inputs, is an upper limit.
        same_inputs = row.same_tables is not None and metrics.folder == REBUILT
        unknown = [None] * len(row.printed)
        scatters = (row.same_tables if same or same_inputs else row.scatter) or unknown
        larger = (row.scatter if same_inputs else None) or unknown
        # Trainings on one dataset count as a single result, unless it is the paper's dataset.
        drawn = self.judge == DRAWS or self.item.over_draws
        one_result = bool(row.tables) and not (same or same_inputs or drawn)
        checks = []
        for path, printed, number, scatter, at_most in zip(
            paths, row.printed, numbers, scatters, larger, strict=True
        ):
            if number is None:
                raise ValueError(f"{self.judge}.json has no number at {path}")
            std = None if number.std is None else number.std / self.item.unit
            ours = Number(number.mean / self.item.unit, std, 1 if one_result else number.n)
            checks.append(check(printed, ours, scatter, bool(metrics.paper_size), at_most))
        return dict(zip(self.item.columns, checks, strict=True))

    def beside(self, judge: "Comparison") -> str:
        """Return the words for the numbers of the judge; empty if these numbers are judged."""
        if judge.judged is self.judged:
            return ""
        several = judge.judged.repeats or judge.judge in REPEATED
        return "repeats" if several else "full run"

    @property
    def claim_verdicts(self) -> dict[bool | None, str]:
        """Verdict on a claim, by whether our numbers support it."""
        if not self.judged.paper_size:
            return dict.fromkeys((True, False, None), NOT_COMPARABLE)
        return {True: REPRODUCED, False: DIFFERS, None: UNDECIDED}

    @property
    def outcomes(self) -> dict[str, bool | None]:
        """Outcomes of judged numbers, by row/column, and of claims, by id; None means undecided."""
        met = {REPRODUCED: True, DIFFERS: False, UNDECIDED: None}
        outcomes = {
            f"{row}/{column}": met[check.verdict]
            for row, checks in self.rows.items()
            for column, check in checks.items()
            if check.verdict in met
        }
        claims = self.claims if self.judged.paper_size else []
        return outcomes | {claim.id: claim.holds for claim in claims}

    @property
    def of_paper(self) -> list[bool | None]:
        """Outcomes of the numbers and claims of the paper, each once, without our own claims."""
        outcomes = self.outcomes
        excluded = {c.id for c in self.claims if not c.of_paper or c.number in outcomes}
        if not self.item.printed_in_paper:
            excluded |= {
                f"{row}/{column}" for row, checks in self.rows.items() for column in checks
            }
        return [met for name, met in outcomes.items() if name not in excluded]

    @property
    def verdict(self) -> str:
        """Verdict on the whole; reproduced if nothing differs and nothing is undecided."""
        outcomes = self.of_paper
        if False in outcomes:
            return PARTLY if True in outcomes else DIFFERS
        if not outcomes:
            return NOT_COMPARABLE
        return UNDECIDED if None in outcomes else REPRODUCED

    @property
    def count(self) -> str:
        """Numbers of comparisons that are reproduced, differ or are undecided, as text."""
        outcomes = self.of_paper
        words = {False: "different", None: "undecided"}
        others = [f"{outcomes.count(met)} {text}" for met, text in words.items() if met in outcomes]
        return (
            ", ".join([f"{outcomes.count(True)} of {len(outcomes)}", *others]) if outcomes else ""
        )


def command(metrics: Path | str) -> str:
    """Return the command that reproduces committed metrics; their path is relative to the root."""
    path = Path(metrics)
    folder = path.parent.name
    data = "" if folder == REFERENCE.name else f"DATA={folder.removeprefix('full-')} "
    kind, name, *_ = path.parts
    if kind == "studies":
        return f"{data}make study NAME={name}"
    if path.stem == DRAWS and not data:
        return "make study NAME=repeats"
    return f"{data}PROFILE=full $(make -s python) -m doit notebook:{folder}:{path.stem}"


def metrics_file(folder: str, notebook: str) -> str:
    """Return the path of the metrics that judge a notebook in a run, relative to the root."""
    repeated = repeats_folder(folder) / f"{notebook}.json"
    single = results_folder(notebook, folder) / f"{notebook}.json"
    return str((repeated if repeated.is_file() else single).relative_to(ROOT))


def compare(run: Mapping[str, Metrics]) -> dict[str, Comparison]:
    """Compare every figure and table of the paper with the metrics of a run, by place."""
    none = Metrics()
    comparisons = {}
    for place, item in load_published().items():
        judge = DRAWS if item.notebook == SURROGATE and DRAWS in run else item.notebook
        seeded_run = run.get(item.notebook, none)
        judged = run.get(judge, none)
        drawn, seeded = (
            [c for c in metrics.claims if c.about == place] for metrics in (judged, seeded_run)
        )
        comparisons[place] = Comparison(item, seeded_run, judge, judged, drawn or seeded)
    return comparisons


def read(paths: Iterable[Path]) -> dict[str, Metrics]:
    """Read metrics files, by notebook."""
    metrics_of = {}
    for path in paths:
        metrics = Metrics.model_validate_json(path.read_bytes())
        metrics_of[path.stem] = metrics.model_copy(update={"folder": path.absolute().parent.name})
    return metrics_of


def judging(run: Mapping[str, Metrics], out_dir: Path) -> dict[str, Metrics]:
    """Return the metrics that give the verdicts of a run.

    A run that is smaller than the paper shows the verdicts of the committed full run. In any other
    run a notebook that trained only once is judged by the repeats on the same tables, if there are
    any.

    Args:
        run: Metrics by notebook.
        out_dir: Folder of these metrics.

    Returns:
        Metrics by notebook.
    """
    if any(metrics.paper_size is False for metrics in run.values()):
        return read(committed_metrics())
    of_run = out_dir.resolve().parent == REFERENCE.parent
    repeated = read(repeated_metrics(out_dir.name) if of_run else [])
    if out_dir.resolve() != REFERENCE:  # its tables may differ by rounding errors
        for name in run.keys() & repeated.keys():
            if digests_of_tables(run[name]) != digests_of_tables(repeated[name]):
                del repeated[name]
    return {**run, **repeated}


def digests_of_tables(metrics: Metrics) -> set[str]:
    """Return the digests of the tables that a run has read."""
    return {*metrics.provenance.get("inputs_sha256", {}).values()}


@cache
def _headings(notebook: str) -> list[str]:
    cells = nbformat.read(notebook_path(notebook), as_version=4).cells
    lines = "\n".join(cell.source for cell in cells).splitlines()
    return [line.removeprefix("## ") for line in lines if line.startswith("## ")]


def heading(item: Item) -> str:
    """Return the heading in a notebook above a figure or table, or an empty text."""
    kind, number = item.place.replace(".", "").split()
    # Headings end in (Fig. 2), or in (Figs. 2 and 3), (Tables 3 and 4).
    place = rf"\({kind}s?\.? (?:[^)]*\D)?{number}\b[^)]*\)"
    return next((title for title in _headings(item.notebook) if re.search(place, title)), "")
