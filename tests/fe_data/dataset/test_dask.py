"""The same dataset on a Dask cluster, and one sentence when the cluster fails."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from fe_data import Isotropic, Loading, Material, Phases, law, load_curves, named_phases
from fe_data.dataset import executors, generate, storage
from fe_data.dataset.design import Design, named_design
from fe_data.dataset.generate import GenerationError
from fe_data.settings import Settings
from tests.fe_data.analytic_rve import AnalyticRVE

pytest.importorskip("distributed")
SETTINGS = Settings(increments=4)
GLASS = named_phases("glass_epoxy")
DESIGN = named_design("train_beta", 3, count=12)
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A worker's process may start slowly on a busy machine."""
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 60.0)


@contextmanager
def cluster(folder, workers):
    """Process and address of a scheduler; it and its workers are processes that speak TCP."""
    file = folder / "scheduler.json"
    processes = []

    def start(kind, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        # One death is enough for the scheduler to give up a task: the tests need not wait for four.
        environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        with (folder / f"{kind}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [*command, "--no-dashboard", "--host", "127.0.0.1"],
                cwd=ROOT,
                env=environment,
                stderr=log,
            )
        processes.append(process)
        return process

    try:
        scheduler = start("scheduler", "--port", "0", "--scheduler-file", str(file))
        while not file.exists() or not file.read_text().endswith("}"):
            assert scheduler.poll() is None
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        for _ in range(workers):
            start("worker", address, "--nthreads", "1")
        yield scheduler, address
    finally:
        # A worker's nanny ends its process when it is asked to, not when it is killed.
        for process in reversed(processes):
            process.terminate()
            process.wait()


def make(folder, address=None, rve=None, **options):
    options |= {"dask": address, "simulator": rve or AnalyticRVE(), "silent": True}
    return generate.generate(DESIGN, SETTINGS, folder, **options)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    make(folder, jobs=2)
    return (folder / storage.TABLE).read_bytes()


@pytest.mark.slow
def test_cluster_makes_the_same_table_though_workers_die(tmp_path, undisturbed):
    seed = DESIGN.sample(5).seed
    with cluster(tmp_path, workers=2) as (_, address):
        killing = AnalyticRVE(killing_once=(seed, tmp_path / "killed"))
        make(tmp_path / "disturbed", address, killing)
        killing = AnalyticRVE(killing=frozenset({seed}))
        summary = make(tmp_path / "blamed", address, killing)
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "disturbed" / storage.TABLE).read_bytes() == undisturbed
    assert summary.counts == {"ok": 11, "retried": 1, "failed": 0}
    reason = (tmp_path / "blamed" / storage.FAILURES).read_text().splitlines()[1]
    assert reason == f"5,1,{seed},retried,the worker process died"


@pytest.mark.slow
def test_cluster_makes_the_same_table_of_a_material(tmp_path):
    """Also with a law that only this process knows, and numbers that vary between the rows."""
    law("only_here", parameters={"factor": (0.1, 10.0)}, state={"p": 0})(only_here)
    custom = Phases(Material(Isotropic(3.0, 0.3), "only_here", {"factor": 1.0}), GLASS.fibres)
    factors = {"matrix.parameters.factor": np.array([1.0, 2.0])}
    design = Design("own", 0, np.full((2, 4), [0.2, 400.0, 400.0, 0.4]), [0, 1], fields=factors)
    arguments = design, Settings(n_fibres=1, resolution=2.0, increments=4)
    options = {"phases": custom, "loading": Loading((0.01, None, None)), "silent": True}
    with cluster(tmp_path, workers=1) as (_, address):
        generate.generate(*arguments, tmp_path / "dask", dask=address, **options)
    generate.generate(*arguments, tmp_path / "here", **options)
    tables = [(tmp_path / name / storage.TABLE).read_bytes() for name in ("dask", "here")]
    assert tables[0] == tables[1]
    ends = load_curves(tmp_path / "dask").stress[:, -1]
    assert ends.tolist() == load_curves(tmp_path / "here").stress[:, -1].tolist()
    assert ends[1] > 1.5 * ends[0]


def only_here(strain, state, material):
    return material.factor * (material.stiffness @ strain), state


@pytest.mark.slow
def test_a_lost_scheduler_is_one_sentence_and_a_folder_to_resume(tmp_path, undisturbed):
    waiting_for = DESIGN.sample(6).seed
    reached = tmp_path / "reached"

    def rve(inputs, seed, settings):
        if seed == waiting_for:
            reached.touch()
            time.sleep(2)
        return AnalyticRVE()(inputs, seed, settings)

    with cluster(tmp_path, workers=1) as (scheduler, address):
        end = (reached, scheduler)
        threading.Thread(target=_kill_when, args=end, daemon=True).start()
        with pytest.raises(GenerationError) as stop:
            make(tmp_path / "data", address, rve)
    done = len(list((tmp_path / "data").rglob("*.npz")))
    lost = f"the connection to the Dask scheduler is lost: {done} of 12 samples are in"
    assert lost in str(stop.value)
    assert done >= 5
    assert make(tmp_path / "data", jobs=2).simulated == 12 - done
    assert (tmp_path / "data" / storage.TABLE).read_bytes() == undisturbed


def _kill_when(path, process):
    while not path.exists():
        time.sleep(0.05)
    process.kill()


@pytest.mark.slow
def test_a_scheduler_without_workers_and_a_missing_package_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 1.0)
    with (
        cluster(tmp_path, workers=0) as (_, address),
        pytest.raises(GenerationError, match=r"no Dask workers at tcp.*TimeoutError"),
    ):
        make(tmp_path, address)
    with pytest.raises(GenerationError, match="no Dask workers at banana: ValueError: missing"):
        make(tmp_path, "banana")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(GenerationError, match="--dask needs the package `distributed`"):
        make(tmp_path, "tcp://127.0.0.1:9")
