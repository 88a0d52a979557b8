"""Progress bars on a terminal after two seconds, and lines of a log every 30 s elsewhere.

`generate` has a separate bar, which shows the remaining time from the start.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import NoReturn, TextIO, TypeVar

from tqdm import tqdm

SHOWN_AFTER = 2.0  # seconds
LOG_SECONDS = 30.0  # between two lines of a log
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


class Lines:
    """A stream that turns the updates of a progress bar into lines of a log."""

    def __init__(self, stream: TextIO):
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


def progress_bar(
    total: int | None, title: str, unit: str, *, silent: bool = False
) -> "tqdm[NoReturn]":
    """Return a bar that appears on a terminal after two seconds; without a total it counts.

    Without a terminal it prints a line every 30 s, so that the log of a long run is not silent.
    """
    described = {"total": total, "desc": title, "unit": unit}
    if silent or sys.stderr is None:
        return _Bar(**described, disable=True)
    if sys.stderr.isatty():
        return _Bar(**described, delay=SHOWN_AFTER)
    reached = "{n}" if total is None else "{n} of {total}"
    return _Bar(
        **described,
        delay=LOG_SECONDS,
        mininterval=LOG_SECONDS,
        miniters=1,  # look at the clock at every update
        bar_format=f"{{desc}}: {reached} {unit}s after {{elapsed}}",
        file=Lines(sys.stderr),
    )


def shown(items: Iterable[Item], title: str, unit: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, and show on a progress bar how many were yielded."""
    with progress_bar(total, title, unit) as bar:
        for item in items:
            yield item
            bar.update()
