"""One run at a time works in a checkout; interruptions end programs; the time left is estimated."""

import io
import os
import runpy
import signal
import subprocess
import sys
import threading
import time

import joblib
import pytest
from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain

from figures.pipeline import actions as pipeline
from figures.pipeline.actions import Interruption, wait_for_turn
from figures.pipeline.paths import ROOT

WAIT = """
import sys
from pathlib import Path
from figures.pipeline.actions import wait_for_turn
turn = wait_for_turn(Path(sys.argv[1]))
print("mine", flush=True)
"""


def test_the_second_run_waits_for_the_first(tmp_path):
    turn = wait_for_turn(tmp_path)
    command = [sys.executable, "-c", WAIT, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout.readline().startswith("waiting")
        assert second.poll() is None
        turn.close()
        assert second.stdout.readline() == "mine\n"


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "times"), [(0.0, 1), (60.0, 2)])
def test_a_program_that_ignores_an_interruption_is_killed(monkeypatch, patience, times):
    """After some time, or at once when the user asks a second time; no further one is started."""
    interruption = Interruption(patience)
    monkeypatch.setattr(pipeline, "INTERRUPTION", interruption)
    started = threading.Timer(0.3, lambda: [interruption.receive() for _ in range(times)])
    started.start()
    deaf = ["-c", "import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(60)"]
    begun = time.monotonic()
    for _ in range(2):
        assert "interrupted" in pipeline.run_program(deaf).get_msg()
    assert time.monotonic() - begun < 30


@pytest.mark.slow
def test_a_program_ends_with_the_run_that_is_asked_to_end(monkeypatch):
    """Only the run itself receives the SIGTERM of `kill` or of make."""
    interruption = Interruption(patience=60.0)
    monkeypatch.setattr(pipeline, "INTERRUPTION", interruption)
    threading.Timer(0.3, lambda: interruption.receive(signal.SIGTERM)).start()
    begun = time.monotonic()
    assert "interrupted" in pipeline.run_program(["-c", "import time; time.sleep(90)"]).get_msg()
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("jobs", ["1", "2", ""])
def test_jobs_limits_the_workers_of_a_notebook(monkeypatch, tmp_path, jobs):
    """Trainings side by side, and `generate` in notebook 07, use as many as joblib counts."""
    monkeypatch.setenv("JOBS", jobs)
    count = "import sys, joblib; open(sys.argv[1], 'w').write(str(joblib.cpu_count()))"
    assert pipeline.run_program(["-c", count, str(tmp_path / "count")]) is None
    cores = joblib.cpu_count()
    assert int((tmp_path / "count").read_text()) == min(int(jobs or cores), cores)


@pytest.mark.parametrize(
    ("cpus", "jobs", "expected"), [(8, "", 2), (8, "1", 1), (8, "4", 2), (1, "", 1), (1, "2", 1)]
)
def test_estimates_are_for_the_cores_that_a_run_uses(monkeypatch, cpus, jobs, expected):
    monkeypatch.setattr(pipeline, "cpu_count", lambda: cpus)
    monkeypatch.setenv("JOBS", jobs)
    assert pipeline.cores() == expected


def test_a_file_that_changes_and_keeps_time_and_size_makes_its_task_run_again(tmp_path):
    """As `cp -p`, `rsync -a` and archives with fixed dates leave it."""
    table = tmp_path / "table.csv"
    checker = runpy.run_path(str(ROOT / "dodo.py"))["DOIT_CONFIG"].get("check_file_uptodate", "md5")
    ran = []

    def make(content):
        table.write_text(content, encoding="utf-8")
        os.utime(table, (0, 0))
        names = {
            "DOIT_CONFIG": {"dep_file": str(tmp_path / "state"), "check_file_uptodate": checker},
            "task_read": lambda: {"actions": [lambda: ran.append(content)], "file_dep": [table]},
        }
        assert DoitMain(ModuleTaskLoader(names), config_filenames=()).run(["run"]) == 0

    for content in ("vf\n0.2\n", "vf\n0.2\n", "vf\n0.3\n", "vf\n0.3\n"):
        make(content)
    assert ran == ["vf\n0.2\n", "vf\n0.3\n"]


def test_the_remaining_time_is_that_of_the_plan_times_the_error_of_its_finished_parts(monkeypatch):
    """A part that takes 22 instead of 20 s lengthens what is left by a tenth."""
    monkeypatch.setattr(pipeline, "cores", lambda: 2)
    reporter = pipeline.Reporter(io.StringIO(), {})
    reporter.plan = {"first": 20.0, "current": 300.0, "long": 6000.0, "skipped": 5000.0}
    reporter.skipped = {"skipped"}
    reporter.begun = {}
    reporter.took = {}
    assert reporter.progress() == ""
    reporter.took = {"first": 22.0, "not planned": 100.0}
    assert reporter.progress() == "; 1 of 3 parts done, about 58 min left"  # 6300 · 1.1 / 2 s
    reporter.begun["long"] = time.monotonic() - 1230
    assert reporter.progress() == "; 1 of 3 parts done, about 48 min left"  # (6930 - 1230) / 2 s
    reporter.took |= {"current": 330.0, "long": 6600.0}
    assert reporter.progress() == "; 3 of 3 parts done"
