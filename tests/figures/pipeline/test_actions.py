"""One run at a time works in a checkout that can be written; what is kept between runs."""

import signal
import subprocess
import sys

import pytest

from figures.pipeline import actions as pipeline
from figures.pipeline.actions import make_state, simulate, wait_for_turn
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


@pytest.fixture
def generated(monkeypatch):
    """Runs of the generator, which here only leaves a sample."""
    runs = []

    def run(arguments):
        folder = pipeline.Path(arguments[arguments.index("--out") + 1])
        folder.mkdir(exist_ok=True)
        runs.append(sorted(path.name for path in folder.iterdir()))
        (folder / "sample").touch()

    monkeypatch.setattr(pipeline, "run_program", run)
    return runs


def test_samples_of_the_same_arguments_and_sources_are_kept_and_others_are_not(tmp_path, generated):
    folder, source = tmp_path / "data" / "train_beta", tmp_path / "source.py"
    for text, count in (("x = 1", "3"), ("x = 1", "3"), ("x = 1", "4"), ("x = 2", "4")):
        source.write_text(text)
        simulate(["train_beta", "--count", count], folder, [source], jobs=1)
    assert generated == [[], ["sample"], [], []]


def test_a_failed_program_is_one_sentence():
    failure = pipeline.run_program(["-c", "raise SystemExit(3)"])
    assert failure.get_msg().strip().endswith("ended with exit code 3")
    assert pipeline.run_program(["-c", "pass"]) is None
