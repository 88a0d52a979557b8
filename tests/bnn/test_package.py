"""The public surface of the package."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLOCK = """
import time
start = time.process_time()
import torch
middle = time.process_time()
import bnn
print(middle - start, time.process_time() - middle)
"""


@pytest.mark.slow
def test_importing_the_package_imports_neither_pictures_nor_a_compiler():
    """Matplotlib and numba wait until they are used; pandas, if installed, comes with sklearn."""
    code = (
        "import sys, bnn\n"
        "print(*({'matplotlib', 'numba'} & set(sys.modules)))\n"
        "print(bnn.plots.plot_1d.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "\nplot_1d\n", done.stderr


@pytest.mark.slow
def test_the_import_takes_at_most_two_seconds_beyond_pytorch():
    """Processor time, the least of five, so that other work on the machine counts little."""
    command = [sys.executable, "-c", CLOCK]
    texts = [subprocess.check_output(command, cwd=ROOT, text=True) for _ in range(5)]
    times = [tuple(map(float, text.split())) for text in texts]
    for torch_seconds, bnn_seconds in times:
        print(f"PyTorch {torch_seconds:.2f} s, bnn {bnn_seconds:.2f} s")
    assert min(seconds for _, seconds in times) < 2.0
