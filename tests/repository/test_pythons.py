"""The lane for other Pythons: which versions it takes, and what it says it could not try."""

import fcntl
import subprocess

import pytest

from tests.repository.lanes import pythons
from tests.repository.lanes.folder import locked
from tests.repository.lanes.pythons import ROWS, Row, Unavailable
from tests.repository.test_setup import ON_DEMAND, imported_packages


def test_the_oldest_row_takes_the_lower_bounds():
    wanted = pythons.requirements(ROWS["oldest"])
    bounds = pythons.bounds()
    for name in pythons.RUN_TIME:
        assert bounds[name].replace(">=", "==") in wanted


def test_a_row_installs_what_bnn_and_its_tests_import():
    assert imported_packages(["bnn"]) - ON_DEMAND <= set(pythons.RUN_TIME)
    assert imported_packages(["tests/bnn"]) - ON_DEMAND <= {*pythons.RUN_TIME, *pythons.TESTS}


def test_the_tested_row_is_bound_by_the_constraints_and_the_newest_by_nothing():
    pins = pythons.constraints(ROWS["tested"])
    assert any(pin.startswith("torch==") for pin in pins)
    assert not any(pin.startswith("numpy==") for pin in pins)  # bound by dolfinx 0.5 alone
    assert pythons.constraints(ROWS["newest"]) == []


def test_every_supported_python_has_a_row():
    assert sorted(row.python for row in ROWS.values()) == ["3.11", "3.12", "3.13"]


def test_triton_is_left_out():
    metadata = ["filelock", "nvidia-nccl-cu12==2; os == 'x'", "triton==3", "optree; extra == 'a'"]
    assert pythons.needed(metadata) == metadata[:2]


def test_a_python_that_is_not_here_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LANES", str(tmp_path / "lanes"))
    assert pythons.main(["tested"]) == 1
    assert "lane: tested not tried: no Python 3.12 on PATH, in " in capsys.readouterr().out


@pytest.mark.parametrize("given", [[], ["all"], ["oldest", "newest"]])
def test_all_rows_are_tried_where_none_is_named(tmp_path, monkeypatch, given):
    monkeypatch.setenv("LANES", str(tmp_path))
    tried = []
    monkeypatch.setattr(pythons, "run", lambda name, *_: tried.append(name) or True)
    assert pythons.main(given) == 0
    assert tried == (given if len(given) == 2 else ["oldest", "tested", "newest"])


def test_a_small_disk_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(pythons, "interpreter", lambda _: "python")
    monkeypatch.setattr(pythons, "FREE_GB", 1e9)
    with pytest.raises(Unavailable, match="are free in"):
        pythons.make(Row("3.12", "newest"), tmp_path / "row")


def test_a_failed_row_fails_and_is_removed(tmp_path, monkeypatch, capsys):
    def make(_, folder):
        folder.mkdir()
        return "python"

    monkeypatch.setattr(pythons, "make", make)
    codes = iter([0, 1])
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], next(codes))
    )
    assert not pythons.run("newest", tmp_path / "row", keep=False)
    assert "lane: newest FAILED" in capsys.readouterr().out
    assert not (tmp_path / "row").exists()


def test_arguments_after_two_dashes_are_for_pytest(tmp_path, monkeypatch):
    monkeypatch.setenv("LANES", str(tmp_path))
    monkeypatch.setattr(pythons, "make", lambda *_: "python")
    calls = []

    def call(command, **_):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", call)
    assert pythons.main(["oldest", "newest", "--", "-k", "noise"]) == 0
    assert [c[-2:] for c in calls if "pytest" in c] == [["-k", "noise"]] * 2


def test_a_second_run_of_a_row_waits(tmp_path):
    """Otherwise it would remove the environment that the first one uses."""
    lock = tmp_path / "row.lock"
    with locked(tmp_path, "row"), lock.open() as second, pytest.raises(BlockingIOError):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open() as second:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
