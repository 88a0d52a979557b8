"""Tables in Markdown and CSV, and blocks of a page between two comments."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(table_lines(header, rows))


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown, each as soon as its row is available."""

    def line(cells: Sequence[str]) -> str:
        return "|".join(["", *(f" {cell} " if cell else " " for cell in cells), ""])

    yield line(header)
    yield "|---" * len(header) + "|"
    yield from map(line, rows)


def comma_separated(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def with_blocks(text: str, current: Mapping[str, str]) -> str:
    """Replace the text between the comments of each named block by its current text."""
    for name, block in current.items():
        start = f"<!-- {name} -->\n"
        end = f"<!-- end {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}{block}\n{end}{after}"
    return text
