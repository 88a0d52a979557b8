"""A dataset is a function of its design, settings and seed, whatever happens while it is made."""

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fe_data
from fe_data.__main__ import main
from fe_data.dataset import executors, generate, record, storage
from fe_data.dataset.curves import load_curves
from fe_data.dataset.design import Design, digest_inputs, named_design, retry_seed
from fe_data.dataset.executors import WorkerDied
from fe_data.dataset.generate import GenerationError, GenerationInterrupted
from fe_data.dataset.table import load_table
from fe_data.dataset.verify import verify
from fe_data.dataset.worker import Task
from fe_data.errors import FitError, MeshError
from fe_data.mechanics import rve
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell
from tests.fe_data.dataset.conftest import DESIGN, SETTINGS, make, table


def failures(folder):
    return (folder / storage.FAILURES).read_text().splitlines()[1:]


def test_table_and_records_hold_what_the_simulator_gave_to_the_last_bit(tmp_path):
    assert make(tmp_path).simulated == 8
    loaded = load_table(tmp_path / storage.TABLE)
    for row, index in enumerate(loaded.index.tolist()):
        sample = DESIGN.sample(index)
        result = AnalyticCell()(sample.inputs, sample.seed, SETTINGS)
        assert loaded.outputs[row].tolist() == list(result.effective.values())
        assert loaded.inputs[row].tolist() == list(vars(sample.inputs).values())
        data = storage.record_path(tmp_path, index).read_bytes()
        arrays = record.decode_arrays(data)
        np.testing.assert_array_equal(arrays["strain"], result.history["strain"])
        np.testing.assert_array_equal(arrays["fibre_centres"], result.fibre_centres)
        header = record.decode_header(data)
        assert header["info"] == {"n_dofs": 10, "warning": "", "residual": 1e-3}
        assert {"commit", "numpy", "python", "machine"} <= set(header["provenance"])
    content = json.loads((tmp_path / storage.PROVENANCE).read_text())
    assert content["table_sha256"] == hashlib.sha256(table(tmp_path)).hexdigest()
    assert content["inputs_sha256"] == digest_inputs(DESIGN.inputs, DESIGN.groups)
    assert [maker["records"] for maker in content["made_by"]] == [8]
    assert verify(tmp_path)[0] == []
    assert make(tmp_path).simulated == 0


@pytest.mark.parametrize("jobs", [1, 3])
def test_number_of_jobs_leaves_no_trace(tmp_path, undisturbed, jobs):
    make(tmp_path, jobs=jobs)
    assert table(tmp_path) == undisturbed


def test_inputs_out_of_the_range_of_the_law_are_refused_by_their_row(tmp_path):
    """A characteristic strain of Voce's law is no exponent of a power law."""
    inputs = np.array([[0.2, 400.0, 400.0, 0.4], [0.2, 400.0, 400.0, 0.005]])
    design = Design("inputs", 0, inputs, np.arange(2))
    refusal = "row 1 of the design: c_m = 0.005 is out of range: "
    with pytest.raises(ValueError, match=refusal):
        make(tmp_path / "power", design=design)
    assert not (tmp_path / "power").exists()
    voce = Settings(hardening="voce")
    generate.generate(design, voce, tmp_path / "voce", simulator=AnalyticCell(), silent=True)
    assert load_table(tmp_path / "voce" / storage.TABLE).inputs.tolist() == inputs.tolist()


def test_records_hold_the_radii_where_they_differ(tmp_path):
    design = named_design("train_beta", 3, count=1)
    small = Settings(n_fibres=3, resolution=2.0, increments=10)
    for name, settings in (
        ("equal", small),
        ("several", dataclasses.replace(small, radii="lognormal", radii_cov=0.3)),
    ):
        generate.generate(design, settings, tmp_path / name, silent=True)
        arrays = record.decode_arrays(storage.record_path(tmp_path / name, 0).read_bytes())
        if name == "equal":
            assert "fibre_radii" not in arrays
        else:
            fraction = np.pi * (arrays["fibre_radii"] ** 2).sum()
            assert fraction == pytest.approx(design.inputs[0, 0], rel=1e-12)
        assert verify(tmp_path / name)[0] == []
    with pytest.raises(ValueError, match="radii = 'equal' there, 'lognormal' here"):
        generate.generate(design, settings, tmp_path / "equal", silent=True)


