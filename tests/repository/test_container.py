"""The Containerfile makes the environment that setup.sh makes, on the system that CI takes."""

import re

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
    assert re.findall(APT, steps("RUN")[0]) == [packages]


def test_the_workflow_takes_actions_by_commit_and_has_no_more_rights_than_it_needs():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    used = [step for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step]
    assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in used)
    (checkout,) = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert checkout["with"] == {"persist-credentials": False}
