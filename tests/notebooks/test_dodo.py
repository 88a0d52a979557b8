"""Tasks of dodo.py for a profile and a folder of tables."""

import json
import runpy
import shutil
from types import SimpleNamespace

import pytest

from figures.dependencies import ROOT


@pytest.fixture
def dodo(monkeypatch):
    """The names of dodo.py under parameters from the environment."""

    def load(**given):
        for name in ("PROFILE", "DATA", "SEED", "JOBS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, str(value))
        return SimpleNamespace(**runpy.run_path(str(ROOT / "dodo.py")))

    return load


def notebook_task(names, number):
    (task,) = [t for t in names.task_notebook() if f":{number}_" in t["name"]]
    return task


def test_a_notebook_is_out_of_date_without_one_of_its_pictures(dodo, tmp_path):
    task = notebook_task(dodo(PROFILE="quick"), "02")
    ((check, _),) = [each for each in task["uptodate"] if isinstance(each, tuple)]
    metrics = tmp_path / "n.json"
    metrics.write_text(json.dumps({"figures": {"a.svg": "A"}}))
    assert not check(None, {}, metrics)
    (tmp_path / "a.svg").write_text("x")
    assert check(None, {}, metrics)


def names_of(task, folder):
    return {path.name for path in task["file_dep"] if folder in path.parents}


def test_a_notebook_depends_on_every_table_that_is_there(dodo, tables, tmp_path):
    """Notebook 03 reads noise, which the profile does not list."""
    folder = tmp_path / "mine"
    shutil.copytree(tables, folder)
    shutil.copy(tables / "train_beta.csv", folder / "noise.csv")
    names = dodo(PROFILE="quick", DATA=folder)
    expected = {"train_beta.csv", "test_uniform.csv", "noise.csv"}
    assert names_of(notebook_task(names, "03"), folder) == expected
    assert names_of(notebook_task(names, "01"), folder) == set()


@pytest.mark.parametrize(("number", "reads"), [("02", True), ("05", True), ("04", False)])
def test_a_notebook_depends_on_the_data_that_its_sources_name(dodo, number, reads):
    found = names_of(notebook_task(dodo(PROFILE="quick"), number), ROOT / "notebooks" / "data")
    assert found == ({"02_example_1d.csv"} if reads else set())
