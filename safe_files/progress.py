"""Progress of long calls: a bar on a terminal, lines of text elsewhere; and closed streams."""

import os
import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Any, NoReturn, TextIO, TypeVar

from tqdm import tqdm

SHOWN_AFTER = 2.0  # seconds: shorter calls show no bar on a terminal
LOG_SECONDS = 30.0  # between two lines elsewhere; shorter calls print none
SOON = 10.0  # seconds between two lines that a caller has requested
Item = TypeVar("Item")


def open_streams() -> None:
    """Open the null device in place of closed standard streams, as after `command >&-`.

    Otherwise a file that is opened later could get the descriptor of a standard stream, to which
    libraries write, and worker processes could not start.
    """
    for name, mode in ("stdin", "r"), ("stdout", "w"), ("stderr", "w"):
        if getattr(sys, name) is None:
            # The lowest free descriptor belongs to the stream, unless another file has taken it.
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)  # for the workers
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


class _Lines:
    """A stream that turns the updates of a bar into lines of a log."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.last = ""

    def write(self, text: str) -> None:
        """Write a state of the bar, unless it is empty or equals the last one."""
        if (line := text.strip()) not in ("", self.last):
            print(line, file=self.stream, flush=True)
            self.last = line


class _Bar(tqdm):  # type: ignore[misc]
    """A bar without a monitor thread, which would receive signals that other threads block."""

    monitor_interval = 0


class _Requested(str):
    """Title of a bar that the caller has requested: it is shown from the start."""


def titled(title: str, progress: bool | None) -> str | None:
    """Return the title of a bar, or None for no bar; progress=None shows only long calls."""
    if progress is None:
        return title
    return _Requested(title) if progress else None


def progress_bar(
    total: int | None, title: str | None, unit: str, done: int = 0
) -> "tqdm[NoReturn]":
    """Return a bar for a terminal, else one that prints lines.

    Args:
        total: Number of steps; None only counts them.
        title: Title, see `titled`; None shows nothing.
        unit: Name of a step.
        done: Number of steps that were done before.

    Returns:
        The bar.
    """
    requested = isinstance(title, _Requested)
    options: dict[str, Any] = {"total": total, "desc": title, "unit": unit, "initial": done}
    if title is None or sys.stderr is None:
        return _Bar(**options, disable=True)
    if sys.stderr.isatty():
        # leave=None: a bar nested below another one is erased when it ends.
        return _Bar(**options, delay=0.0 if requested else SHOWN_AFTER, leave=None)
    state = "{n} {unit}s after {elapsed}"
    if total is not None:
        state = "{n} of {total} {unit}s after {elapsed}, {remaining} left"
    return _Bar(
        **options,
        delay=0.0 if requested else LOG_SECONDS,
        mininterval=SOON if requested else LOG_SECONDS,
        miniters=1,  # look at the clock at every update
        bar_format="{desc}: " + state,
        file=_Lines(sys.stderr),
    )


def counted(
    items: Iterable[Item], title: str, unit: str, total: int | None = None
) -> Iterator[Item]:
    """Yield the items one by one, and show how many are done if this takes long."""
    steps = len(items) if total is None and isinstance(items, Sized) else total
    with progress_bar(steps, title, unit) as bar:
        for item in items:
            yield item
            bar.update()
