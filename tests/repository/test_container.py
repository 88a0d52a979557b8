"""The Containerfile makes the environment that setup.sh makes, on the system that CI takes."""

import re

import yaml

from figures.pipeline.paths import ROOT
from tests.repository.test_setup import RECIPE

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
    assert re.findall(APT, steps("RUN")[0]) == [packages]


def test_all_else_is_installed_by_setup_for_a_user_who_is_not_root():
    """From the files that setup.sh reads: a second list of packages would drift from its own."""
    text = (ROOT / "setup.sh").read_text(encoding="utf-8")
    listed = re.search(r"^apt_packages=\(([^)]*)\)", text, re.M)[1].split()
    assert "python3-dolfinx" in listed
    assert not [name for name in listed if name in "\n".join(LINES).split()]
    assert steps("RUN")[2:] == ["./setup.sh && chown --recursive user:user ."]
    recipe, everything = (text.split() for text in steps("COPY"))
    assert set(recipe) == {*RECIPE, "./"}
    assert everything == ["--chown=user:user", ".", "."]
    assert STEPS[-2:] == [["USER", "user"], ["CMD", '["make", "quick"]']]


def test_the_workflow_takes_actions_by_commit_and_has_no_more_rights_than_it_needs():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    used = [step for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step]
    assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in used)
    (checkout,) = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert checkout["with"] == {"persist-credentials": False}
