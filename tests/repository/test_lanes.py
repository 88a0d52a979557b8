"""The lane for other versions of dolfinx: what it refuses, reuses, passes on and remembers."""

import os
import re
import subprocess
import sys

import pytest

from tests.repository.lanes import debian
from tests.repository.lanes.debian import Lane, MakingFailed, Unavailable
from tests.repository.test_setup import imported_packages

LISTING = """:env:.cert='/certificates.crt'
global.extra-index-url='file:///pages/simple https://example.org/simple'
install.no-binary='numba'
site.timeout='3'
"""


@pytest.fixture
def lane(tmp_path, monkeypatch):
    """A lane whose commands are recorded instead of run."""
    calls = []
    monkeypatch.setattr(debian, "logged", lambda command, _: calls.append(command[-1]))
    monkeypatch.setattr(debian, "mirror", lambda: "mirror")
    monkeypatch.setattr(debian, "apt_network", lambda: "")
    monkeypatch.setattr(debian, "refuse_small_disk", lambda _: None)
    monkeypatch.setattr(debian.shutil, "rmtree", lambda *_, **__: None)
    lane = Lane("trixie", tmp_path)
    lane.calls = calls
    (lane.root / "etc" / "apt" / "apt.conf.d").mkdir(parents=True)
    return lane


def test_a_folder_is_made_once(lane):
    lane.make()
    assert lane.calls[0] == "mirror"
    assert "python3-dolfinx" in lane.calls[1]
    assert "pip install" in lane.calls[2]
    lane.make()
    assert len(lane.calls) == 3


def test_a_stage_that_was_interrupted_is_made_again(lane):
    lane.make()
    lane.recipe.unlink()
    lane.make()
    assert [call == "mirror" for call in lane.calls] == [True, False, False, False, False]


def test_packages_that_were_broken_off_begin_anew(lane, monkeypatch):
    """A killed dpkg can leave packages that it cannot configure; pip starts from nothing anyway."""

    def break_off(word):
        def logged(command, _):
            if word in command[-1]:
                raise MakingFailed

        with monkeypatch.context() as patch:
            patch.setattr(debian, "logged", logged)
            with pytest.raises(MakingFailed):
                lane.make()

    break_off("pip install")
    lane.make()
    assert lane.calls.count("mirror") == 0
    lane.recipe.unlink()
    break_off("apt-get install")
    lane.make()
    assert lane.calls.count("mirror") == 1


def test_another_constraint_installs_again(lane, monkeypatch):
    lane.make()
    monkeypatch.setattr(debian, "recipe_digest", lambda: "changed")
    lane.make()
    assert len(lane.calls) == 5


def test_a_failed_step_shows_the_end_of_its_log(tmp_path):
    command = [sys.executable, "-c", "print('no space left'); raise SystemExit(3)"]
    with pytest.raises(MakingFailed, match=r"makes again.*log:\nno space left"):
        debian.logged(command, tmp_path / "log")


