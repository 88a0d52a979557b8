"""One run at a time works in a checkout, which has to be writable."""

import signal
import subprocess
import sys

import pytest

from figures.pipeline.actions import make_state, wait_for_turn
from figures.pipeline.paths import ROOT

WAIT = """
import sys
from pathlib import Path
from figures.pipeline.actions import wait_for_turn
turn = wait_for_turn(Path(sys.argv[1]))
print("mine", flush=True)
"""


@pytest.fixture
def second(tmp_path):
    """Another process that waits for its turn while this one has it."""
    turn = wait_for_turn(tmp_path)
    command = [sys.executable, "-c", WAIT, str(tmp_path)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "waiting for another make in this checkout to end\n"
    yield turn, process
    turn.close()
    process.communicate(timeout=60)


def test_the_second_run_waits_for_the_first(second):
    turn, process = second
    assert process.poll() is None
    turn.close()
    assert process.stdout.readline() == "mine\n"
    assert process.wait(60) == 0


def test_a_run_that_waits_can_be_interrupted(second):
    _, process = second
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert complaint == "make: interrupted while it waited\n"


@pytest.mark.parametrize("obstacle", [".doit", ".doit/state.db/x"])
def test_a_checkout_that_cannot_be_written_is_one_sentence(tmp_path, obstacle):
    """A file in place of the folder, a folder in place of a file: root is stopped by these too."""
    path = tmp_path / obstacle
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with pytest.raises(ValueError, match="a checkout that may be written to is needed") as refusal:
        make_state(tmp_path / ".doit")
    assert "\n" not in str(refusal.value)


def test_an_empty_state_is_made_where_there_is_none(tmp_path):
    for _ in range(2):
        make_state(tmp_path / ".doit")
    assert {path.name for path in (tmp_path / ".doit").iterdir()} == {"lock", "state.db"}
