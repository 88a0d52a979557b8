"""Tasks of dodo.py for a profile and a folder of tables."""

import json
import runpy
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from figures.pipeline.paths import REFERENCE, ROOT, run_name


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


def apart(names, basename):
    (task,) = [task for task in names.task_apart() if task["basename"] == basename]
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


def test_jobs_are_the_cores_unless_given(dodo):
    assert dodo(PROFILE="quick").JOBS >= 1
    assert dodo(PROFILE="quick", JOBS=3).JOBS == 3
    with pytest.raises(SystemExit, match="JOBS = 'many' is not allowed"):
        dodo(PROFILE="quick", JOBS="many")


@pytest.mark.parametrize("given", ["", "own", "link"])
def test_own_tables_are_known_by_any_path(dodo, tmp_path, given):
    own = ROOT / "data" / "full"
    (tmp_path / "link").symlink_to(own)
    data = {"": "", "own": f"{own}/", "link": tmp_path / "link"}[given]
    names = dodo(PROFILE="full", DATA=data)
    assert names.RUN == "full"
    assert apart(names, "beyond")["task_dep"] == ["notebook:full:05_beyond_the_paper"]


def test_the_comparison_runs_on_other_tables_by_any_path(dodo, tables):
    for data in (tables, f"{tables}/", tables / "." / ".." / tables.name):
        names = dodo(PROFILE="full", DATA=data)
        assert run_name("full", tables) == names.RUN
        assert apart(names, "beyond")["task_dep"] == [f"notebook:{names.RUN}:05_beyond_the_paper"]


def test_draws_are_simulated_once_each_or_read_where_a_folder_has_them(dodo, tables):
    names = dodo(PROFILE="full")
    (draws,) = [t for t in names.task_notebook() if t["name"].endswith("04_materials_draws")]
    (simulated,) = names.task_drawn_cells()
    assert draws["task_dep"] == [f"drawn_cells:{simulated['name']}"]
    designs = {path.parent.name for path in simulated["targets"]}
    assert designs == {"test_uniform", "train_beta", "train_uniform"}
    shipped = dodo(PROFILE="full", DATA=ROOT / "fe_data" / "datasets")
    (draws,) = [t for t in shipped.task_notebook() if t["name"].endswith("04_materials_draws")]
    assert not draws["task_dep"]
    without = dodo(PROFILE="full", DATA=tables)
    assert not [t for t in without.task_notebook() if t["name"].endswith("04_materials_draws")]
    (refuse,) = apart(without, "draws")["actions"]
    assert f"no tables of independent draws in {tables}/draws" in refuse().get_msg()


def test_a_profile_may_lack_the_comparison(dodo, profile_file):
    assert apart(dodo(PROFILE=profile_file), "beyond")["task_dep"] == []


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
@pytest.mark.parametrize("target", ["quick", "reproduce", "beyond", "datasets", "truth"])
def test_targets_with_a_profile_of_their_own_take_no_other(target):
    command = ["make", "-n", target, "PROFILE=full"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode
    assert f"PROFILE = full is not allowed with make {target}" in done.stderr
    assert subprocess.run([*command[:3], "SEED=2"], cwd=ROOT, capture_output=True).returncode == 0


def test_the_page_is_out_of_date_once_a_notebook_apart_has_run(dodo, tmp_path):
    names = dodo(PROFILE="full")
    names.task_report.__globals__["OUT"] = tmp_path
    metrics = tmp_path / "05_beyond_the_paper.json"

    def results():
        (task,) = names.task_report()
        return task["uptodate"][0].config

    assert results() == {}
    metrics.write_text(json.dumps({"figures": {"a.svg": "A"}}))
    assert results() == {}  # without its picture
    (tmp_path / "a.svg").write_text("x")
    first = results()
    assert set(first) == {metrics.name}
    metrics.write_text(json.dumps({"figures": {"a.svg": "A"}, "title": "another"}))
    assert results() != first


def test_the_page_of_a_small_run_follows_the_metrics_of_the_full_run(dodo):
    (task,) = dodo(PROFILE="quick").task_report()
    committed = set(REFERENCE.glob("*.json"))
    assert committed
    assert committed <= set(task["file_dep"])
    (task,) = dodo(PROFILE="full").task_report()
    assert REFERENCE / "05_beyond_the_paper.json" not in task["file_dep"]  # that would run it


def test_tables_come_first_and_the_page_waits_for_every_notebook(dodo, tables):
    names = dodo(PROFILE="quick")
    (page,) = names.task_report()
    (simulated,) = names.task_dataset()
    first, *notebooks = page["task_dep"]
    assert first == f"dataset:{simulated['name']}"
    assert notebooks == [f"notebook:{task['name']}" for task in names.task_notebook()]
    (page,) = dodo(PROFILE="quick", DATA=tables).task_report()
    assert all(name.startswith("notebook:") for name in page["task_dep"])
