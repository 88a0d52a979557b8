"""The Containerfile makes the environment that setup.sh makes, on the system that CI takes."""

import json
import os
import re
import subprocess

import pytest
import yaml

from figures.pipeline.paths import ROOT

LINES = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
STEPS = [line.split(maxsplit=1) for line in LINES if not line.startswith("#")]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
APT = r"apt-get install --yes --no-install-recommends ([\w .-]+)"


def steps(name):
    return [text for step, text in STEPS if step == name]


def test_system_and_packages_are_those_of_ci():
    job = WORKFLOW["jobs"]["debian-12"]
    assert steps("FROM") == [job["container"]]
    assert re.fullmatch(r"debian:12@sha256:[0-9a-f]{64}", job["container"])
    (packages,) = re.findall(APT, job["steps"][0]["run"])
    assert re.findall(APT, "\n".join(steps("RUN"))) == [packages]


SOURCES = """\
URIs: http://deb.debian.org/debian
URIs: http://deb.debian.org/debian-security
"""
SNAPSHOT = "http://snapshot.debian.org/archive"


@pytest.mark.parametrize("day", ["20260712T000000Z", ""])
def test_packages_are_those_of_a_day_or_the_newest(tmp_path, day):
    sources = tmp_path / "sources.list.d" / "debian.sources"
    (tmp_path / "apt.conf.d").mkdir()
    sources.parent.mkdir()
    sources.write_text(SOURCES)
    run(steps("RUN")[0].replace("/etc/apt", str(tmp_path)), SNAPSHOT=day)
    archives = [f"{SNAPSHOT}/{name}/{day}" for name in ("debian", "debian-security")]
    dated = "".join(f"URIs: {archive}\n" for archive in archives)
    assert sources.read_text() == (dated if day else SOURCES)
    assert len([*(tmp_path / "apt.conf.d").iterdir()]) == bool(day)


def run(command, **variables):
    return subprocess.run(
        command,
        shell=True,  # as a build does
        check=True,
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        encoding="utf-8",
    ).stdout


@pytest.mark.parametrize(("version", "day"), [("", "set"), ("+changed", ""), ("+changed", "set")])
def test_other_versions_of_packages_end_the_build_unless_the_newest_are_asked_for(
    tmp_path, version, day
):
    (check,) = [text for text in steps("RUN") if "dpkg-query" in text]
    installed = tmp_path / "dpkg-query"
    installed.write_text(f"#!/bin/sh\ngrep -v '^#' debian-packages.txt | sed 's/$/{version}/'\n")
    installed.chmod(0o755)
    check = check.replace("/tmp/expected", f"{tmp_path}/expected")
    path = f"{tmp_path}:{os.environ['PATH']}"
    if version and day:
        with pytest.raises(subprocess.CalledProcessError):
            run(check, SNAPSHOT=day, PATH=path)
    else:
        assert ("gcc-12" in run(check, SNAPSHOT=day, PATH=path)) == bool(version)


def test_the_packages_that_set_digits_are_those_of_the_committed_results():
    lines = (ROOT / "debian-packages.txt").read_text(encoding="utf-8").splitlines()
    versions = dict(line.split("=") for line in lines if not line.startswith("#"))
    results = (ROOT / "figures/full/03_materials_data.json").read_text(encoding="utf-8")
    made = json.loads(results)["provenance"]
    for package, name in [
        ("python3-dolfinx", "fenics-dolfinx"),
        ("python3-petsc4py-real3.18", "petsc4py"),
        ("python3-scipy", "scipy"),
        ("python3", "python"),
    ]:
        upstream = versions[package].split(":")[-1].split("-")[0]
        assert upstream == made[name]


def test_the_workflow_takes_actions_by_commit_and_has_no_more_rights_than_it_needs():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    used = [step for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step]
    assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in used)
    (checkout,) = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert checkout["with"] == {"persist-credentials": False}
