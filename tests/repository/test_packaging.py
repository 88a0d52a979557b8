"""What is imported is declared, and every declared package has a tested version."""

import re
import tomllib
from fnmatch import fnmatch

from tests.repository.lanes.common import ON_DEMAND, ROOT, imported_packages

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = tuple(PROJECT["project"]["optional-dependencies"])


def declared_packages(*extras):
    project = PROJECT["project"]
    optional = project["optional-dependencies"]
    lines = project["dependencies"] + [line for extra in extras for line in optional[extra]]
    return {re.match(r"[\w-]+", line)[0] for line in lines}


def test_every_imported_package_is_declared():
    assert imported_packages(["bnn"]) <= declared_packages("botorch")
    assert imported_packages(["fe_data"]) <= declared_packages("fe", "dask", "pandas")
    assert imported_packages(["figures", "prior_study"]) <= declared_packages("fe", "paper")
    assert imported_packages(["tests"]) <= declared_packages(*EXTRAS)


def test_the_distribution_is_bnn_and_fe_data_and_nothing_else_is_installed_with_bnn():
    """What bnn does not import comes with extras; fe_data's __init__ needs lazy-loader."""
    assert declared_packages() == imported_packages(["bnn"]) - ON_DEMAND | {"lazy-loader"}
    patterns = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {f for f in folders if any(fnmatch(f, p) for p in patterns)} == {"bnn", "fe_data"}


def test_both_lists_of_versions_name_every_declared_package():
    declared = declared_packages(*EXTRAS)
    pinned = set(re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text().lower()))
    assert declared <= pinned
    conda_names = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base", "dask": "dask-core"}
    listed = set(re.findall(r"(?m)^ *- ([\w-]+)=", (ROOT / "environment.yml").read_text()))
    assert {conda_names.get(name, name) for name in declared} <= listed
