"""What is imported is declared, and every declared package has a tested version."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

import fe_data
from tests.repository.environments.common import ON_DEMAND, ROOT, imported_packages
from tests.repository.versions import EXTRAS, declared

SHIPPED = ("bnn", "fe_data", "safe_files")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared_packages(*extras):
    return set(declared(*extras))


@pytest.mark.slow
def test_every_imported_package_is_declared():
    assert imported_packages(["bnn"]) <= declared_packages("botorch")
    assert imported_packages(["fe_data"]) <= declared_packages("fe", "dask", "pandas")
    assert imported_packages(["figures", "prior_study"]) <= declared_packages("fe", "paper")
    assert imported_packages(["tests"]) <= declared_packages(*EXTRAS)


def test_the_distribution_is_three_packages_and_little_else_is_installed_with_bnn():
    """Extras bring what bnn does not import, except what fe_data and its commands start with."""
    assert declared_packages() == imported_packages(["bnn"]) - ON_DEMAND | {"lazy-loader", "typer"}
    patterns = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {f for f in folders if any(fnmatch(f, p) for p in patterns)} == set(SHIPPED)
    assert all((ROOT / package / "py.typed").exists() for package in SHIPPED)


@pytest.mark.slow
def test_the_wheel_runs_the_readme_and_prints_its_version_away_from_the_checkout(tmp_path):
    """It has all files of its packages but pages and their table, and needs no checkout."""
    source, away = tmp_path / "source", tmp_path / "away"
    ignored = shutil.ignore_patterns("__pycache__")
    for package in SHIPPED:
        shutil.copytree(ROOT / package, source / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source)
    files = {path.relative_to(source) for path in source.glob("*/**/*") if path.is_file()}
    pages = {path for path in files if path.suffix == ".md" and "datasets" not in path.parts}
    pages |= {Path("bnn", "notation.csv")}

    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(away)
    assert {str(f) for f in files - pages} == {
        str(path.relative_to(away))
        for path in away.rglob("*")
        if path.is_file() and not path.relative_to(away).parts[0].endswith(".dist-info")
    }

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(away)}
        command = [sys.executable, "-W", "ignore", *arguments]
        return subprocess.run(
            command, cwd=away, env=environment, capture_output=True, text=True, check=True
        ).stdout

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?import bnn\n.*?)```", text, re.S)[1]
    assert "b_eff [MPa] of a new RVE" in run("-c", example)
    assert run("-c", "import fe_data; print(fe_data.__file__)").startswith(str(away))
    assert run("-m", "fe_data", "--version") == f"fe_data {fe_data.__version__}\n"
