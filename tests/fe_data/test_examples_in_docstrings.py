"""Every public name shows in its docstring how it is used, and the examples run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import fe_data

MODULES = [
    module.name
    for module in pkgutil.walk_packages(fe_data.__path__, "fe_data.")
    if not module.name.endswith("__main__")
]


def test_every_public_name_has_an_example():
    texts = {name: inspect.getdoc(getattr(fe_data, name)) or "" for name in fe_data.__all__}
    assert [name for name, text in texts.items() if "Examples:\n" not in text] == []


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, monkeypatch, pytestconfig):
    monkeypatch.chdir(pytestconfig.rootpath)
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
