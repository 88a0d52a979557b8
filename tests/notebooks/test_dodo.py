"""Tasks of dodo.py for a profile and a folder of tables."""

import json
import runpy
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
