"""What the paper prints and claims, how far ours may lie from it, and what notebooks add to it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel
from scipy.stats import binomtest

from figures.pipeline.settings import PAPER_COUNTS

PUBLISHED = Path(__file__).with_name("published.yaml")
Case = Literal["outd", "ind25", "ind50", "ind100", "replicates", "noise"]
LARGEST = 2 / 5  # tolerance in parts of the printed number
SIGNIFICANT = 0.05  # level of a sign test


def decimals(printed: str) -> int:
    """Decimals of a printed number."""
    return -min(int(Decimal(printed).as_tuple().exponent), 0)


def tolerance(printed: str, scatter: float, n: int) -> float:
    """How far our mean of n results may lie from a printed number.

    The one rule for every number of the paper: twice the standard deviation of the difference
    between the printed result and the mean of n, `scatter` √(1 + 1/n), plus half of the last
    printed digit.
    """
    return 2 * scatter * math.sqrt(1 + 1 / n) + 10.0 ** -decimals(printed) / 2


def says_something(printed: str, allowed: float) -> bool:
    """Whether a printed number can be judged with a tolerance.

    It would not where the tolerance exceeds two fifths of the printed number, or of a printed zero
    one unit of its last digit. A number beyond such a tolerance differs all the same.
    """
    return allowed <= (LARGEST * abs(float(printed)) or 10.0 ** -decimals(printed))


@dataclass(frozen=True)
class Claim:
    """A claim in words with our numbers; the fields are as in a metrics file."""

    id: str  # by which findings refer to it
    about: str  # figure or table of the paper, or another subject
    claim: str
    ours: Mapping[str, Any]  # our numbers by name, to be shown
    holds: bool | None  # whether they bear the claim out; None where the repeats leave that open
    of_paper: bool = True  # whether the paper makes it; others stand beside it and do not count
    # Row/column of the printed number that says the same: the claim counts if that is not judged.
    number: str | None = None


@dataclass(frozen=True)
class Table:
    """A table of the report; every entry is a text."""

    caption: str
    header: list[str]
    rows: list[list[str]]


class PaperRow(BaseModel, extra="forbid"):
    """A row of a table of the paper; the lists go with the columns of the table."""

    label: str  # {n} stands for the number of training RVEs
    proper: str = ""  # label of the row beside it: networks trained by Adam proper, not judged
    printed: list[str]  # with all printed digits
    scatter: list[float | None] | None = None  # standard deviation of one result; None: not judged
    same_tables: list[float | None] | None = None  # the same on `tables` as published
    tables: set[str] = set()  # designs behind the numbers
    case: Case | None = None  # training set or design behind the row, which a run may lack

    def label_for(self, sizes: Mapping[str, int]) -> str:
        """The label with the training RVEs of a run, and the paper's number if it differs."""
        cells = PAPER_COUNTS.get(self.case or "", 0)
        ours = sizes.get(self.case or "", cells)
        return self.label.format(n=ours if ours == cells else f"{ours}, paper {cells}")


class Item(BaseModel, extra="forbid"):
    """A figure or table of the paper."""

    place: str  # "Fig. 1", "Table 1"
    section: str
    title: str
    notebook: str  # that rebuilds it
    ours: str = ""  # where our metrics have the number of a row and column
    unit: float = 1.0  # of the printed numbers
    printed_in_paper: bool = True  # else numbers of the published tables, which do not count
    over_draws: bool = False  # whether repeated numbers of ours are of independent draws
    further: dict[str, tuple[int, int]] = {}  # claim → draws that bear it out, of so many
    columns: list[str] = []
    rows: dict[str, PaperRow] = {}

    def with_further_draws(self, claim: Claim) -> Claim:
        """The claim as all draws decide it, by a sign test, where more draws are counted."""
        if claim.id not in self.further:
            return claim
        borne_out, count = self.further[claim.id]
        decided = binomtest(borne_out, count).pvalue < SIGNIFICANT
        return replace(claim, holds=borne_out > count / 2 if decided else None)

    def model_post_init(self, _: Any) -> None:
        """Put the row of networks trained by standard Adam beside each that has one."""
        rows = {}
        for name, row in self.rows.items():
            rows[name] = row
            if row.proper:
                beside = PaperRow(label=row.proper, printed=row.printed, case=row.case)
                rows[name.replace("published.", "proper.")] = beside
        self.rows = rows


def load_published() -> dict[str, Item]:
    """Figures and tables of the paper, in order of appearance, by place."""
    found = {}
    for part in yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")):
        for content in part.pop("places"):
            found[content["place"]] = Item.model_validate(part | content)
    return found