def test_shards_together_equal_the_whole(tmp_path, undisturbed):
    first = make(tmp_path, shard=(1, 3))
    assert not first.table_written
    assert first.counts["ok"] == 3
    assert sorted(first.missing) == [1, 2, 4, 5, 7]
    assert not (tmp_path / storage.TABLE).exists()
    make(tmp_path, shard=(3, 3))
    assert make(tmp_path, shard=(2, 3)).table_written
    assert table(tmp_path) == undisturbed


def test_a_failure_is_retried_with_another_microstructure_and_recorded(tmp_path):
    seed = DESIGN.sample(2).seed
    summary = make(tmp_path, AnalyticCell(failing=frozenset({seed})))
    assert summary.counts == {"ok": 7, "retried": 1, "failed": 0}
    loaded = load_table(tmp_path / storage.TABLE)
    assert loaded.status[2] == "retried"
    assert loaded.seed[2] == retry_seed(seed)
    reason = f"MeshError: element 7 of the mesh of seed {seed} is inverted"
    assert failures(tmp_path) == [f"2,1,{seed},retried,{reason}"]
    assert verify(tmp_path)[0] == []
    (tmp_path / storage.FAILURES).unlink()
    assert verify(tmp_path)[0] == ["failures.csv is missing"]


def test_a_sample_that_fails_twice_has_empty_outputs_and_two_reasons(tmp_path):
    seed = DESIGN.sample(2).seed
    cell = AnalyticCell(failing=frozenset({seed, retry_seed(seed)}))
    assert make(tmp_path, cell).counts["failed"] == 1
    assert table(tmp_path).decode().splitlines()[3].endswith(",,,,,,failed")
    assert load_table(tmp_path / storage.TABLE).failed.tolist() == [2]
    assert len(failures(tmp_path)) == 2
    assert verify(tmp_path)[0] == []
    assert make(tmp_path, cell).simulated == 0
    assert make(tmp_path, retry_failed=True).simulated == 1
    assert not (tmp_path / storage.FAILURES).exists()


@dataclasses.dataclass(frozen=True)
class WithoutFit:
    """An analytic cell whose curve ends before it yields where the matrix is the hardest."""

    cell: AnalyticCell = dataclasses.field(default_factory=AnalyticCell)

    def __call__(self, inputs, seed, settings):
        result = self.cell(inputs, seed, settings)
        if inputs.b_m_MPa > np.median(DESIGN.inputs[:, 2]):
            del result.effective["b_eff_MPa"], result.effective["c_eff"]
            result.info["warning"] = "no hardening curve to fit"
        return result


UNFITTED = np.flatnonzero(DESIGN.inputs[:, 2] > np.median(DESIGN.inputs[:, 2])).tolist()


def test_a_cell_without_a_fit_keeps_its_other_outputs_and_is_not_repeated(tmp_path):
    summary = make(tmp_path, WithoutFit())
    assert summary.counts == {"ok": 4, "retried": 0, "failed": 0, "unfitted": 4}
    assert set(summary.warnings) == set(UNFITTED)
    assert not (tmp_path / storage.FAILURES).exists()
    frame = pd.read_csv(tmp_path / storage.TABLE, float_precision="round_trip")
    assert frame.index[frame["status"] == "unfitted"].tolist() == UNFITTED
    for index in UNFITTED:
        sample = DESIGN.sample(index)
        expected = AnalyticCell()(sample.inputs, sample.seed, SETTINGS)
        row = frame.loc[index]
        assert np.isnan(row[["b_eff_MPa", "c_eff"]].astype(float)).all()
        for name in ("E_eff_GPa", "nu_eff", "p_sigma"):
            assert row[name] == expected.effective[name]
    assert verify(tmp_path) == ([], summary.counts)
    assert make(tmp_path, WithoutFit()).simulated == 0
    assert len(load_curves(tmp_path).histories) == 8


