"""When a notebook counts as run, and where results go."""

import json

import pytest

from figures.pipeline.paths import ROOT, is_complete, run_name


@pytest.fixture
def metrics(tmp_path):
    path = tmp_path / "n.json"
    path.write_text(json.dumps({"figures": {"a.svg": "A", "b.png": "B"}}))
    for name in ("a.svg", "b.png"):
        (tmp_path / name).write_text("x")
    return path


def test_a_run_is_complete_with_every_picture_only(metrics):
    assert is_complete(metrics)
    linked = metrics.parent.with_name(f"{metrics.parent.name}-linked")
    linked.symlink_to(metrics.parent)
    assert is_complete(linked / metrics.name)
    (metrics.parent / "b.png").write_text("")
    assert not is_complete(metrics)
    (metrics.parent / "b.png").unlink()
    assert not is_complete(metrics)


def test_metrics_that_are_missing_or_cut_off_are_not_complete(metrics):
    for damaged in (b"", b'{"figures": {', b"[]", b"\xff", 5000 * b"["):
        metrics.write_bytes(damaged)
        assert not is_complete(metrics)
    metrics.unlink()
    assert not is_complete(metrics)


def test_results_on_other_tables_go_to_a_folder_of_their_own(tmp_path):
    assert run_name("full") == "full"
    assert run_name("full", ROOT / "authors") == "full-authors"
    names = {run_name("full", tmp_path / user / "tables") for user in ("a", "b")}
    assert len(names) == 2
    assert all(name.startswith("full-tables-") for name in names)
    for profile, folder in (("full", tmp_path / "a=b"), ("a*", None), ("report", None)):
        with pytest.raises(ValueError, match="PROFILE"):
            run_name(profile, folder)
