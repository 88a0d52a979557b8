"""Tasks of dodo.py for a profile and a folder of tables."""

import runpy
import shutil
from types import SimpleNamespace

import pytest

from figures.pipeline.paths import REFERENCE, ROOT, SHIPPED_TABLES, run_name


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
    (task,) = [t for t in names.task_notebook() if f":{number}" in t["name"]]
    return task


def apart(names, basename):
    (task,) = [task for task in names.task_apart() if task["basename"] == basename]
    return task


def names_of(task, folder):
    return {path.name for path in task["file_dep"] if folder in path.parents}


def test_bad_parameters_are_refused(dodo):
    for name, value in (("PROFILE", "fast"), ("SEED", "-1"), ("JOBS", "0")):
        with pytest.raises(SystemExit, match=f"make: .*{value}"):
            dodo(**{name: value})


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


def test_a_folder_of_tables_is_known_by_any_path(dodo, tables, tmp_path):
    (tmp_path / "link").symlink_to(ROOT / "data" / "full")
    for data in ("", f"{ROOT}/data/full/", tmp_path / "link"):
        assert dodo(PROFILE="full", DATA=data).RUN == "full"
    for data in (tables, f"{tables}/", tables / "." / ".." / tables.name):
        names = dodo(PROFILE="full", DATA=data)
        assert run_name("full", tables) == names.RUN
        assert apart(names, "compare-methods")["task_dep"] == [
            f"notebook:{names.RUN}:05_other_methods"
        ]


def test_draws_are_simulated_once_each_or_read_where_a_folder_has_them(dodo, tables):
    names = dodo(PROFILE="full")
    (simulated,) = names.task_drawn_cells()
    draws = notebook_task(names, "04b_repeated_datasets")
    assert draws["task_dep"] == [f"drawn_cells:{simulated['name']}"]
    designs = {path.parent.name for path in simulated["targets"]}
    assert designs == {"test_uniform", "train_beta", "train_uniform"}
    shipped = dodo(PROFILE="full", DATA=SHIPPED_TABLES)
    assert not notebook_task(shipped, "04b_repeated_datasets")["task_dep"]
    (refuse,) = apart(dodo(PROFILE="full", DATA=tables), "repeat-datasets")["actions"]
    assert f"no tables of independent draws in {tables}/draws" in refuse().get_msg()


def test_tables_come_first_and_the_page_waits_for_every_notebook(dodo, tables):
    names = dodo(PROFILE="quick")
    (page,) = names.task_report()
    (simulated,) = names.task_dataset()
    first, *notebooks = page["task_dep"]
    assert first == f"dataset:{simulated['name']}"
    waits = {f"notebook:{task['name']}": bool(task["task_dep"]) for task in names.task_notebook()}
    assert sorted(notebooks) == sorted(waits)
    # Those that wait for the tables begin last.
    begun = [waits[name] for name in notebooks]
    assert begun == sorted(begun)
    assert {*begun} == {True, False}
    assert {*REFERENCE.glob("*.json")} <= {*page["file_dep"]}
    (page,) = dodo(PROFILE="quick", DATA=tables).task_report()
    assert all(name.startswith("notebook:") for name in page["task_dep"])
