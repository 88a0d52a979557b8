"""The lists of versions agree: files for conda follow from others, and every pin has hashes."""

import re

import pytest

from studies.scoreboard.runs import requirements
from tests.repository import versions
from tests.repository.versions import EXTRAS, HASHES, LISTS_OF_PINS, PYTORCH, PYTORCH_HASHES


@pytest.mark.parametrize("path", versions.derived(), ids=lambda path: path.name)
def test_a_file_for_conda_is_what_the_command_writes(path):
    """After a change of pyproject.toml or constraints.txt: python -m tests.repository.versions."""
    assert path.read_text(encoding="utf-8") == versions.derived()[path]


def test_every_declared_package_is_pinned_to_a_version_that_is_allowed():
    pins = versions.pinned_versions()
    for name, bound in versions.declared(*EXTRAS).items():
        lowest = [int(number) for number in bound.removeprefix(">=").split(".")]
        pinned = [int(number) for number in re.findall(r"\d+", pins[name])]
        assert pinned >= lowest, name


@pytest.mark.parametrize("path", [HASHES, PYTORCH_HASHES], ids=lambda path: path.name)
def test_every_pin_has_hashes(path):
    lines = path.read_text(encoding="utf-8").removeprefix(versions.head_of(path)).splitlines()
    hashes = r"( --hash=sha256:[0-9a-f]{64})+"
    assert [line for line in lines if not re.fullmatch(rf"\S+{hashes}", line)] == []
    pinned = [line.partition(" ")[0] for line in lines]
    if path == HASHES:
        assert pinned == versions.pins()
    else:
        assert pinned[0] == f"{PYTORCH}=={versions.pinned_versions()[PYTORCH]}"


def test_every_package_of_the_scoreboard_but_pytorch_is_checked():
    for path in LISTS_OF_PINS[1:]:
        pins = path.read_text(encoding="utf-8").split()
        checked, unchecked = requirements(pins)
        assert unchecked == [pin for pin in pins if pin.startswith(f"{PYTORCH}==")]
        assert [line.split()[0] for line in checked] == [p for p in pins if p not in unchecked]
