"""What a notebook adds to the report beyond the figures and tables of the paper."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of the report; every entry is a text."""

    caption: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    paragraphs: list[str]
    tables: list[Table]
