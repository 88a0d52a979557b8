"""Trainings side by side: results in order, and no worker outlives what started it."""

import subprocess
import sys

import pytest

from figures.pipeline import processes

STAY = """
import time
from figures.pipeline import processes

def stay(number):
    print("started", number, flush=True)
    time.sleep(120)

processes.cpu_count = lambda: 2
processes.side_by_side(stay, [(1,), (2,)])
"""


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(processes, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_cores")
def test_results_come_in_the_order_of_the_calls():
    calls = [(2, 5), (3, 4), (5, 2)]
    assert processes.side_by_side(pow, calls) == [32, 81, 25]


@pytest.mark.usefixtures("two_cores")
def test_an_error_of_a_call_is_raised_here_and_the_next_calls_run():
    with pytest.raises(ZeroDivisionError):
        processes.side_by_side(divmod, [(1, 1), (1, 0)])
    assert processes.side_by_side(divmod, [(7, 2), (9, 2)]) == [(3, 1), (4, 1)]


def test_seeds_of_repeats_differ_and_do_not_depend_on_their_number():
    assert len(set(processes.seeds_of(1, 50))) == 50
    assert processes.seeds_of(1, 3) == processes.seeds_of(1, 50)[:3]


def test_workers_of_a_killed_process_end(pytestconfig):
    """The pipe closes when the last process that holds it is gone."""
    with subprocess.Popen(
        [sys.executable, "-c", STAY], cwd=pytestconfig.rootpath, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith("started")
        process.kill()
        process.communicate(timeout=30)
