"""Signals that end a command: Ctrl-C (SIGINT), and SIGTERM, by which batch systems end a job."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

_ENDING = signal.SIGINT, signal.SIGTERM


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let the first SIGTERM act like Ctrl-C; further ones are ignored."""

    def interrupt(*_: Any) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    with _handling((signal.SIGTERM,), interrupt):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore SIGTERM and Ctrl-C, while results are written."""
    with _handling(_ENDING, signal.SIG_IGN):
        yield


@contextlib.contextmanager
def _handling(signals: tuple[signal.Signals, ...], handler: Any) -> Iterator[None]:
    """Set the handler of signals; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(number, handler) for number in signals]
    try:
        yield
    finally:
        for number, earlier in zip(signals, before, strict=True):
            signal.signal(number, earlier)
