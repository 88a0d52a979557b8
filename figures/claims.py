"""What the paper prints and where, with tolerances, and what it claims in words."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter

PUBLISHED = Path(__file__).with_name("published.yaml")
Tolerance = float | str | None  # None: not judged; a text: the printed number scatters too much


@dataclass(frozen=True)
class Claim:
    """A claim in words with our numbers; the fields are those of a metrics file."""

    about: str  # figure or table of the paper, or another subject
    claim: str
    ours: Mapping[str, Any]  # our numbers by name, to be shown
    holds: bool | None  # whether they bear the claim out; None where the repeats leave that open


class Row(BaseModel, extra="forbid"):
    """A row of a table of the paper; the lists go with the columns of the table."""

    label: str  # {n} stands for the number of training cells
    printed: list[float]
    tolerance: list[Tolerance] | None = None
    same_tables: list[Tolerance] | None = None  # tolerances on `tables` as published
    tables: set[str] = set()  # designs behind the numbers
    n_train: int = 0  # training cells
    optional: bool = False  # whether a run may lack the training set or table behind the row

    def tolerances(self, published: Collection[str]) -> list[Tolerance]:
        """Tolerances of a run, given the designs whose published tables it has."""
        same = self.same_tables is not None and self.tables <= set(published)
        return (self.same_tables if same else self.tolerance) or [None] * len(self.printed)

    def label_for(self, n_train: int) -> str:
        """The label with the training cells of a run, and the paper's number if it differs."""
        paper = "" if n_train == self.n_train else f", paper {self.n_train}"
        return self.label.format(n=f"{n_train}{paper}")


class Item(BaseModel, extra="forbid"):
    """A figure or table of the paper."""

    place: str  # "Fig. 1", "Table 1"
    section: str
    title: str
    notebook: str  # that rebuilds it
    prefix: str | None = None  # of the names of its pictures
    note: str = ""  # what the verdict depends on
    reason: str = ""  # why it is not reproduced on our tables
    ours: str = ""  # where our metrics have the number of a row and column
    unit: float = 1.0  # of the printed numbers
    columns: list[str] = []
    rows: dict[str, Row] = {}


def load_published() -> dict[str, Item]:
    """Figures and tables of the paper, in order of appearance, by place."""
    items = TypeAdapter(list[Item]).validate_python(yaml.safe_load(PUBLISHED.read_text()))
    return {item.place: item for item in items}
