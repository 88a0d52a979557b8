"""One arithmetic for published results, whatever the processor and the number of its cores.

Libraries choose kernels by the processor and by the number of threads. Kernels add in different
orders, and training amplifies the last bit. Programs whose results are committed therefore run with
the environment variables `pins()`. Libraries read them when they are imported. Workers and kernels
of notebooks inherit them. Importing bnn or fe_data sets none of them.

    python -m figures.pipeline.arithmetic -m MODULE ...    runs a module with them
"""

import argparse
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from fe_data.dataset.executors import THREAD_VARIABLES

# What a Haswell processor of 2013 has, as has every later one with AVX2 and FMA.
NEEDED = frozenset({"avx2", "fma"})
KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",  # in PyTorch; with any other value it chooses by the vendor
    "ATEN_CPU_CAPABILITY": "avx2",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma",
    "BNN_PRODUCTS": "own",
    "FE_DATA_SOLVER": "own",
}
# To enable features is silent on every processor with AVX2; to disable those that NumPy was not
# built for gives a warning. NumPy 2.4 gives them other names.
NUMPY_FEATURES = {(1, 0): "SSSE3 SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2", (2, 4): "X86_V3"}


def features() -> frozenset[str]:
    """Names of what the processor can do, as Linux gives them; empty where they are not known."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.is_file() else ""
    flags = re.search(r"^flags\s*: (.*)", text, re.MULTILINE)
    return frozenset(flags[1].split()) if flags else frozenset()


def can_pin() -> bool:
    """Whether this is Linux on an x86-64 processor with AVX2 and FMA."""
    return platform.machine() == "x86_64" and features() >= NEEDED


def pins() -> dict[str, str]:
    """The variables that fix the arithmetic; on another processor only those of the threads."""
    threads = dict.fromkeys(THREAD_VARIABLES, "1")
    if not can_pin():
        return threads
    version = tuple(map(int, importlib.metadata.version("numpy").split(".")[:2]))
    newest = max(first for first in NUMPY_FEATURES if first <= version)
    return {**threads, **KERNELS, "NPY_ENABLE_CPU_FEATURES": NUMPY_FEATURES[newest]}


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables of a program whose results are published: the pins win."""
    # NumPy rejects both lists together.
    kept = {name: each for name, each in given.items() if name != "NPY_DISABLE_CPU_FEATURES"}
    return {**kept, **pins()}


def described(given: Mapping[str, str] = os.environ) -> str:
    """What fixes the arithmetic of this process, for provenance."""
    wanted = pins()
    missing = sorted(name for name, value in wanted.items() if given.get(name) != value)
    if missing:
        return f"not pinned: {', '.join(missing)}"
    if not can_pin():
        return "not pinned: the processor lacks AVX2 or FMA, or this is not Linux"
    kernels = {name: value for name, value in wanted.items() if name not in THREAD_VARIABLES}
    return "pinned: one thread, " + ", ".join(f"{name}={each}" for name, each in kernels.items())


def main() -> None:
    """Run a module with the pins, in place of this program."""
    parser = argparse.ArgumentParser(description="Run a Python module with pinned arithmetic.")
    parser.add_argument(
        "-m",
        dest="command",
        nargs=argparse.REMAINDER,
        required=True,
        metavar="MODULE",
        help="name of the module, and its arguments",
    )
    command = [sys.executable, "-m", *parser.parse_args().command]
    os.execve(sys.executable, command, environment())


if __name__ == "__main__":
    main()
