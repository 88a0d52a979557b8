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
from figures.pipeline.paths import REFERENCE, notebook_path
from figures.pipeline.profiles import DRAWS, SURROGATE
from figures.pipeline.settings import TRAINING_CASE

REPRODUCED = "reproduced"
OPEN = "open"
DIFFERS = "differs"
NOT_COMPARABLE = "not comparable"
PARTLY = "partly"  # of a whole figure or table
NOT_JUDGED = ""  # shown beside the paper's numbers, without a scatter of its own
SIGNS = {REPRODUCED: "✓", PARTLY: "~", OPEN: "○", DIFFERS: "✗"}
MANY_DIGITS = 30  # from which on a printed number has digits enough
REBUILT = "full-rebuilt"  # folder of the run on cells of our own at the published inputs


class Number(NamedTuple):
    """A number of a metrics file."""

    mean: float
    std: float | None
    n: int  # results behind the mean


class Metrics(BaseModel, extra="allow"):
    """A metrics file; what a notebook does not write is empty."""

    folder: str = ""  # that it was read from
    title: str = ""
    paper_size: bool | None = None  # whether the run has the paper's size; None: not in the paper
    published_tables: list[str] = []  # designs whose tables are those that the authors published
    n: dict[str, int] = {}  # cells of each design
    n_train: dict[str, int] = {}  # cells of each training set
    repeats: int | None = None
    figures: dict[str, str] = {}  # picture → caption
    left_out: list[str] = []  # figures of the paper for which the folder has no tables
    claims: list[Claim] = []
    tables: list[Table] = []  # that are no part of the paper
    provenance: dict[str, Any] = {}

    def at(self, path: str) -> Any:
        """Value at a path of names; None if there is none."""
        value: Any = self.model_extra
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def number(self, path: str) -> Number | None:
        """The number at a path of names; None if there is none."""
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
    decimals: int  # to be shown of ours: small numbers have one more than is printed
    verdict: str
    allowed: float | None = None  # how far ours may lie from the printed one; None: not judged


def check(
    printed: str,
    ours: Number,
    scatter: float | None,
    comparable: bool,
    at_most: float | None = None,
) -> Check:
    """The verdict on ours; `scatter`: of one result, `comparable`: whether sizes are equal.

    Where only a part of the scatter is known, `at_most` is more than the whole: what lies beyond
    the one and within the other is open.
    """
    places = decimals(printed)
    if abs(float(printed)) < MANY_DIGITS:
        places += 1
    if scatter is None:
        return Check(printed, ours.mean, ours.std, places, NOT_JUDGED)
    allowed = tolerance(printed, scatter, ours.n)
    if not comparable:
        verdict = NOT_COMPARABLE
    elif abs(ours.mean - float(printed)) > allowed:
        within = at_most is not None and _is_within(printed, ours, at_most)
        verdict = OPEN if within else DIFFERS
    else:
        verdict = REPRODUCED if says_something(printed, allowed) else NOT_COMPARABLE
    return Check(printed, ours.mean, ours.std, places, verdict, allowed)


def _is_within(printed: str, ours: Number, scatter: float) -> bool:
    """Whether ours, taken as one result, lies within a scatter of the printed number."""
    return abs(ours.mean - float(printed)) <= tolerance(printed, scatter, n=1)


