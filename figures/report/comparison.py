"""Every figure and table of the paper beside the metrics files of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import getitem
from typing import Any

from pydantic import BaseModel

from figures.claims import Claim, Item, Row, Tolerance, load_published
from figures.section import Section

REPRODUCED, FAILED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"
NOT_JUDGED = ""  # shown beside the paper's numbers, without a tolerance of its own


class Metrics(BaseModel, extra="allow"):
    """A metrics file; what a notebook does not write is empty."""

    title: str = ""
    paper_size: bool | None = None  # whether the run has the paper's size; None: not in the paper
    published_tables: list[str] = []  # designs whose tables are those that the authors published
    n_train: dict[str, int] = {}  # cells of each training set
    repeats: int | None = None
    figures: dict[str, str] = {}  # picture → caption
    left_out: list[str] = []  # figures of the paper for which the folder has no tables
    claims: list[Claim] = []
    section: Section | None = None  # that is no part of the paper
    provenance: dict[str, Any] = {}

    def number(self, path: str) -> tuple[float, float | None]:
        """The mean and standard deviation at a path of names; KeyError has the name it lacks."""
        value: Any = reduce(getitem, path.split("."), self.model_extra or {})
        match value:
            case {"mean": mean, "std": std} | {"value": mean, "error": std}:
                return mean, std
            case float() | int():
                return value, None
        raise KeyError("mean")


@dataclass(frozen=True)
class Check:
    """A number that the paper prints beside ours, which is a mean over repeats."""

    published: float
    ours: float  # in the same unit
    deviation: float | None  # standard deviation of ours
    tolerance: Tolerance
    comparable: bool  # whether ours was computed at the paper's size

    @property
    def verdict(self) -> str:
        """The verdict on the number."""
        if self.tolerance is None:
            return NOT_JUDGED
        if isinstance(self.tolerance, str) or not self.comparable:
            return NOT_COMPARABLE
        return REPRODUCED if abs(self.ours - self.published) <= self.tolerance else FAILED


@dataclass(frozen=True)
class Comparison:
    """A figure or table of the paper with what a run has about it."""

    item: Item
    metrics: Metrics  # of the notebook that rebuilds it

    @property
    def pictures(self) -> dict[str, str]:
        """File → caption of its pictures."""
        prefix, captions = self.item.prefix, self.metrics.figures
        return {f: text for f, text in captions.items() if prefix and f.startswith(prefix)}

    @cached_property
    def rows(self) -> dict[str, dict[str, Check]]:
        """Its numbers by label of the row and column, in those rows that the run has."""
        if not self.metrics.model_fields_set:  # the notebook is not in the run
            return {}
        rows = {}
        for name, row in self.item.rows.items():
            case = _last(name).rpartition("_")[0]
            label = row.label_for(self.metrics.n_train.get(case, row.n_train))
            rows[label] = self._row(name, row, row.optional and case not in self.metrics.n_train)
        return {label: checks for label, checks in rows.items() if checks}

    def _row(self, name: str, row: Row, may_lack: bool) -> dict[str, Check]:
        """The numbers of a row by column; ValueError where one is missing that must be there."""
        tolerances = row.tolerances(self.metrics.published_tables)
        checks, columns, unit = {}, self.item.columns, self.item.unit
        for column, printed, tolerance in zip(columns, row.printed, tolerances, strict=True):
            path = self.item.ours.format(row=name, column=column)
            try:
                mean, std = self.metrics.number(path)
            except (KeyError, TypeError) as error:
                if may_lack and error.args == (_last(name),):
                    return {}
                raise ValueError(f"{self.item.notebook}.json has no number at {path}") from None
            deviation = None if std is None else std / unit
            comparable = bool(self.metrics.paper_size)
            checks[column] = Check(printed, mean / unit, deviation, tolerance, comparable)
        return checks

    @property
    def checks(self) -> list[Check]:
        """The same as a list."""
        return [check for row in self.rows.values() for check in row.values()]

    @property
    def claims(self) -> list[Claim]:
        """The claims about it."""
        return [claim for claim in self.metrics.claims if claim.about == self.item.place]

    @property
    def claim_verdicts(self) -> dict[bool | None, str]:
        """The verdict on a claim, by whether our numbers bear it out."""
        if not self.metrics.paper_size:
            return dict.fromkeys((True, False, None), NOT_COMPARABLE)
        return {True: REPRODUCED, False: FAILED, None: FAILED}

    @property
    def verdicts(self) -> list[str]:
        """Verdicts on the numbers and claims that are judged."""
        verdicts = [check.verdict for check in self.checks]
        verdicts += [self.claim_verdicts[claim.holds] for claim in self.claims]
        return [verdict for verdict in verdicts if verdict != NOT_JUDGED]

    @property
    def verdict(self) -> str:
        """Reproduced when everything that could be compared is."""
        return next((v for v in (FAILED, REPRODUCED) if v in self.verdicts), NOT_COMPARABLE)

    @property
    def count(self) -> str:
        """How many of the comparisons are reproduced; empty when there are none."""
        reproduced, failed = map(self.verdicts.count, (REPRODUCED, FAILED))
        return f"{reproduced} of {reproduced + failed}" if reproduced + failed else ""


def _last(path: str) -> str:
    """The last name of a path of names."""
    return path.rpartition(".")[2]


def compare(run: Mapping[str, Metrics]) -> list[Comparison]:
    """Every figure and table of the paper beside the metrics of a run, by notebook."""
    items = load_published().values()
    return [Comparison(item, run.get(item.notebook, Metrics())) for item in items]
