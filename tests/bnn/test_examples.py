"""Every public class and function shows in its docstring how it is used, and the examples run."""

import doctest
import importlib
import inspect
import pkgutil

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
@pytest.mark.filterwarnings("ignore::UserWarning")  # ensembles of a few epochs have not arrived
def test_the_examples_of_a_module_run(name):
    mpl.use("Agg")
    failed, _ = doctest.testmod(importlib.import_module(name))
    plt.close("all")
    assert failed == 0
