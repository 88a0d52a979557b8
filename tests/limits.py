"""Limits on the time and memory of a call, for readers of files that were made to take both."""

import contextlib
import faulthandler
import os
import re
import resource
import signal
import sys
from pathlib import Path

import pytest


@contextlib.contextmanager
def limited(seconds: float = 5.0, megabytes: int = 100):
    """The test fails after some seconds; MemoryError for more memory than is taken already."""

    def late(*_):
        pytest.fail(f"not done after {seconds} s")

    taken = int(
        re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))[1]
    )
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    before = signal.signal(signal.SIGALRM, late)
    # A loop in compiled code hears no signal: then the whole process ends.
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_DATA, (taken * 1024 + megabytes * 10**6, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


# What may be where a file is expected: made at a path.
UNUSUAL = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
}
