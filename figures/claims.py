"""Numbers and claims of the paper, and the tolerances for our numbers."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel

from figures.pipeline.settings import PAPER_COUNTS

PUBLISHED = Path(__file__).with_name("published.yaml")
SCATTER = Path(__file__).with_name("scatter.json")  # standard deviations from committed metrics
Case = Literal["outd", "ind25", "ind50", "ind100", "replicates", "noise"]
LARGEST = 2 / 5  # tolerance as a fraction of the printed number


def decimals(printed: str) -> int:
    """Return the number of decimals of a printed number."""
    return -min(int(Decimal(printed).as_tuple().exponent), 0)


def tolerance(printed: str, scatter: float, n: int) -> float:
    """Return the largest allowed difference between our mean of n results and a printed number.

    The rule is the same for every number of the paper: twice the standard deviation of the
    difference between the printed result and the mean of n results, `scatter` √(1 + 1/n), plus half
    a unit of the last printed digit.
    """
    return 2 * scatter * math.sqrt(1 + 1 / n) + 10.0 ** -decimals(printed) / 2


def says_something(printed: str, allowed: float) -> bool:
    """Return whether a tolerance is small enough to confirm a printed number.

    It is too large if it exceeds two fifths of the printed number, or one unit of the last digit of
    a printed zero. A number outside a large tolerance still differs.
    """
    return allowed <= (LARGEST * abs(float(printed)) or 10.0 ** -decimals(printed))


@dataclass(frozen=True)
class Claim:
    """A claim in words with our numbers; a metrics file has the same fields."""

    id: str  # name by which findings refer to the claim
    about: str  # figure or table of the paper, or another subject
    claim: str
    ours: Mapping[str, Any]  # our numbers by name
    holds: bool | None  # whether they support the claim; None if the repeats do not decide
    of_paper: bool = True  # whether the paper makes it; only such claims count
    # Row/column of the printed number with the same content. The claim counts only if that number
    # is not judged.
    number: str | None = None


@dataclass(frozen=True)
class Table:
    """A table of the report, with texts as entries."""

    caption: str
    header: list[str]
    rows: list[list[str]]


class PaperRow(BaseModel, extra="forbid"):
    """A row of a table of the paper; lists have one entry per column of the table."""

    label: str  # {n} stands for the number of training RVEs
    proper: str = ""  # label of a second row, trained as the paper prints, not judged
    printed: list[str]  # with all printed digits
    scatter: list[float | None] | None = None  # standard deviation of one result; None: not judged
    same_tables: list[float | None] | None = None  # the same on the published `tables`
    tables: set[str] = set()  # designs from which the numbers are computed
    case: Case | None = None  # training set or design of the row; a run may lack it

    def label_for(self, sizes: Mapping[str, int]) -> str:
        """Return the label with the number of training RVEs, and the paper's if it differs."""
        theirs = PAPER_COUNTS.get(self.case or "", 0)
        ours = sizes.get(self.case or "", theirs)
        return self.label.format(n=ours if ours == theirs else f"{ours}, paper {theirs}")


class Source(BaseModel, extra="forbid"):
    """Place of numbers in committed metrics."""

    run: str  # folder in figures
    notebook: str
    at: str  # with {row}, {column}, or {method} for a row published.METHOD


class Item(BaseModel, extra="forbid"):
    """A figure or table of the paper."""

    place: str  # "Fig. 1", "Table 1"
    section: str
    title: str
    notebook: str  # notebook that reproduces it
    ours: str = ""  # place of the number of a row and column in our metrics
    scatter: Source | None = None  # standard deviations of one result
    same_tables: Source | float | None = None  # the same on the published tables of a row
    unit: float = 1.0  # of the printed numbers
    printed_in_paper: bool = True  # otherwise computed from published tables, and not counted
    over_draws: bool = False  # whether our repeats are independently simulated datasets
    columns: list[str] = []
    rows: dict[str, PaperRow] = {}

    def model_post_init(self, _: Any) -> None:
        """Add the row of networks trained as printed after each row with a `proper` label."""
        rows = {}
        for name, row in self.rows.items():
            rows[name] = row
            if row.proper:
                beside = PaperRow(label=row.proper, printed=row.printed, case=row.case)
                rows[name.replace("published.", "proper.")] = beside
        self.rows = rows


def load_published() -> dict[str, Item]:
    """Load the figures and tables of the paper, by place, in order of appearance."""
    places = {}
    scatter = json.loads(SCATTER.read_text(encoding="utf-8"))
    for section in yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")):
        for content in section.pop("places"):
            for name, row in content.get("rows", {}).items():
                row |= scatter.get(content["place"], {}).get(name, {})
            places[content["place"]] = Item.model_validate(section | content)
    return places