def test_tables_with_cells_without_a_fit_are_the_same_after_an_interruption(tmp_path):
    make(tmp_path / "whole", WithoutFit())
    cell = AnalyticCell(raising=(DESIGN.sample(5).seed, MemoryError()))
    with pytest.raises(GenerationError):
        make(tmp_path / "parts", WithoutFit(cell), jobs=1, shard=(2, 2))
    assert not make(tmp_path / "parts", WithoutFit(), shard=(1, 2)).table_written
    make(tmp_path / "parts", WithoutFit())
    for name in (storage.TABLE, storage.CONFIG):
        whole, parts = ((tmp_path / each / name).read_bytes() for each in ("whole", "parts"))
        assert whole == parts


def test_a_cell_without_a_fit_may_be_of_the_second_arrangement(tmp_path):
    seed = DESIGN.sample(UNFITTED[0]).seed
    summary = make(tmp_path, WithoutFit(AnalyticCell(failing=frozenset({seed}))))
    assert summary.counts["unfitted"] == 4
    assert f",{retry_seed(seed)}," in table(tmp_path).decode()
    assert verify(tmp_path)[0] == []


@pytest.mark.filterwarnings("default:.* of the rows lack:UserWarning")  # as a user has it
def test_commands_say_what_they_leave_out_of_tables_with_cells_without_a_fit(tmp_path, capsys):
    """The commands that read a table have no NaN in what they print and write."""
    folder = tmp_path / "data"
    arguments = ["generate", "train_beta", "--count", "8", "--seed", "3", "--increments", "10"]
    code = main([*arguments, "--jobs", "1", "--out", str(folder)], simulator=WithoutFit())
    said = capsys.readouterr()
    assert code == 1
    assert "4 ok, 4 unfitted" in said.out
    assert "4 samples have no b_eff_MPa and c_eff" in said.err
    reference = str(folder / storage.TABLE)
    assert main(["compare", str(folder), reference]) == 0
    said = capsys.readouterr()
    assert "4 pairs of equal inputs" in said.out
    assert "nan" not in said.out.lower()
    indices = ", ".join(map(str, UNFITTED))
    assert f"4 of the rows lack b_eff_MPa and c_eff and are left out: index {indices}" in said.err
    assert main(["statistics", str(folder), "--out", str(tmp_path / "statistics.csv")]) == 2
    assert "has 1 RVE with outputs: its scatter needs 2" in capsys.readouterr().err
    assert main(["verify", str(folder)]) == 0
    curves = tmp_path / "curves.csv"
    assert main(["curves", str(folder), "--out", str(curves)]) == 0
    assert set(pd.read_csv(curves)["index"]) == set(range(8))


def test_cells_that_older_versions_discarded_for_their_fit_are_made_again(tmp_path):
    """Those were recorded as failed, with the reason of their fit."""

    def discarding(inputs, seed, settings):
        result = WithoutFit()(inputs, seed, settings)
        if "c_eff" not in result.effective:
            raise FitError("only 0 increments reach 400 MPa with a plastic strain, of at least 3")
        return result

    assert make(tmp_path, discarding).counts["failed"] == 4
    summary = make(tmp_path, WithoutFit())
    assert summary.simulated == 4
    assert summary.counts == {"ok": 4, "retried": 0, "failed": 0, "unfitted": 4}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_output_that_is_not_finite_is_a_failure(tmp_path, value):
    def cell(inputs, seed, settings):
        result = AnalyticCell()(inputs, seed, settings)
        result.effective["c_eff"] = value
        return result

    make(tmp_path, cell, jobs=1, design=named_design("train_beta", 3, count=1))
    assert b"nan" not in table(tmp_path)
    assert f"c_eff = {value} is not finite" in failures(tmp_path)[0]


def test_an_unexpected_error_is_recorded_with_its_place(tmp_path):
    seed = DESIGN.sample(4).seed
    make(tmp_path, AnalyticCell(raising=(seed, ZeroDivisionError("division by zero"))))
    assert "unexpected ZeroDivisionError in _misbehave, line" in failures(tmp_path)[0]


