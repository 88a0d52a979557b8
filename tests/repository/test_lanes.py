"""The lane for another dolfinx: what it refuses, and what it remembers."""

import os

import pytest

from tests.repository.lanes import debian


@pytest.mark.parametrize("programs", [[], ["debootstrap", "unshare"]])
def test_what_is_impossible_is_said_and_no_failure_of_ci(tmp_path, monkeypatch, capsys, programs):
    for name in programs:
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LANES", str(tmp_path / "lanes"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert debian.main(["trixie"]) == 1
    assert "lane: trixie not run: " in capsys.readouterr().out
    assert debian.main(["trixie", "--if-changed"]) == 0


def test_an_unchanged_lane_is_not_run_again(tmp_path, monkeypatch):
    """A run that failed, or that took some of the tests, is no reason to skip one."""
    monkeypatch.setattr(debian, "refuse_impossible", lambda: None)
    monkeypatch.setattr(debian, "make", lambda *_: None)
    codes = iter([0, 1, 0])
    monkeypatch.setattr(debian, "run_tests", lambda *_: next(codes))
    assert debian.run_lane("sid", tmp_path, ["-k", "mesh"], if_changed=False) == 0
    found = [debian.run_lane("sid", tmp_path, [], if_changed=True) for _ in range(3)]
    assert found == [1, 0, 0]
