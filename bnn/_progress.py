"""Progress of long calls: a bar on a terminal, lines of text elsewhere."""

import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeVar

from tqdm import tqdm

SHOWN_AFTER = 2.0  # seconds: shorter calls show no bar on a terminal
LOG_SECONDS = 5.0  # seconds between two lines of progress in a notebook, a log or a pipe
LOGGED_AFTER = 30.0  # seconds: shorter calls print no lines there, unless progress is True
LOG_LINE = "{desc}: {percentage:.0f}%, {n_fmt} of {total_fmt} {unit}s, {remaining} left"
Item = TypeVar("Item")


class _Lines:
    """Write each state of a progress bar to standard error as a separate line."""

    last = ""

    def write(self, text: str) -> None:
        """Write a state of the bar, unless it is empty or equal to the last one."""
        line = text.strip()
        if line not in ("", self.last):
            print(line, file=sys.stderr)
            self.last = line


class _Patient(str):
    """Title of a bar that the caller did not request: its lines begin after LOGGED_AFTER."""


def titled(title: str, progress: bool | None) -> str | None:
    """Return the title of a bar, or None for no bar; progress=None shows only long calls."""
    if progress is None:
        return _Patient(title)
    return title if progress else None


def progress_bar(total: int, title: str | None, unit: str) -> "tqdm[NoReturn]":
    """Return a bar for a terminal, else one that prints lines; without a title it shows nothing."""
    silent = title is None
    if silent or sys.stderr.isatty():
        # leave=None: a bar nested below another one is erased when it ends.
        options = {"disable": silent, "delay": SHOWN_AFTER, "leave": None}
        return tqdm(total=total, desc=title, unit=unit, **options)
    wait = LOGGED_AFTER if isinstance(title, _Patient) else 0.0
    lines = {"file": _Lines(), "mininterval": LOG_SECONDS, "bar_format": LOG_LINE, "delay": wait}
    return tqdm(total=total, desc=title, unit=unit, **lines)


def counted(items: Sequence[Item], title: str, unit: str) -> Iterator[Item]:
    """Yield the items one by one, and show how many are done if this takes long."""
    with progress_bar(len(items), titled(title, None), unit) as bar:
        for item in items:
            yield item
            bar.update()