def test_a_sample_with_an_unexpected_error_is_made_again_by_the_next_run(tmp_path, undisturbed):
    """The cause may be the machine, as in records of older versions."""
    make(tmp_path, AnalyticCell(raising=(DESIGN.sample(4).seed, TypeError("init_logging()"))))
    assert table(tmp_path) != undisturbed
    assert make(tmp_path).simulated == 1
    assert table(tmp_path) == undisturbed
    assert verify(tmp_path)[0] == []


COARSE = Settings(n_fibres=2, resolution=2.0, increments=10)


@pytest.fixture
def in_this_process(monkeypatch):
    """Samples run in this process, in which tests can break the solver."""
    monkeypatch.setattr(executors, "semaphores_work", lambda: False)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("generate_mesh", TypeError("init_logging(): incompatible function arguments")),
        ("generate_mesh", MeshError("gmsh could not mesh the RVE")),
        ("discretise", UnicodeDecodeError("ascii", b"\xc3", 0, 1, "ordinal not in range(128)")),
    ],
)
@pytest.mark.parametrize("anisotropy", [False, True])
def test_a_solver_that_does_not_work_ends_the_run_and_records_nothing(
    tmp_path, monkeypatch, name, error, anisotropy
):
    def broken(*_):
        raise error

    design = named_design("train_beta", 3, count=2)
    choices = {"anisotropy": anisotropy, "silent": True}
    with monkeypatch.context() as patch:
        patch.setattr(rve, name, broken)
        with pytest.raises(GenerationError, match=r"no RVE can be simulated on this machine \("):
            generate.generate(design, COARSE, tmp_path, **choices)
    assert not list((tmp_path / storage.RECORDS).rglob("*.npz"))
    summary = generate.generate(design, COARSE, tmp_path, **choices)
    assert summary.counts == {"ok": 2, "retried": 0, "failed": 0}


@pytest.mark.parametrize("all_die", [True, False])
def test_dead_workers_are_blamed_on_the_machine_where_a_known_rve_kills_them_too(
    tmp_path, monkeypatch, all_die
):
    """As on a processor that lacks an instruction, or with too little memory for any RVE."""

    @contextlib.contextmanager
    def dying(_):
        def run(function, tasks):
            for task in tasks:
                if all_die or isinstance(task, Task):
                    raise WorkerDied([task])
                yield function(task)

        yield run

    design = named_design("train_beta", 3, count=2)
    with monkeypatch.context() as patch:
        patch.setattr(executors, "local_workers", dying)
        if all_die:
            with pytest.raises(GenerationError, match=r"\(the worker process died\)"):
                generate.generate(design, COARSE, tmp_path, silent=True)
            assert not list((tmp_path / storage.RECORDS).rglob("*.npz"))
        else:
            summary = generate.generate(design, COARSE, tmp_path, silent=True)
            assert summary.counts["failed"] == 2
    again = generate.generate(design, COARSE, tmp_path, silent=True)
    assert (again.simulated, again.counts["ok"]) == (2, 2)


@pytest.mark.usefixtures("in_this_process")
def test_an_error_of_one_cell_is_recorded_where_others_can_be_simulated(tmp_path, monkeypatch):
    design = named_design("train_beta", 3, count=2)
    bad = design.sample(0).inputs
    arrange = rve.arrange_fibres

    def misbehaving(microstructure, inputs, settings):
        if inputs == bad:
            raise ZeroDivisionError("division by zero")
        return arrange(microstructure, inputs, settings)

    monkeypatch.setattr(rve, "arrange_fibres", misbehaving)
    summary = generate.generate(design, COARSE, tmp_path, silent=True)
    assert summary.counts == {"ok": 1, "retried": 0, "failed": 1}
    assert "unexpected ZeroDivisionError in misbehaving, line" in failures(tmp_path)[0]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_locale_without_the_letters_of_a_path_records_no_failures(tmp_path, jobs):
    """Importing dolfinx fails there: some versions refuse the path of this program."""
    package = Path(fe_data.__file__).parent
    place = tmp_path / "é"
    place.mkdir()
    shutil.copytree(package, place / "fe_data", ignore=shutil.ignore_patterns("__pycache__"))
    words = ["generate", "train_beta", "--count", "2", "--n-fibres", "2", "--resolution", "2"]
    command = [sys.executable, "-m", "fe_data", *words, "--jobs", jobs, "--out", tmp_path / "data"]
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": "."}
    for environment, right in ((os.environ | ascii_only, (0, 1)), (os.environ, (0,))):
        done = subprocess.run(command, cwd=place, env=environment, stderr=subprocess.PIPE)
        assert done.returncode in right, done.stderr
        assert not (tmp_path / "data" / storage.FAILURES).exists()
    assert verify(tmp_path / "data") == ([], {"ok": 2, "retried": 0, "failed": 0})


