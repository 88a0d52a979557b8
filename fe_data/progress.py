"""Progress of calls that take more than two seconds: a bar on a terminal, and nothing elsewhere.

`generate` has a bar of its own, which becomes the lines of a log where there is no terminal.
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

    Without it a file that is opened later could take the number of a stream, to which libraries
    write, and worker processes cannot start.
    """
    for name, mode in ("stdin", "r"), ("stdout", "w"), ("stderr", "w"):
        if getattr(sys, name) is None:
            # The lowest free number is that of the stream, unless another file has taken it.
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)  # by workers
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


class _Bar(tqdm):  # type: ignore[misc]
    """A bar without a thread of its own, which would receive signals that others delay."""

    monitor_interval = 0


def progress_bar(
    total: int | None, title: str, unit: str, *, silent: bool = False
) -> "tqdm[NoReturn]":
    """Bar on a terminal, after two seconds; without a total it counts."""
    hidden = silent or sys.stderr is None or not sys.stderr.isatty()
    return _Bar(total=total, desc=title, unit=unit, disable=hidden, delay=SHOWN_AFTER)


def shown(items: Iterable[Item], title: str, unit: str, total: int | None = None) -> Iterator[Item]:
    """Pass items on, and show how many have passed."""
    with progress_bar(total, title, unit) as bar:
        for item in items:
            yield item
            bar.update()
