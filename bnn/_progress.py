"""Progress of long calls: a bar on a terminal, lines elsewhere."""

import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeVar

from tqdm import tqdm

SHOWN_AFTER = 2.0  # seconds: shorter calls show no bar on a terminal
LOG_SECONDS = 5.0  # between two lines of progress in a notebook, a log or a pipe
LOGGED_AFTER = 30.0  # seconds: shorter calls print no lines there, unless they are asked for
LOG_LINE = "{desc}: {percentage:.0f}%, {n_fmt} of {total_fmt} {unit}s, {remaining} left"
Part = TypeVar("Part")


class _Lines:
    """Writes each state of a progress bar to standard error as a line of its own."""

    last = ""

    def write(self, text: str) -> None:
        """Write a state of the bar, unless it is empty or the last one again."""
        line = text.strip()
        if line not in ("", self.last):
            print(line, file=sys.stderr)
            self.last = line


class _Patient(str):
    """The title of a bar that nobody asked for, whose lines begin after LOGGED_AFTER."""


def titled(title: str, progress: bool | None) -> str | None:
    """Return the title of a bar, or None for silence; None as progress shows long calls alone."""
    if progress is None:
        return _Patient(title)
    return title if progress else None


def progress_bar(total: int, title: str | None, unit: str) -> "tqdm[NoReturn]":
    """Bar on a terminal, elsewhere a line every few seconds and the last; no title is silence."""
    silent = title is None
    if silent or sys.stderr.isatty():
        # leave=None: a bar below another one is wiped out when it ends.
        options = {"disable": silent, "delay": SHOWN_AFTER, "leave": None}
        return tqdm(total=total, desc=title, unit=unit, **options)
    wait = LOGGED_AFTER if isinstance(title, _Patient) else 0.0
    lines = {"file": _Lines(), "mininterval": LOG_SECONDS, "bar_format": LOG_LINE, "delay": wait}
    return tqdm(total=total, desc=title, unit=unit, **lines)


def counted(parts: Sequence[Part], title: str, unit: str) -> Iterator[Part]:
    """Yield the parts one by one; a bar on a terminal shows how many of them are done."""
    with progress_bar(len(parts), titled(title, None), unit) as bar:
        for part in parts:
            yield part
            bar.update()