@dataclass(frozen=True)
class Comparison:
    """A figure or table of the paper with what a run has about it."""

    item: Item
    metrics: Metrics  # of the notebook that rebuilds it
    # Notebook whose numbers are compared: that of the draws of the tables, if it has run.
    judge: str
    judged: Metrics  # and its metrics
    claims: list[Claim]  # those of the judge, if there are any

    @property
    def pictures(self) -> dict[str, str]:
        """File → caption of its pictures: fig06a_vanilla.svg belongs to Fig. 6."""
        kind, number = self.item.place.split()
        prefix = f"fig{number:0>2}"
        captions = self.metrics.figures
        return {f: text for f, text in captions.items() if kind == "Fig." and f.startswith(prefix)}

    @property
    def source(self) -> str:
        """The notebook whose numbers and claims are judged."""
        place = self.item.place
        of_judge = self.rows or any(claim.about == place for claim in self.judged.claims)
        return self.judge if of_judge else self.item.notebook

    @property
    def files(self) -> list[str]:
        """What it is written to, in the folder of a run."""
        numbers = [f"{self.judge}.json"] if self.item.rows else []
        return [*numbers, *self.pictures]

    def label(self, name: str) -> str:
        """The label of a row."""
        return self.item.rows[name].label_for(self.judged.n | self.judged.n_train)

    @cached_property
    def rows(self) -> dict[str, dict[str, Check]]:
        """Its numbers by name of the row and column, in those rows that the run has."""
        if not self.judged.model_fields_set:  # the notebook is not in the run
            return {}
        rows = {name: self._row(name, row) for name, row in self.item.rows.items()}
        return {name: checks for name, checks in rows.items() if checks}

    def _row(self, name: str, row: PaperRow) -> dict[str, Check]:
        """The numbers of a row by column; ValueError where one is missing.

        A run without the training set or design behind a row has no such row, and draws of the
        tables have none of those that are shown without being judged.
        """
        metrics = self.judged
        paths = [self.item.ours.format(row=name, column=column) for column in self.item.columns]
        numbers = [metrics.number(path) for path in paths]
        no_cells = row.case not in {None, TRAINING_CASE, *metrics.n, *metrics.n_train}
        shown_beside = self.judge == DRAWS and row.scatter is None
        if (no_cells or shown_beside) and not any(numbers):
            return {}
        same = row.same_tables is not None and row.tables <= set(metrics.published_tables)
        # At the published inputs the microstructure adds to the scatter of the seeds. By
        # how much is not known, but the inputs add still more to that over draws.
        same_inputs = row.same_tables is not None and metrics.folder == REBUILT
        unknown = [None] * len(row.printed)
        scatters = (row.same_tables if same or same_inputs else row.scatter) or unknown
        larger = (row.scatter if same_inputs else None) or unknown
        # Seeds of training on one draw of the tables are one result, unless it is the paper's.
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

    @property
    def claim_verdicts(self) -> dict[bool | None, str]:
        """The verdict on a claim, by whether our numbers bear it out."""
        if not self.judged.paper_size:
            return dict.fromkeys((True, False, None), NOT_COMPARABLE)
        return {True: REPRODUCED, False: DIFFERS, None: OPEN}

    @property
    def outcomes(self) -> dict[str, bool | None]:
        """Whether each judged number, by row/column, and claim, by id, is met; None: open."""
        met = {REPRODUCED: True, DIFFERS: False, OPEN: None}
        outcomes = {
            f"{row}/{column}": met[each.verdict]
            for row, checks in self.rows.items()
            for column, each in checks.items()
            if each.verdict in met
        }
        claims = self.claims if self.judged.paper_size else []
        return outcomes | {claim.id: claim.holds for claim in claims}

    @property
    def of_paper(self) -> list[bool | None]:
        """Outcomes of what the paper prints or claims, each once, without hypotheses of our own."""
        outcomes = self.outcomes
        own = {c.id for c in self.claims if not c.of_paper or c.number in outcomes}
        if not self.item.printed_in_paper:
            own |= {f"{row}/{column}" for row, checks in self.rows.items() for column in checks}
        return [met for name, met in outcomes.items() if name not in own]

    @property
    def verdict(self) -> str:
        """The verdict on the whole; reproduced where nothing differs and nothing is open."""
        found = self.of_paper
        if False in found:
            return PARTLY if True in found else DIFFERS
        if not found:
            return NOT_COMPARABLE
        return OPEN if None in found else REPRODUCED

    @property
    def count(self) -> str:
        """How many of the comparisons are reproduced, differ or are open; empty without any."""
        found = self.of_paper
        words = {False: "different", None: "open"}
        others = [f"{found.count(met)} {text}" for met, text in words.items() if met in found]
        return ", ".join([f"{found.count(True)} of {len(found)}", *others]) if found else ""


def command(folder: str, notebook: str) -> str:
    """The command that makes the metrics of a notebook in a committed folder of figures again."""
    data = "" if folder == REFERENCE.name else f"DATA={folder.removeprefix('full-')} "
    return f"{data}PROFILE=full $(make -s python) -m doit notebook:{folder}:{notebook}"


def compare(run: Mapping[str, Metrics]) -> dict[str, Comparison]:
    """Every figure and table of the paper beside the metrics of a run, by place."""
    none = Metrics()
    found = {}
    for place, item in load_published().items():
        judge = DRAWS if item.notebook == SURROGATE and DRAWS in run else item.notebook
        own = run.get(item.notebook, none)
        judged = run.get(judge, none)
        drawn, seeded = ([c for c in each.claims if c.about == place] for each in (judged, own))
        if judge == DRAWS and judged.folder == REFERENCE.name:
            drawn = [item.with_further_draws(claim) for claim in drawn]
        found[place] = Comparison(item, own, judge, judged, drawn or seeded)
    return found


def read(paths: Iterable[Path]) -> dict[str, Metrics]:
    """Metrics files by notebook."""
    found = {}
    for path in paths:
        metrics = Metrics.model_validate_json(path.read_bytes())
        found[path.stem] = metrics.model_copy(update={"folder": path.absolute().parent.name})
    return found


@cache
def _headings(notebook: str) -> list[str]:
    cells = nbformat.read(notebook_path(notebook), as_version=4).cells
    lines = "\n".join(cell.source for cell in cells).splitlines()
    return [line.removeprefix("## ") for line in lines if line.startswith("## ")]


def heading(item: Item) -> str:
    """The heading in a notebook that announces a figure or table; empty when there is none."""
    kind, number = item.place.replace(".", "").split()
    # The place stands alone or as in (Figs. 2 and 3), (Tables 3 and 4).
    place = rf"\({kind}s?\.? (?:[^)]*\D)?{number}\b[^)]*\)"
    return next((each for each in _headings(item.notebook) if re.search(place, each)), "")
