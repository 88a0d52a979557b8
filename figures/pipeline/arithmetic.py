"""The same arithmetic for published results on any processor with any number of cores.

Numerical libraries choose their kernels by the processor and the number of threads. Different
kernels add in different orders, and training amplifies differences in the last bit. Programs whose
results are committed therefore run with the environment variables `pins()`. Libraries read them
when they are imported, and worker processes and notebook kernels inherit them. Importing bnn or
fe_data does not set them.

The last bit of some functions of PyTorch depends on the processor even with these variables: sqrt,
asin, acos, atan, tan and log10. Do not use them for results, nor an Adam that is not fused, which
takes such a square root.

    python -m figures.pipeline.arithmetic -m MODULE ...    runs a module with these variables
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

# Features of a Haswell processor of 2013; every later processor with AVX2 and FMA has them.
NEEDED = frozenset({"avx2", "fma"})
KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",  # for PyTorch; with any other value MKL chooses by vendor
    "ATEN_CPU_CAPABILITY": "avx2",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma",
    "BNN_PRODUCTS": "own",
    "FE_DATA_SOLVER": "own",
}
# Features are enabled instead of disabled, because NumPy warns if it was not built for a disabled
# feature. NumPy 2.4 renamed the features.
NUMPY_FEATURES = {(1, 0): "SSSE3 SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2", (2, 4): "X86_V3"}


def of_processor(name: str) -> str:
    """Return an entry of /proc/cpuinfo, such as "flags"; empty if it is missing."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.is_file() else ""
    match = re.search(rf"^{name}\s*: (.*)", text, re.MULTILINE)
    return match[1] if match else ""


def features() -> frozenset[str]:
    """Return the features of the processor as Linux names them; empty if they are unknown."""
    return frozenset(of_processor("flags").split())


def can_pin() -> bool:
    """Return whether this is Linux on an x86-64 processor with AVX2 and FMA."""
    return platform.machine() == "x86_64" and features() >= NEEDED


def pins() -> dict[str, str]:
    """Return the variables that fix the arithmetic; on other processors only those for threads."""
    threads = dict.fromkeys(THREAD_VARIABLES, "1")
    if not can_pin():
        return threads
    version = tuple(map(int, importlib.metadata.version("numpy").split(".")[:2]))
    newest = max(first for first in NUMPY_FEATURES if first <= version)
    return {**threads, **KERNELS, "NPY_ENABLE_CPU_FEATURES": NUMPY_FEATURES[newest]}


def environment(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a program with published results: `variables` and the pins."""
    # NumPy rejects both lists together.
    admitted = {
        name: value for name, value in variables.items() if name != "NPY_DISABLE_CPU_FEATURES"
    }
    return {**admitted, **pins()}


def described(variables: Mapping[str, str] = os.environ) -> str:
    """Describe how the arithmetic of this process is fixed, for the provenance."""
    wanted = pins()
    missing = sorted(name for name, value in wanted.items() if variables.get(name) != value)
    if missing:
        return f"not pinned: {', '.join(missing)}"
    if not can_pin():
        return "not pinned: the processor lacks AVX2 or FMA, or this is not Linux"
    kernels = {name: value for name, value in wanted.items() if name not in THREAD_VARIABLES}
    return "pinned: one thread, " + ", ".join(f"{name}={value}" for name, value in kernels.items())


def main() -> None:
    """Replace this process by a module that runs with the pins."""
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
