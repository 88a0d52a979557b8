"""Tasks of dodo.py for a profile and a folder of tables."""

import runpy
import shutil
from types import SimpleNamespace

import pytest

from figures.pipeline.paths import ROOT, SHIPPED_TABLES


@pytest.fixture
def dodo(monkeypatch):
    """The names of dodo.py under parameters from the environment."""

    def load(**variables):
        for name in ("PROFILE", "DATA", "SEED", "JOBS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        return SimpleNamespace(**runpy.run_path(str(ROOT / "dodo.py")))

    return load


def notebook_task(names, number):
    (task,) = [t for t in names.task_notebook() if f":{number}" in t["name"]]
    return task


def apart(names, basename):
    (task,) = [task for task in names.task_apart() if task["basename"] == basename]
    return task


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
    data = ROOT / "notebooks" / "data"
    assert names_of(notebook_task(names, "02"), data) == {"02_example_1d.csv"}
    assert names_of(notebook_task(names, "04_materials_surrogate"), data) == set()


def test_draws_are_simulated_once_each_or_read_where_a_folder_has_them(dodo, tables):
    names = dodo(PROFILE="full")
    (simulated,) = names.task_draws()
    draws = notebook_task(names, "04b_repeated_datasets")
    assert draws["task_dep"] == [f"draws:{simulated['name']}"]
    designs = {path.parent.name for path in simulated["targets"]}
    assert designs == {"test_uniform", "train_beta", "train_uniform"}
    shipped = dodo(PROFILE="full", DATA=SHIPPED_TABLES)
    assert not notebook_task(shipped, "04b_repeated_datasets")["task_dep"]
    (refuse,) = apart(dodo(PROFILE="full", DATA=tables), "repeats")["actions"]
    assert f"no tables of independent draws in {tables}/draws" in refuse().get_msg()
