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


@contextlib.contextmanager
def full_disk(size: int):
    """No file can grow beyond this size [bytes]: writing more is an OSError, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def killed_at_each_step(action):
    """Yields after each kill of a process that does an action, just before its next step on disk.

    The steps are what changes names or lasts: creating, syncing, renaming and removing files. The
    action is done anew for each kill, and to its end after the last one.
    """
    step = 0
    while True:
        step += 1
        child = os.fork()
        if child == 0:
            _kill_before(step)
            action()
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        yield
        if ended == 0:
            assert step > 3
            return
        assert ended == -signal.SIGKILL


def _kill_before(step: int) -> None:
    """Let this process kill itself before a step on disk."""
    left = step

    def counted(call):
        def counting(*arguments, **options):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return counting

    os.open = counted(os.open)
    os.fsync = counted(os.fsync)
    Path.replace = counted(Path.replace)
    Path.rename = counted(Path.rename)
    Path.unlink = counted(Path.unlink)