def test_a_worker_killed_from_outside_costs_nothing_but_time(tmp_path, undisturbed):
    folder = tmp_path / "data"
    cell = AnalyticCell(killing_once=(DESIGN.sample(3).seed, tmp_path / "killed"))
    summary = make(folder, cell)
    assert (tmp_path / "killed").exists()
    assert summary.counts["ok"] == 8
    assert table(folder) == undisturbed


@pytest.mark.parametrize(("jobs", "status"), [(1, "retried"), (2, "retried"), (1, "failed")])
def test_a_sample_that_kills_its_worker_is_blamed_and_retried_alone(tmp_path, jobs, status):
    seed = DESIGN.sample(0).seed
    killing = {seed} if status == "retried" else {seed, retry_seed(seed)}
    summary = make(tmp_path, AnalyticCell(killing=frozenset(killing)), jobs=jobs)
    assert summary.counts == {"ok": 7, "retried": 0, "failed": 0} | {status: 1}
    assert failures(tmp_path)[0] == f"0,1,{seed},{status},the worker process died"
    assert verify(tmp_path)[0] == []


def test_a_full_disk_stops_in_one_sentence_and_the_folder_stays_usable(
    tmp_path, monkeypatch, undisturbed
):
    write = record.write_atomic

    def full_after_three(path, data):
        if len(list((tmp_path / storage.RECORDS).rglob("*.npz"))) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data)

    monkeypatch.setattr(record, "write_atomic", full_after_three)
    with pytest.raises(GenerationError, match=r"No space left on device.*3 of 8 samples are in"):
        make(tmp_path)
    monkeypatch.undo()
    assert make(tmp_path).simulated == 5
    assert table(tmp_path) == undisturbed


@pytest.mark.parametrize(
    "error", [ImportError("No module named 'dolfinx'"), MemoryError(), OSError(28, "No space")]
)
def test_an_error_of_the_machine_stops_the_run_and_is_not_recorded(tmp_path, error):
    cell = AnalyticCell(raising=(DESIGN.sample(3).seed, error))
    with pytest.raises(GenerationError, match="the same command does the rest"):
        make(tmp_path, cell)
    assert not storage.record_path(tmp_path, 3).exists()
    assert make(tmp_path).counts["ok"] == 8


def test_an_interrupt_keeps_what_is_finished(tmp_path, monkeypatch, undisturbed):
    """Also where a thread of a library takes it: only the main thread blocks the signal.

    The record is on disk and not yet counted.
    """
    write = record.write_atomic
    ended = threading.Event()

    def interrupted_after_two(path, data):
        write(path, data)
        if len(list(tmp_path.rglob("*.npz"))) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)

    monkeypatch.setattr(record, "write_atomic", interrupted_after_two)
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with pytest.raises(GenerationInterrupted, match="interrupted: 2 of 8 samples are in"):
            make(tmp_path, AnalyticCell(seconds=0.1))
    finally:
        ended.set()
        thread.join()
    monkeypatch.undo()
    assert make(tmp_path).simulated == 6
    assert table(tmp_path) == undisturbed


def test_fibres_that_cannot_be_packed_are_refused_before_any_work(tmp_path):
    densest = int(DESIGN.inputs[:, 0].argmax())
    with pytest.raises(ValueError, match=f"row {densest} of the design: vf = .*limited to vf <="):
        make(tmp_path / "new", settings=Settings(increments=10, min_spacing=2.0))
    assert not (tmp_path / "new").exists()
