"""What was found, from the metrics, and where the published code differs from the paper.

A finding names the claims and printed numbers that it rests on by their ids, and what it asks of
other numbers. Where the committed metrics do not bear one out, README, guides and article are not
written, and a person writes the finding anew; the page of a run leaves it out and names it.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from jinja2 import UndefinedError
from pydantic import BaseModel

from figures.report.comparison import Metrics, compare
from figures.report.words import ENVIRONMENT, filled

RECORDS = Path(__file__).with_name("findings.yaml")


class Picture(BaseModel, extra="forbid"):
    """Numbers side by side, each a dot with the interval of its mean."""

    shows: str
    rows: dict[str, str]  # label → where the number is in the metrics
    decimals: int


class Finding(BaseModel, extra="forbid"):
    """A text over the metrics with its conditions, as findings.yaml explains them."""

    id: str
    notebook: str  # whose metrics have its numbers, `it` in the templates
    place: str = ""  # figure or table of the paper that it is about
    tables: Literal["ours", "published", "both"] = "ours"  # on which it is made
    rests_on: dict[str, bool | None] = {}
    numbers: list[str] = []
    text: str
    title: str = ""
    number: str = ""
    picture: Picture | None = None
    commands: list[str] = []
    tables_at: str = ""  # page of docs and heading with all its numbers

    def unmet(self, metrics: Metrics, outcomes: Mapping[str, bool | None]) -> list[str]:
        """Its conditions that are not met, by the outcomes of claims and the metrics."""
        found: dict[str, Any] = {name: outcomes.get(name, "not made") for name in self.rests_on}
        wrong = [
            f"{name} is {found[name]} instead of {wanted}"
            for name, wanted in self.rests_on.items()
            if found[name] is not wanted
        ]
        conditions = {each: ENVIRONMENT.compile_expression(each) for each in self.numbers}
        return wrong + [f"not {each}" for each, true in conditions.items() if not true(it=metrics)]


class Records(BaseModel, extra="forbid"):
    """The content of findings.yaml."""

    findings: list[Finding]
    differences: list[dict[Literal["item", "effect", "ours"], str]]  # of the published code


@cache
def load_records() -> Records:
    """The findings, and the differences of the published code."""
    return Records.model_validate(yaml.safe_load(RECORDS.read_text(encoding="utf-8")))


class Found(NamedTuple):
    """What a run says of the findings."""

    findings: dict[str, Finding]  # that it bears out, filled, by id
    unmet: dict[str, str]  # that it does not: id → why

    def all_met(self) -> dict[str, Finding]:
        """The findings; ValueError where one is not borne out."""
        if self.unmet:
            each = ", ".join(f"{name!r} ({why})" for name, why in self.unmet.items())
            raise ValueError(f"findings are not borne out: {each}")
        return self.findings


def found_on(run: Mapping[str, Metrics]) -> Found:
    """Findings on the notebooks of a run that have the paper's size."""
    published = any(metrics.published_tables for metrics in run.values())
    kind = "published" if published else "ours"
    words = {"published": "published tables", "ours": "our tables"}[kind]
    entries = compare(run)
    found = {}
    failing = {}
    for finding in load_records().findings:
        metrics = run.get(finding.notebook)
        if metrics is None or metrics.paper_size is False:
            continue
        if finding.tables not in (kind, "both"):
            continue
        outcomes = {claim.id: claim.holds for claim in metrics.claims}
        if finding.place:
            outcomes = entries[finding.place].outcomes
        try:
            unmet = finding.unmet(metrics, outcomes)
            number = filled(finding.number, it=metrics)
            text = filled(finding.text, it=metrics, words=words)
        except UndefinedError as error:  # another profile has other training sets
            unmet = [f"not measured: {error.message}"]
        if unmet:
            failing[finding.id] = "; ".join(unmet)
        else:
            found[finding.id] = finding.model_copy(update={"number": number, "text": text})
    return Found(found, failing)
