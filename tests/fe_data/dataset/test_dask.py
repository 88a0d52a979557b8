"""The same dataset on a Dask cluster, and one sentence when the cluster fails."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from fe_data.dataset import executors, generate, storage
from fe_data.dataset.design import named_design
from fe_data.dataset.generate import Stopped
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell

pytest.importorskip("distributed")
SETTINGS = Settings(increments=4)
DESIGN = named_design("train_beta", 3, count=12)
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A worker's process may start slowly on a busy machine."""
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 60.0)


class Cluster:
    """A scheduler and its workers, each a process of its own, over TCP."""

    def __init__(self, folder):
        self.stack = ExitStack()
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(file))
        while not file.exists() or not file.read_text().endswith("}"):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def add_worker(self):
        return self._start("worker", self.address, "--nthreads", "1")

    def _start(self, kind, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        # One death is enough for the scheduler to give up a task: the tests need not wait for four.
        environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        process = subprocess.Popen(
            [*command, "--no-dashboard", "--host", "127.0.0.1"],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        self.stack.callback(self._end, process)
        return process

    @staticmethod
    def _end(process):
        # A worker's nanny ends its process when it is asked to, not when it is killed.
        process.terminate()
        process.wait()


def make(folder, address=None, cell=None, **options):
    return generate.generate(
        DESIGN,
        SETTINGS,
        folder,
        dask=address,
        simulator=cell or AnalyticCell(),
        silent=True,
        **options,
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    make(folder, jobs=2)
    return (folder / storage.TABLE).read_bytes()


@pytest.mark.slow
def test_cluster_makes_the_same_table_though_workers_die(tmp_path, undisturbed):
    seed = DESIGN.sample(5).seed
    with Cluster(tmp_path) as cluster:
        for _ in range(2):
            cluster.add_worker()
        killing = AnalyticCell(killing_once=(seed, tmp_path / "killed"))
        make(tmp_path / "disturbed", cluster.address, killing)
        summary = make(
            tmp_path / "blamed", cluster.address, AnalyticCell(killing=frozenset({seed}))
        )
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "disturbed" / storage.TABLE).read_bytes() == undisturbed
    assert summary.counts == {"ok": 11, "retried": 1, "failed": 0}
    reason = (tmp_path / "blamed" / storage.FAILURES).read_text().splitlines()[1]
    assert reason == f"5,1,{seed},retried,the worker process died"


@pytest.mark.slow
def test_a_lost_scheduler_is_one_sentence_and_a_folder_to_resume(tmp_path, undisturbed):
    waiting_for = DESIGN.sample(6).seed
    reached = tmp_path / "reached"

    def cell(inputs, seed, settings):
        if seed == waiting_for:
            reached.touch()
            time.sleep(2)
        return AnalyticCell()(inputs, seed, settings)

    with Cluster(tmp_path) as cluster:
        cluster.add_worker()
        end = (reached, cluster.scheduler)
        threading.Thread(target=_kill_when, args=end, daemon=True).start()
        with pytest.raises(Stopped) as stop:
            make(tmp_path / "data", cluster.address, cell)
    done = len(list((tmp_path / "data").rglob("*.npz")))
    assert str(stop.value) == (
        f"stopped: the connection to the Dask scheduler is lost: {done} of 12 samples are in "
        f"{tmp_path / 'data'}; the same command does the rest"
    )
    assert done >= 5
    assert make(tmp_path / "data", jobs=2).simulated == 12 - done
    assert (tmp_path / "data" / storage.TABLE).read_bytes() == undisturbed


def _kill_when(path, process):
    while not path.exists():
        time.sleep(0.05)
    process.kill()


def test_no_scheduler_no_worker_no_package(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 1.0)
    with pytest.raises(
        Stopped, match=r"no Dask workers at tcp://127\.0\.0\.1:9: .*0 of 12 samples"
    ):
        make(tmp_path, "tcp://127.0.0.1:9")
    with pytest.raises(
        Stopped, match="no Dask workers at nonsense://x: ValueError: unknown address"
    ):
        make(tmp_path, "nonsense://x")
    with monkeypatch.context() as patched:  # one that was made could not be closed
        patched.setattr("distributed.Client", None)
        with pytest.raises(Stopped, match="no Dask workers at banana: ValueError: missing port"):
            make(tmp_path, "banana")
    with (
        Cluster(tmp_path) as cluster,
        pytest.raises(Stopped, match=r"no Dask workers at tcp.*TimeoutError"),
    ):
        make(tmp_path, cluster.address)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Stopped, match="--dask needs the package `distributed`, which is missing"):
        make(tmp_path, "tcp://127.0.0.1:9")
