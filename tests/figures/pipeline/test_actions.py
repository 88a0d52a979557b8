"""One run at a time works in a checkout that can be written; what is kept between runs."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from figures.pipeline import actions as pipeline
from figures.pipeline.actions import Interruption, make_state, wait_for_turn
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


def test_a_failed_program_is_one_sentence():
    failure = pipeline.run_program(["-c", "raise SystemExit(3)"])
    assert failure.get_msg().strip().endswith("ended with exit code 3")
    assert pipeline.run_program(["-c", "pass"]) is None


def test_an_interrupted_run_starts_no_further_program(monkeypatch, tmp_path):
    interruption = Interruption()
    monkeypatch.setattr(pipeline, "INTERRUPTION", interruption)
    interruption.receive(signal.SIGINT, None)
    program = f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()"
    assert "interrupted" in pipeline.run_program(["-c", program]).get_msg()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("patience", "times"), [(0.0, 1), (60.0, 2)])
def test_a_program_that_ignores_an_interruption_is_killed(monkeypatch, patience, times):
    """After some time, or at once when the user asks a second time."""
    interruption = Interruption(patience)
    monkeypatch.setattr(pipeline, "INTERRUPTION", interruption)
    started = threading.Timer(0.3, lambda: [interruption.receive() for _ in range(times)])
    started.start()
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    begun = time.monotonic()
    assert "interrupted" in pipeline.run_program(["-c", deaf]).get_msg()
    assert time.monotonic() - begun < 30
