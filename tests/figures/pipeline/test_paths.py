"""When a notebook counts as run."""

import json
from types import SimpleNamespace

import pytest

from figures.pipeline.actions import ResultsUnchanged
from figures.pipeline.paths import is_complete


@pytest.fixture
def metrics(tmp_path):
    path = tmp_path / "n.json"
    path.write_text(json.dumps({"figures": {"a.svg": "A", "b.png": "B"}}))
    for name in ("a.svg", "b.png"):
        (tmp_path / name).write_text("x")
    return path


def test_a_run_is_complete_with_every_picture_only(metrics):
    assert is_complete(metrics)
    (metrics.parent / "b.png").write_text("")
    assert not is_complete(metrics)
    (metrics.parent / "b.png").unlink()
    assert not is_complete(metrics)


@pytest.mark.parametrize("text", [None, "", '{"figures": {', "[]", b"\xff"])
def test_metrics_that_are_missing_or_cut_off_are_not_complete(metrics, text):
    metrics.unlink()
    if text is not None:
        metrics.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert not is_complete(metrics)


def test_the_page_is_out_of_date_once_a_notebook_apart_has_run(metrics):
    check = ResultsUnchanged([metrics])
    picture = metrics.parent / "a.svg"
    picture.unlink()
    task = SimpleNamespace(value_savers=[])
    check.configure_task(task)
    check(task, {})
    (saved,) = [save() for save in task.value_savers]
    assert check(task, saved)
    picture.write_text("x")
    assert not check(task, saved)
