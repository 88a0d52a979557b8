"""Numbers side by side: a dot with its interval for each, and what the paper prints beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from figures.report.comparison import Check, Comparison, Metrics
from figures.report.findings import Picture
from figures.report.words import column_decimals, interval, label
from figures.scores import written

WIDTH = 140  # of the drawing of a row, whose text stands beside it
EDGE = 5  # left free on both sides


class Dot(NamedTuple):
    """A number in its row."""

    label: str
    mean: float
    margin: float  # half the interval
    text: str  # the number in digits
    values: tuple[float, ...] = ()  # single results
    printed: str = ""  # what the paper prints
    allowed: float | None = None  # how far from it counts as the same
    verdict: str = ""

    @property
    def ends(self) -> list[float]:
        """All that has to be in sight."""
        ends = [self.mean - self.margin, self.mean + self.margin, *self.values]
        if self.printed:
            allowed = self.allowed or 0.0
            ends += [float(self.printed) - allowed, float(self.printed) + allowed]
        return ends


@dataclass(frozen=True)
class Dots:
    """Numbers on one scale."""

    title: str
    rows: list[Dot]
    width: int = WIDTH

    @property
    def range(self) -> tuple[float, float]:
        """Ends of the scale."""
        ends = [end for row in self.rows for end in row.ends]
        return min(ends), max(ends)

    @property
    def has_zero(self) -> bool:
        """Whether zero lies inside the scale."""
        low, high = self.range
        return low < 0 < high

    def x(self, value: float | str) -> float:
        """Where a number lies on the scale, 0 to WIDTH."""
        low, high = self.range
        share = (float(value) - low) / ((high - low) or 1.0)
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)


def of_finding(picture: Picture, metrics: Metrics) -> Dots:
    """The numbers of a finding, with 95 % intervals of their means and the single results."""
    rows = []
    for name, path in picture.rows.items():
        number = interval(metrics.at(path))
        text = written(number, picture.decimals)
        rows.append(Dot(name, number.mean, number.margin, text, number.values))
    return Dots(picture.shows, rows)


def beside_paper(entries: Mapping[str, Comparison], place: str) -> list[Dots]:
    """What the paper prints for a figure or table beside ours: one picture for each scale."""
    source, _, only = (entries[place].item.printed_in or place).partition("/")
    entry = entries[source]
    digits = column_decimals(entry.rows)
    pictures: dict[str, list[Dot]] = {}
    for row, checks in entry.rows.items():
        if only not in ("", row) or not entry.item.rows[row].scatter:
            continue
        for column, check in checks.items():
            of_row = label(entry.label(row))
            of_column = label(column)
            by_column = entry.item.scale_of == "column"
            title = of_column if by_column else of_row
            name = of_row if by_column else of_column
            pictures.setdefault(title, []).append(_of_check(name, check, digits[column]))
    begin = f"{source}, " if only else ""
    return [Dots(f"{begin}{title}", rows) for title, rows in pictures.items()]


def _of_check(name: str, check: Check, digits: int) -> Dot:
    return Dot(
        name,
        check.ours,
        check.deviation or 0.0,
        written({"mean": check.ours, "std": check.deviation}, digits),
        printed=check.published,
        allowed=check.allowed,
        verdict=check.verdict,
    )
