"""The lanes for other versions of dolfinx and Python: what they install, refuse and remember."""

import os
import re
import subprocess

import pytest

from tests.repository.lanes import debian, pythons
from tests.repository.lanes.common import ROOT, declared
from tests.repository.lanes.pythons import ROWS
from tests.repository.test_packaging import ON_DEMAND, imported_packages


def test_the_lanes_install_what_packages_and_tests_import():
    assert imported_packages(["fe_data", "tests/fe_data"]) <= {*debian.PACKAGES}
    assert imported_packages(["bnn"]) - ON_DEMAND <= {*pythons.RUN_TIME}
    assert imported_packages(["tests/bnn"]) - ON_DEMAND <= {*pythons.RUN_TIME, *pythons.TESTS}


@pytest.mark.parametrize(
    ("user", "programs", "sentence"),
    [
        (1000, "debootstrap unshare chroot", "only root can make and enter the folder"),
        (0, "unshare chroot", "debootstrap is missing: apt-get install debootstrap"),
        (0, "debootstrap unshare chroot", "gives no namespaces: unshare failed"),
    ],
)
def test_what_is_impossible_is_said_and_no_failure_of_ci(
    tmp_path, monkeypatch, capsys, user, programs, sentence
):
    for name in programs.split():
        (tmp_path / name).write_text("#!/bin/sh\necho unshare failed >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LANES", str(tmp_path / "lanes"))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(debian, "NAMESPACES", [str(tmp_path / "unshare")])
    assert debian.main(["trixie"]) == 1
    assert sentence in capsys.readouterr().out
    assert debian.main(["trixie", "--if-changed"]) == 0


def test_an_unchanged_lane_is_not_run_again(tmp_path, monkeypatch, capsys):
    """A run that failed, or that took some of the tests, is no reason to skip one."""
    monkeypatch.setattr(debian, "refuse_impossible", lambda: None)
    monkeypatch.setattr(debian, "make", lambda *_: None)
    codes = iter([0, 1, 0])
    monkeypatch.setattr(debian, "run_tests", lambda *_: next(codes))
    assert debian.run_lane("sid", tmp_path, ["-k", "mesh"], if_changed=False, old_mirror=False) == 0
    for code in (1, 0, 0):
        found = debian.run_lane("sid", tmp_path, [], if_changed=True, old_mirror=False)
        assert found == code
    assert "nothing it tests has changed since its last green run" in capsys.readouterr().out
    monkeypatch.setattr(debian, "tested_digest", lambda: "changed")
    with pytest.raises(StopIteration):
        debian.run_lane("sid", tmp_path, [], if_changed=True, old_mirror=False)


def test_make_wants_a_known_suite():
    command = ["make", "-s", "test-dolfinx", "SUITE=nonsense"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "'nonsense'" in done.stderr
    assert "trixie" in done.stderr


def test_environment_yml_pins_what_the_lanes_ran_with():
    guide = (ROOT / "docs" / "fe_data.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w+) \| .* \| ([\d.]+ \| [\d.]+) \|$", guide, re.M))
    recipe = (ROOT / "environment.yml").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^  - ([\w-]+)=([\d.]+)$", recipe, re.M))
    trixie, sid = table["Python"].split(" | ")
    assert any(version.startswith(f"{pins['python']}.") for version in (trixie, sid))
    for name, pin in {"dolfinx": "fenics-dolfinx", "NumPy": "numpy", "SciPy": "scipy"}.items():
        assert table[name].split(" | ")[1].startswith(pins[pin] + ".")


def test_the_rows_are_lower_bounds_tested_versions_and_the_newest():
    bounds = declared()
    wanted = pythons.requirements(ROWS["oldest"])
    assert all(bounds[name].replace(">=", "==") in wanted for name in pythons.RUN_TIME)
    pins = pythons.constraints(ROWS["tested"])
    assert any(pin.startswith("torch==") for pin in pins)
    assert not any(pin.startswith("numpy==") for pin in pins)  # bound by dolfinx 0.5 alone
    assert pythons.constraints(ROWS["newest"]) == []
    assert sorted(row.python for row in ROWS.values()) == ["3.11", "3.12", "3.13"]


def test_a_python_that_is_not_here_is_said(tmp_path, monkeypatch, capsys):
    for name in ("PATH", "PYENV_ROOT", "HOME", "LANES"):
        monkeypatch.setenv(name, str(tmp_path))
    assert pythons.main(["tested"]) == 1
    assert "lane: tested not tried: no Python 3.12 on PATH, in " in capsys.readouterr().out


def test_every_row_takes_pytests_arguments_and_one_that_fails_fails_the_lane(tmp_path, monkeypatch):
    calls = []

    def run(command, **_):
        calls.append(command)
        return subprocess.CompletedProcess(command, len(calls) == 2)

    monkeypatch.setenv("LANES", str(tmp_path))
    monkeypatch.setattr(pythons, "make", lambda *_: "python")
    monkeypatch.setattr(subprocess, "run", run)
    assert pythons.main(["--", "-k", "noise"]) == 1
    assert [call[-2:] for call in calls if "pytest" in call] == [["-k", "noise"]] * 3
