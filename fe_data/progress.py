"""Progress bars for calls that take more than two seconds, only if stderr is a terminal.

`generate` has a separate bar, which becomes lines of a log if there is no terminal.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeVar

from tqdm import tqdm

SHOWN_AFTER = 2.0  # seconds
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


class _Bar(tqdm):  # type: ignore[misc]
    """A bar without a monitor thread, which would receive signals that other threads block."""

    monitor_interval = 0


def progress_bar(
    total: int | None, title: str, unit: str, *, silent: bool = False
) -> "tqdm[NoReturn]":
    """Return a bar that appears on a terminal after two seconds; without a total it counts."""
    hidden = silent or sys.stderr is None or not sys.stderr.isatty()
    return _Bar(total=total, desc=title, unit=unit, disable=hidden, delay=SHOWN_AFTER)


def shown(items: Iterable[Item], title: str, unit: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, and show on a progress bar how many were yielded."""
    with progress_bar(total, title, unit) as bar:
        for item in items:
            yield item
            bar.update()
