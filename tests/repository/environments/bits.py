"""Compare every digit of a small run on other processors, threads and workers, and under load.

    python -m tests.repository.environments.bits

The run is `small_run`, with the pins of `figures.pipeline.arithmetic`. The last run is without
them, and has to differ: otherwise nothing would be compared. Emulated processors take minutes. They
read compiled functions from the cache of the first run, since numba compiles all of them for the
same processor.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from figures.pipeline.arithmetic import KERNELS, can_pin, environment
from tests.repository.environments.common import ROOT, say

EMULATOR = "qemu-x86_64"
MISSING = f"skipped, since {EMULATOR} is missing: apt-get install qemu-user"
# What somebody may have set: the pins have to win.
OTHERS = {
    "OPENBLAS_CORETYPE": "Sandybridge",
    "OPENBLAS_NUM_THREADS": "2",
    "OMP_NUM_THREADS": "2",
    "MKL_NUM_THREADS": "2",
    "MKL_CBWR": "AVX2",
    "NUMBA_CPU_NAME": "generic",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    "BNN_PRODUCTS": "torch",
}


@dataclass(frozen=True)
class Case:
    """One way to execute the small run."""

    name: str
    emulated: str | None = None  # processor
    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)  # variables from outside
    one_core: bool = False
    busy: int = 0  # processes that compute beside it


CASES = (
    Case("two workers", options=("--workers", "2")),
    Case("two threads and other kernels asked for from outside", variables=OTHERS),
    Case("on one core", one_core=True),
    Case("under load", busy=4),
    Case(f"on an emulated Haswell ({EMULATOR} -cpu Haswell)", emulated="Haswell"),
    Case(f"on an emulated processor with all features ({EMULATOR} -cpu max)", emulated="max"),
)


def on_one_core() -> None:
    """Keep this process to one of its cores."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Processes that compute until the end of the block."""
    endless = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(endless) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(
    case: Case,
    parts: Sequence[str] = (),
    pinned: Callable[[Mapping[str, str]], dict[str, str]] = environment,
) -> dict[str, str]:
    """The hashes of a small run, by part."""
    emulator = [EMULATOR, "-cpu", case.emulated] if case.emulated else []
    command = [*emulator, sys.executable, "-m", "tests.repository.environments.small_run"]
    with load(case.busy):
        done = subprocess.run(
            [*command, *case.options, *parts],
            cwd=ROOT,
            env=pinned({**os.environ, **case.variables}),
            preexec_fn=on_one_core if case.one_core else None,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(f"{case.name}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    hashes: dict[str, str] = json.loads(done.stdout)
    return hashes


def main() -> int:
    """Run all cases; returns the exit code."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    if not can_pin():
        say("bits: skipped, since this is not Linux on a processor with AVX2 and FMA")
        return 0
    failed = False
    expected = run(Case("as make runs it"))
    say(f"bits: {' '.join(f'{task} {digest}' for task, digest in expected.items())}")
    for case in CASES:
        if case.emulated and not shutil.which(EMULATOR):
            say(f"bits: {case.name}: {MISSING}")
            continue
        started = time.monotonic()
        hashes = run(case)
        other = [task for task, digest in hashes.items() if digest != expected[task]]
        failed |= bool(other)
        text = (
            f"differs in {', '.join(other)}" if other else f"{len(hashes)} of {len(hashes)} equal"
        )
        say(f"bits: {case.name}: {text}, {time.monotonic() - started:.0f} s")
    kernels = {name: value for name, value in OTHERS.items() if name in KERNELS}
    unpinned = run(Case("without pins", variables=kernels), ["algebra", "realisations"], dict)
    same = [task for task, digest in unpinned.items() if digest == expected[task]]
    say(f"bits: without the pins {len(unpinned) - len(same)} of {len(unpinned)} parts differ")
    return int(failed or bool(same))


if __name__ == "__main__":
    sys.exit(main())
