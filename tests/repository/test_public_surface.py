"""What the packages show: every public name is documented in place."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

from bnn.gp import kernel

PACKAGES = ("bnn", "fe_data")


def functions_of(value, name):
    """A function, or the methods of a class that this repository defines, by their names."""
    if not inspect.isclass(value):
        return [(name, value)]
    keys = [key for key in vars(value) if not re.match("_|set_.*_request", key)]
    members = [(f"{name}.{key}", getattr(value, key)) for key in keys]
    return [(name, value), *((key, member) for key, member in members if callable(member))]


def public_callables():
    """Name and object of each function, class and method that a package exports."""
    surface = {}
    for package in map(importlib.import_module, PACKAGES):
        names = [(f"{package.__name__}.{name}", getattr(package, name)) for name in package.__all__]
        for name, value in names:
            members = {name: value}
            if isinstance(value, ModuleType):
                public = {key: member for key, member in vars(value).items() if key[0] != "_"}
                members = {
                    f"{name}.{key}": member
                    for key, member in public.items()
                    if getattr(member, "__module__", "").startswith(value.__name__)
                }
            for key, member in members.items():
                if callable(member):
                    surface.update(functions_of(member, key))
    return surface


def is_one_sentence(text, parameters):
    """Whether a docstring without sections says what is returned, and names all parameters."""
    named = all(re.search(rf"\b{name}\b", text) for name in parameters)
    return named and "\n" not in text and text.startswith("Return ")


def undocumented(value):
    """Parameters that the docstring of a function or class lacks, and "Returns" where it does."""
    text = inspect.getdoc(value) or ""
    for name, method in re.findall(r"see `(\w+)\.(\w+)`", text):  # an overridden method
        if hasattr(kernel, name):
            text = inspect.getdoc(getattr(getattr(kernel, name), method))
    # Fields are documented where they are defined; those of estimators in place too.
    if dataclasses.is_dataclass(value) and not hasattr(value, "fit"):
        text += "".join(base.__doc__ or "" for base in value.__mro__ if base is not object)
    if inspect.isclass(value) and issubclass(value, BaseException):
        return [] if text else ["docstring"]
    signature = inspect.signature(value)
    parameters = [name for name in signature.parameters if name != "self"]
    if is_one_sentence(text, parameters):
        return []
    missing = [name for name in parameters if not re.search(rf"(?m)^ +\**{name}\b[^:\n]*:", text)]
    returns = inspect.isclass(value) or signature.return_annotation in (None, "None")
    if parameters and not returns and not re.search(r"(?m)^(Returns|Yields):", text):
        missing.append("Returns")
    return missing if text else ["docstring"]


def test_docstrings_name_every_parameter_and_what_is_returned():
    missing = {name: undocumented(value) for name, value in public_callables().items()}
    assert len(missing) > 100
    assert {name: parts for name, parts in missing.items() if parts} == {}


GAUSSIAN_PROCESS = """
import sys
import bnn
before = {name.partition(".")[0] for name in sys.modules}
model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF()), noise=0.1)
model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[0.5]], return_std=True)
print(repr(model), "numpy" in before, "torch" in sys.modules)
"""


@pytest.mark.slow
def test_a_gaussian_process_needs_no_pytorch_and_importing_bnn_nothing():
    command = [sys.executable, "-c", GAUSSIAN_PROCESS]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.endswith(" False False\n")


def test_all_public_names_can_be_imported():
    for package in map(importlib.import_module, PACKAGES):
        assert len(package.__all__) > 40
        assert [name for name in package.__all__ if not hasattr(package, name)] == []
        assert set(package.__all__) <= set(dir(package))
