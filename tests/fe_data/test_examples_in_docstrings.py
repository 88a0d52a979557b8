"""The examples in the docstrings of the package run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import fe_data

MODULES = [
    module.name
    for module in pkgutil.walk_packages(fe_data.__path__, "fe_data.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, monkeypatch, pytestconfig):
    monkeypatch.chdir(pytestconfig.rootpath)
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
