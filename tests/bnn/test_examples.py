"""Docstrings show how public names are used, their examples run, and the import takes little."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import bnn
from tests.bnn.calls import public

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(bnn.__path__, "bnn.")
    if name != "bnn.interop.botorch_ensemble"  # needs BoTorch
]


def test_public_names_have_examples():
    shown = {k: v for k, v in public().items() if inspect.isfunction(v) or inspect.isclass(v)}
    texts = {name: inspect.getdoc(value) or "" for name, value in shown.items()}
    assert [name for name, text in texts.items() if "Examples:\n" not in text] == []


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.usefixtures("one_family")
@pytest.mark.filterwarnings("ignore::UserWarning")  # ensembles of a few epochs have not arrived
def test_the_examples_of_a_module_run(name):
    mpl.use("Agg")
    failed, _ = doctest.testmod(importlib.import_module(name))
    plt.close("all")
    assert failed == 0


CODE = """
import sys, time, torch
start = time.process_time()
import bnn
print(time.process_time() - start, *({"matplotlib", "numba"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_an_import_takes_two_seconds_beyond_pytorch_without_pictures_and_a_compiler():
    """Processor time, the least of five, so that other work on the machine counts little."""
    command = [sys.executable, "-c", CODE]
    texts = [subprocess.check_output(command, text=True) for _ in range(5)]
    assert min(float(text) for text in texts) < 2.0  # one number, and no name of a module
