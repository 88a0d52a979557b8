"""Tasks of dodo.py for a profile and a folder of tables."""

import re
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from figures.pipeline.paths import ROOT, SHIPPED_TABLES
from figures.pipeline.profiles import REPEATED


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
    (folder / "draws").mkdir()
    draws = shutil.copy(tables / "train_beta.csv", folder / "draws")
    assert Path(draws) in notebook_task(dodo(PROFILE="quick", DATA=folder), "03")["file_dep"]
    assert names_of(notebook_task(names, "01"), folder) == set()
    data = ROOT / "notebooks" / "data"
    assert names_of(notebook_task(names, "02"), data) == {"02_example_1d.csv"}
    assert names_of(notebook_task(names, "04_materials_surrogate"), data) == set()


def test_draws_are_simulated_once_each_or_read_where_a_folder_has_them(dodo):
    names = dodo(PROFILE="full")
    (simulated,) = names.task_draws()
    draws = notebook_task(names, "04b_repeated_datasets")
    assert draws["task_dep"] == [f"draws:{simulated['name']}"]
    designs = {path.parent.name for path in simulated["targets"]}
    assert designs == {"test_uniform", "train_beta", "train_uniform"}
    count = re.search(r"(\d+) inputs", simulated["doc"])[1]
    page = (ROOT / "studies" / "repeats" / "README.md").read_text(encoding="utf-8")
    assert f"simulation of {int(count):,} RVEs" in page
    shipped = dodo(PROFILE="full", DATA=SHIPPED_TABLES)
    assert not notebook_task(shipped, "04b_repeated_datasets")["task_dep"]


OF_SHIPPED = {"ablation", "prior_knowledge", "active_learning", "strain_paths"}
WITH_SECTION = {"ablation", "other_methods", "prior_knowledge"}


@pytest.mark.parametrize(
    ("profile", "has_data", "refused", "why"),
    [
        ("quick", False, set(), ""),
        ("studies/check.yaml", False, set(), ""),
        ("my.yaml", False, WITH_SECTION, "ablation: field required"),
        ("full", True, OF_SHIPPED, "DATA = "),
    ],
)
def test_a_study_refuses_what_it_does_not_read(
    dodo, tables, tmp_path, profile, has_data, refused, why
):
    """A profile without its section; or a folder of tables, of which it would read none."""
    if profile == "my.yaml":
        profile = shutil.copy(ROOT / "notebooks" / "profiles" / "quick.yaml", tmp_path / profile)
    names = dodo(PROFILE=profile, **({"DATA": tables} if has_data else {}))
    studies = {task["name"]: task for task in names.task_study()}
    assert {name for name, task in studies.items() if "targets" not in task} == refused
    assert all(task["doc"].startswith("execute notebook") for task in studies.values())
    if refused:
        (refusal,) = studies["ablation"]["actions"]
        assert why in refusal().get_msg()


def test_a_seed_changes_the_training_and_keeps_the_tables(dodo):
    """The seed of simulations stands in the profile."""
    runs = [dodo(PROFILE="quick", **variables) for variables in ({}, {"SEED": 7})]
    tables = [[str(task["actions"]) for task in names.task_dataset()] for names in runs]
    seeds = [notebook_task(names, "01")["actions"][0][1][0] for names in runs]
    assert tables[0] == tables[1]
    assert [words[words.index("seed") + 1] for words in seeds] == ["1", "7"]


def test_repeats_train_several_times_into_a_folder_of_their_own(dodo, tables):
    names = dodo(PROFILE="full")
    *repeated, draws = names.task_repeats()
    assert draws["task_dep"] == ["notebook:full:04b_repeated_datasets"]
    out = ROOT / "studies" / "repeats" / "results" / "full"
    for task, name in zip(repeated, REPEATED, strict=True):
        assert task["name"] == f"full:{name}"
        assert task["targets"][0] == out / f"{name}.json"
        once = notebook_task(names, name)
        assert once["targets"][0] == ROOT / "figures" / "full" / f"{name}.json"
        assert str(once["uptodate"]) != str(task["uptodate"])
        assert once["meta"]["seconds"] < task["meta"]["seconds"]
    # Other tables matter to one of them, and have no independent draws here.
    (task,) = dodo(PROFILE="full", DATA=tables).task_repeats()
    assert task["name"].endswith(":04_materials_surrogate")
