"""One run at a time works in a checkout; interruptions end programs."""

import os
import runpy
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

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


def test_a_run_shows_its_plan_and_what_is_left(monkeypatch, tmp_path):
    monkeypatch.setattr(pipeline, "wait_for_turn", lambda _: None)
    monkeypatch.setattr(pipeline, "cpu_count", lambda: 4)
    monkeypatch.setattr(pipeline, "signal", SimpleNamespace(SIGINT=2, signal=lambda *_: None))
    clock = iter(range(0, 10_000, 60))  # a minute passes whenever it is looked at
    monkeypatch.setattr(pipeline, "time", SimpleNamespace(monotonic=lambda: next(clock)))

    def task(name, seconds, after=(), **more):
        one = {"actions": [lambda: None], "doc": name, "task_dep": list(after)}
        return lambda: {**one, "meta": {"seconds": seconds}, **more}

    names = {
        "DOIT_CONFIG": {"dep_file": str(tmp_path / "state"), "reporter": pipeline.Reporter},
        "task_simulate": task("simulate", 300.0),
        "task_train": task("train", 120.0, ["simulate"]),
        "task_known": task("known", 30.0, uptodate=[True]),
        "task_other": task("other", 900.0),  # which nothing needs
        "task_page": task("page", None, ["train", "known"]),
        "task_last": task("last", None, ["page"], meta={"silent": True}),
    }
    said = tmp_path / "said"
    for wanted in ("known", "last"):
        arguments = ["run", "-o", str(said), wanted]
        assert DoitMain(ModuleTaskLoader(names), config_filenames=()).run(arguments) == 0
    assert said.read_text(encoding="utf-8").splitlines() == [
        "plan, of which parts that are up to date are skipped:",
        "   train: about 2 min of one core",
        "   known: about 1 min of one core",
        "   simulate: about 5 min of one core",
        "   together about 4 min with 2 idle cores",
        "-- known: up to date",
        "== simulate",
        # 180 s after the beginning, when 300 of 420 s of work are done
        "   simulate: 60 s; 1 of 2 parts done, about 2 min left",
        "== train",
        "   train: 60 s; 2 of 2 parts done",
        "== page",
        "   page: 60 s; 2 of 2 parts done",
    ]
