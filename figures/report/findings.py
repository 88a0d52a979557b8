"""What was found, from the metrics, and where the published code differs from the paper."""

from collections.abc import Mapping
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal

import jinja2
import yaml
from pydantic import BaseModel

from figures.report.comparison import Metrics
from figures.report.words import label
from figures.scores import Interval, written

TEMPLATES = Path(__file__).with_name("findings.yaml")


class Picture(BaseModel, extra="forbid"):
    """Numbers side by side, each a dot with the interval of its mean."""

    shows: str
    rows: dict[str, str]  # label → where the number is: notebook/name/...
    decimals: int
    large: str  # section of the page that shows more

    def numbers(self, run: Mapping[str, Metrics]) -> dict[str, Interval]:
        """The numbers of a run by label; KeyError has the name that its metrics lack."""
        found = {}
        for name, path in self.rows.items():
            notebook, *names = path.split("/")
            value = reduce(getitem, names, run[notebook].model_extra or {})
            found[name] = Interval(tuple(value["values"] if isinstance(value, dict) else [value]))
        return found


class Finding(BaseModel, extra="forbid"):
    """A finding with the commands that give it."""

    title: str
    number: str  # one, in the rest of a sentence that the title begins; first of the runs
    text: str  # with all its numbers; in findings.yaml both are templates
    picture: Picture
    commands: list[str]


class Findings(BaseModel, extra="forbid"):
    """The content of findings.yaml."""

    findings: list[Finding]
    differences: list[dict[Literal["item", "effect", "ours"], str]]  # of the published code


@cache
def load_findings() -> Findings:
    """Templates of the findings, and differences of the published code."""
    return Findings.model_validate(yaml.safe_load(TEMPLATES.read_text(encoding="utf-8")))


def findings(runs: Mapping[str, Mapping[str, Metrics]]) -> list[Finding]:
    """Findings that the runs, by words for their tables, have metrics for and bear out."""
    found = []
    for each in load_findings().findings:
        texts = {
            filled(each.text, run, words=words): run
            for words, run in runs.items()
            if all(metrics.paper_size is not False for metrics in run.values())
        }
        if borne_out := {text: run for text, run in texts.items() if text}:
            number = filled(each.number, next(iter(borne_out.values())))
            update = {"text": "; ".join(borne_out), "number": number}
            found.append(each.model_copy(update=update))
    return found


def filled(template: str, run: Mapping[str, Metrics], **context: Any) -> str:
    """A text with numbers of a run; a name that its metrics do not have counts as false."""
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined)
    environment.filters |= {"label": label, "written": written}
    return " ".join(environment.from_string(template).render(run=run, **context).split())