@pytest.mark.parametrize(
    ("root", "programs", "sentence"),
    [
        (False, "debootstrap unshare chroot", "only root can make and enter the folder"),
        (True, "unshare chroot", "debootstrap is missing: apt-get install debootstrap"),
        (True, "debootstrap chroot", "unshare is missing"),
        (True, "debootstrap unshare chroot", "gives no namespaces: unshare failed"),
    ],
)
def test_what_is_impossible_is_said_before_anything_is_done(
    tmp_path, monkeypatch, capsys, root, programs, sentence
):
    for name in programs.split():
        path = tmp_path / name
        path.write_text("#!/bin/sh\necho unshare failed >&2\nexit 1\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setenv("LANES", str(tmp_path / "lanes"))
    monkeypatch.setattr(debian, "NAMESPACES", [str(tmp_path / "unshare")])
    assert debian.main(["trixie"]) == 1
    assert sentence in capsys.readouterr().out
    assert debian.main(["trixie", "--if-changed"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "lane: trixie runs: no green run is known"
    assert "lane: trixie not run: " in out


def test_a_small_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(debian, "FREE_GB", 1e9)
    with pytest.raises(Unavailable, match=r"are free in .* 1000000000 are needed: LANES=folder"):
        debian.refuse_small_disk(tmp_path)


def test_without_a_debian_mirror_one_can_be_named(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, ""))
    with pytest.raises(Unavailable, match="MIRROR=address names one"):
        debian.mirror()
    monkeypatch.setenv("MIRROR", "file:///mirror")
    assert debian.mirror() == "file:///mirror"


def test_the_mirror_is_apts(monkeypatch):
    text = "Other main a:/\nDebian contrib b:/\nDebian main c:/debian-security/\nDebian main d:/\n"
    done = subprocess.CompletedProcess([], 0, text)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.delenv("MIRROR", raising=False)
    assert debian.mirror() == "d:/"


def test_pips_settings_become_variables():
    assert debian.pip_settings(LISTING) == {
        "PIP_CERT": "/certificates.crt",
        "PIP_EXTRA_INDEX_URL": "file:///pages/simple https://example.org/simple",
        "PIP_NO_BINARY": "numba",
    }


def test_files_that_settings_name_are_brought_along(tmp_path):
    index, certificate = tmp_path / "pages" / "simple", tmp_path / "ca.crt"
    index.mkdir(parents=True)
    certificate.touch()
    settings = {"A": f"file://{index} https://example.org", "B": f"{certificate} /nowhere/at/all"}
    assert debian.needed_paths(settings) == {tmp_path / "pages", certificate}


def test_requirements_are_what_fe_data_and_its_tests_import_without_torch_and_notebooks():
    names = {re.split("[<>=]", line)[0] for line in debian.requirements()}
    assert imported_packages(["fe_data", "tests/fe_data"]) <= names
    assert not {"torch", "nbclient"} & names


def test_an_unchanged_lane_is_not_run_again(tmp_path, monkeypatch, capsys):
    lane = Lane("trixie", tmp_path)
    monkeypatch.setattr(debian, "refuse_impossible", lambda: None)
    monkeypatch.setattr(lane, "make", lambda: None)
    codes = iter([1, 0])
    monkeypatch.setattr(lane, "run", lambda _: next(codes))
    assert debian.run_lane(lane, [], only_if_changed=True) == 1
    assert debian.run_lane(lane, [], only_if_changed=True) == 0  # red before: it runs again
    assert debian.run_lane(lane, [], only_if_changed=True) == 0
    out = capsys.readouterr().out
    assert out.count("lane: trixie runs: no green run is known") == 2
    assert "nothing it tests has changed since its last green run" in out
    monkeypatch.setattr(debian, "tested_digest", lambda: "changed")
    with pytest.raises(StopIteration):
        debian.run_lane(lane, [], only_if_changed=True)
    assert "runs: fe_data or its tests changed" in capsys.readouterr().out


def test_some_of_the_tests_are_no_green_run(tmp_path, monkeypatch):
    lane = Lane("trixie", tmp_path)
    monkeypatch.setattr(debian, "refuse_impossible", lambda: None)
    monkeypatch.setattr(lane, "make", lambda: None)
    monkeypatch.setattr(lane, "run", lambda _: 0)
    debian.run_lane(lane, ["tests/fe_data/geometry/test_mesh.py"], only_if_changed=False)
    assert not lane.green.exists()


def test_the_digest_follows_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(debian, "ROOT", tmp_path)
    monkeypatch.setattr(debian, "TESTED", ("fe_data",))
    (tmp_path / "fe_data").mkdir()
    file = tmp_path / "fe_data" / "mesh.py"
    file.write_text("a")
    first = debian.tested_digest()
    cache = tmp_path / "fe_data" / "__pycache__"
    cache.mkdir()
    (cache / "mesh.pyc").touch()
    assert debian.tested_digest() == first
    file.write_text("b")
    assert debian.tested_digest() != first


def test_make_wants_a_known_suite():
    done = subprocess.run(
        ["make", "-s", "test-dolfinx", "SUITE=nonsense"],
        cwd=debian.ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "'nonsense'" in done.stderr
    assert "trixie" in done.stderr


def test_environment_yml_pins_what_the_lanes_ran_with():
    text = (debian.ROOT / "docs" / "fe_data.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w+) \| .* \| ([\d.]+ \| [\d.]+) \|$", text, re.M))
    pins = dict(
        re.findall(r"^  - ([\w-]+)=([\d.]+)$", (debian.ROOT / "environment.yml").read_text(), re.M)
    )
    trixie, sid = table["Python"].split(" | ")
    assert any(version.startswith(f"{pins['python']}.") for version in (trixie, sid))
    for name, pin in {"dolfinx": "fenics-dolfinx", "NumPy": "numpy", "SciPy": "scipy"}.items():
        assert table[name].split(" | ")[1].startswith(pins[pin] + ".")
