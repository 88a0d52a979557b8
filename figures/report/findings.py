"""What was found, from the metrics, and where the published code differs from the paper.

A finding names the claims that it rests on by their ids, and what it asks of numbers. The README,
the guides and the article are made of committed metrics: there a finding that these do not bear out
stops the build, and a person writes it anew. The page of a run names the findings that this run
does not bear out, with what is measured; a small run shows those of the committed run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal

import yaml
from jinja2 import UndefinedError
from pydantic import BaseModel

from figures.claims import Claim
from figures.report.comparison import Metrics
from figures.report.words import ENVIRONMENT, brief, filled
from figures.scores import Interval

VERDICTS = {True: "holds", False: "does not hold", None: "is open"}
RECORDS = Path(__file__).with_name("findings.yaml")


class Picture(BaseModel, extra="forbid"):
    """Numbers side by side, each a dot with the interval of its mean."""

    shows: str
    rows: dict[str, str]  # label → where the number is in the metrics
    decimals: int
    large: str  # section of the page that shows more

    def numbers(self, metrics: Metrics) -> dict[str, Interval]:
        """The numbers by label; KeyError has the name that the metrics lack."""
        found = {}
        for name, path in self.rows.items():
            value: Any = reduce(getitem, path.split("/"), metrics.model_extra or {})
            found[name] = Interval(tuple(value["values"] if isinstance(value, dict) else [value]))
        return found


class Statement(BaseModel, extra="forbid"):
    """A text over the metrics with its conditions."""

    id: str
    notebook: str  # whose metrics have its numbers, `it` in the templates
    text: str  # with all its numbers
    holds: list[str] = []  # ids of the claims that must hold
    fails: list[str] = []  # ids of the claims that must not hold
    numbers: list[str] = []  # conditions on numbers

    def unmet(self, metrics: Metrics) -> list[str]:
        """Its conditions that the metrics do not meet, with what is measured."""
        wanted = dict.fromkeys(self.holds, True) | dict.fromkeys(self.fails, False)
        failing = [each for each in self.numbers if not is_met(each, metrics)]
        words = [f"{' '.join(condition.split())} is not so" for condition in failing]
        return contradicted(wanted, metrics.claims) + words


class Finding(Statement):
    """A statement under a title, with a small picture and the commands that give it."""

    title: str
    number: str  # one, in the rest of a sentence that the title begins
    picture: Picture
    commands: list[str]


class Records(BaseModel, extra="forbid"):
    """The content of findings.yaml."""

    findings: list[Finding]
    paragraphs: list[Statement]  # that notebooks add to the page
    differences: list[dict[Literal["item", "effect", "ours"], str]]  # of the published code


@cache
def load_records() -> Records:
    """The findings, and the differences of the published code."""
    return Records.model_validate(yaml.safe_load(RECORDS.read_text(encoding="utf-8")))


def contradicted(wanted: Mapping[str, bool | None], claims: Iterable[Claim]) -> list[str]:
    """Claims, by id, that are not made or come to something else than is wanted."""
    made = {claim.id: claim for claim in claims}
    found = []
    for identifier, holds in wanted.items():
        if identifier not in made:
            found.append(f"claim {identifier} is not made")
        elif made[identifier].holds is not holds:
            claim = made[identifier]
            found.append(f"claim {identifier} {VERDICTS[claim.holds]} ({brief(claim.ours)})")
    return found


def is_met(condition: str, metrics: Metrics) -> bool:
    """Whether a condition on numbers is true; where the metrics lack one of them it is not."""
    try:
        return bool(ENVIRONMENT.compile_expression(condition)(it=metrics))
    except UndefinedError:
        return False


@dataclass(frozen=True)
class Found:
    """A statement on a run."""

    finding: Statement
    unmet: list[str]  # conditions that the run does not meet
    number: str
    text: str


def found_on(
    run: Mapping[str, Metrics], words: str, statements: Iterable[Statement]
) -> list[Found]:
    """Every statement whose notebook is in a run, on tables that `words` name."""
    found = []
    for each in statements:
        metrics = run.get(each.notebook)
        if metrics is None or metrics.paper_size is False:
            continue
        unmet = each.unmet(metrics)
        number = ""
        text = ""
        if not unmet:
            try:
                number = filled(each.number, it=metrics) if isinstance(each, Finding) else ""
                text = filled(each.text, it=metrics, words=words)
            except UndefinedError as error:  # another profile has other training sets
                unmet = [f"not measured: {error.message}"]
        found.append(Found(each, unmet, number, text))
    return found


def borne_out(
    run: Mapping[str, Metrics], words: str, statements: Iterable[Statement]
) -> list[Found]:
    """The same; ValueError names the first statement that the run does not bear out."""
    found = found_on(run, words, statements)
    for each in found:
        if each.unmet:
            cause = f"finding {each.finding.id!r} is not borne out on {words}"
            raise ValueError(f"{cause}: {'; '.join(each.unmet)}")
    return found


def findings(runs: Mapping[str, Mapping[str, Metrics]]) -> list[tuple[Finding, str]]:
    """Each finding with its text on the runs, by words for their tables; all must bear it out."""
    records = load_records()
    texts: dict[str, list[str]] = {}
    for words, run in runs.items():
        for each in borne_out(run, words, [*records.findings, *records.paragraphs]):
            texts.setdefault(each.finding.id, []).append(each.text)
    return [(each, "; ".join(texts[each.id])) for each in records.findings if each.id in texts]
