"""Claims in words and printed numbers of the paper, each with ours and the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PUBLISHED = Path(__file__).with_name("published.yaml")
REPRODUCED, FAILED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"
NOT_JUDGED = ""  # shown beside the paper's numbers, without a tolerance of its own


@dataclass(frozen=True)
class Claim:
    """A claim in words with our numbers; the fields are those of a metrics file."""

    about: str  # figure or table of the paper, or another subject
    claim: str
    ours: Mapping[str, Any]  # our numbers by name
    holds: bool | None  # whether they bear the claim out; None where the repeats leave that open

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "Claim":
        """The claim that a metrics file lists."""
        return cls(*(entry[name] for name in ("about", "claim", "ours", "holds")))

    def verdict(self, comparable: bool) -> str:
        """The verdict, given whether the run has the paper's size."""
        if not comparable:
            return NOT_COMPARABLE
        return REPRODUCED if self.holds else FAILED


@dataclass(frozen=True)
class Check:
    """A number that the paper prints beside ours, which is a mean over repeats."""

    place: str  # figure or table of the paper
    row: str
    column: str
    published: float
    ours: float  # in the same unit
    deviation: float | None  # standard deviation of ours
    tolerance: (
        float | str | None
    )  # None: not judged; a text: the published number scatters too much
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
class Item:
    """A figure or table of the paper with everything that is compared in it."""

    place: str  # "Fig. 1", "Table 1"
    section: str
    title: str
    notebook: str  # that rebuilds it
    pictures: Mapping[str, str]  # file → caption, of the pictures that the run has
    checks: list[Check]
    claims: list[Claim]
    comparable: bool  # whether the notebook ran at the paper's size, so that claims are judged
    note: str = ""  # what the verdict depends on
    reason: str = ""  # why it is not reproduced on our tables

    @property
    def present(self) -> bool:
        """Whether the run has the item."""
        return bool(self.pictures or self.checks or self.claims)

    @property
    def verdicts(self) -> list[str]:
        """Verdicts on the numbers and claims that are judged."""
        verdicts = [check.verdict for check in self.checks]
        verdicts += [claim.verdict(self.comparable) for claim in self.claims]
        return [verdict for verdict in verdicts if verdict != NOT_JUDGED]

    @property
    def compared(self) -> list[str]:
        """Verdicts on what could be compared."""
        return [verdict for verdict in self.verdicts if verdict != NOT_COMPARABLE]

    @property
    def verdict(self) -> str:
        """Reproduced when everything that could be compared is."""
        if not self.compared:
            return NOT_COMPARABLE
        return FAILED if FAILED in self.compared else REPRODUCED

    @property
    def count(self) -> str:
        """How many of the comparisons are reproduced; empty when there are none."""
        reproduced = self.compared.count(REPRODUCED)
        return f"{reproduced} of {len(self.compared)}" if self.compared else ""


def load_published() -> dict[str, Any]:
    """Content of published.yaml: what the paper prints, where, and the tolerances."""
    return yaml.safe_load(PUBLISHED.read_text())
