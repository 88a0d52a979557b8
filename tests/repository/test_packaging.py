"""What is imported is declared, and every declared package has a tested version."""

import re
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from figures.pipeline.dependencies import imported_names

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = tuple(PROJECT["project"]["optional-dependencies"])
# Import names that differ from the names of their packages, and what the distribution provides.
PACKAGE_OF = {
    "bs4": "beautifulsoup4",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "pydantic_core": "pydantic",
}
FROM_DISTRIBUTION = {"basix", "cffi", "dolfinx", "mpi4py", "petsc4py", "ufl"}
ON_DEMAND = {"botorch", "gpytorch"}  # bnn.interop imports them when it is asked for a model


def imported_packages(folders):
    """Packages from outside that the source files of the folders import."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    names = {name.split(".")[0] for path in paths for name in imported_names(path.read_text())}
    own = {path.name for path in ROOT.iterdir()} | {"tests", "bench"}
    foreign = names - own - set(sys.stdlib_module_names) - FROM_DISTRIBUTION - {""}
    return {PACKAGE_OF.get(name, name.replace("_", "-")) for name in foreign}


def declared_packages(*extras):
    project = PROJECT["project"]
    optional = project["optional-dependencies"]
    lines = project["dependencies"] + [line for extra in extras for line in optional[extra]]
    return {re.match(r"[\w-]+", line)[0] for line in lines}


def test_every_imported_package_is_declared():
    assert imported_packages(["bnn"]) <= declared_packages("botorch")
    assert imported_packages(["fe_data"]) <= declared_packages("fe", "dask")
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
