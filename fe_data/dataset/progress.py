"""Progress of a long run: a bar with the time left on a terminal, plain lines elsewhere."""

import sys
import time
from typing import Self, TextIO

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 30.0
FRACTION_BETWEEN_LINES = 0.1


class Progress:
    """Counts finished samples; a context manager."""

    def __init__(
        self, total: int, done: int = 0, *, stream: TextIO | None = None, silent: bool = False
    ):
        self.total, self.done, self.first = total, done, done
        self.stream = stream or sys.stderr
        self.silent = silent
        self.started = self.last_time = time.monotonic()
        self.last_done = done
        self.bar = None

    def __enter__(self) -> Self:
        if not self.silent and self.stream.isatty():
            self.bar = tqdm(total=self.total, initial=self.done, unit="cell", file=self.stream)
        return self

    def __exit__(self, *_) -> None:
        if self.bar is not None:
            self.bar.close()

    def advance(self) -> None:
        """One more sample is finished."""
        self.done += 1
        if self.bar is not None:
            self.bar.update()
        elif not self.silent and self._line_is_due():
            self.last_time, self.last_done = time.monotonic(), self.done
            print(self._line(), file=self.stream, flush=True)

    def _line_is_due(self) -> bool:
        return (
            self.done == self.total
            or self.done - self.last_done >= FRACTION_BETWEEN_LINES * self.total
            or time.monotonic() - self.last_time >= SECONDS_BETWEEN_LINES
        )

    def _line(self) -> str:
        each = (time.monotonic() - self.started) / (self.done - self.first)
        left = each * (self.total - self.done)
        return f"{self.done}/{self.total} cells, {each:.2f} s each, {left:.0f} s left"
