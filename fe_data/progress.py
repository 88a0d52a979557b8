"""Progress of calls that take more than two seconds: a bar on a terminal, and nothing elsewhere.

`generate` has a bar of its own, which becomes the lines of a log where there is no terminal.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeVar

from tqdm import tqdm

SHOWN_AFTER = 2.0  # seconds
Item = TypeVar("Item")


class _Bar(tqdm):  # type: ignore[misc]
    """A bar without a thread of its own, which would receive signals that others delay."""

    monitor_interval = 0


def progress_bar(
    total: int | None, title: str, unit: str, *, silent: bool = False
) -> "tqdm[NoReturn]":
    """Bar on a terminal, after two seconds; without a total it counts."""
    hidden = silent or not sys.stderr.isatty()
    return _Bar(total=total, desc=title, unit=unit, disable=hidden, delay=SHOWN_AFTER)


def shown(items: Iterable[Item], title: str, unit: str, total: int | None = None) -> Iterator[Item]:
    """Pass items on, and show how many have passed."""
    with progress_bar(total, title, unit) as bar:
        for item in items:
            yield item
            bar.update()
