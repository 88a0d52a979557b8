"""A dataset is a function of its design, settings and seed, whatever happens while it is made."""

import errno
import hashlib
import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
import torch

from fe_data.dataset import generate, record, storage
from fe_data.dataset.curves import load_curves
from fe_data.dataset.design import digest_inputs, named_design, retry_seed
from fe_data.dataset.generate import GenerationError, GenerationInterrupted
from fe_data.dataset.table import load_table
from fe_data.dataset.verify import verify
from fe_data.errors import MeshError, memory_errors
from fe_data.mechanics import rve
from fe_data.settings import Settings
from tests.fe_data.analytic_rve import AnalyticRVE
from tests.fe_data.dataset.conftest import DESIGN, SETTINGS, make, table


def failures(folder):
    return (folder / storage.FAILURES).read_text().splitlines()[1:]


def test_table_and_records_hold_what_the_simulator_gave_to_the_last_bit(tmp_path):
    assert make(tmp_path).simulated == 8
    loaded = load_table(tmp_path / storage.TABLE)
    for row, index in enumerate(loaded.index.tolist()):
        sample = DESIGN.sample(index)
        result = AnalyticRVE()(sample.inputs, sample.seed, SETTINGS)
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


def test_a_failure_is_retried_with_another_microstructure_and_recorded(tmp_path):
    seed = DESIGN.sample(2).seed
    summary = make(tmp_path, AnalyticRVE(failing=frozenset({seed})))
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
    simulator = AnalyticRVE(failing=frozenset({seed, retry_seed(seed)}))
    assert make(tmp_path, simulator).counts["failed"] == 1
    assert table(tmp_path).decode().splitlines()[3].endswith(",,,,,,failed")
    assert load_table(tmp_path / storage.TABLE).failed.tolist() == [2]
    assert len(failures(tmp_path)) == 2
    assert verify(tmp_path)[0] == []
    assert make(tmp_path, simulator).simulated == 0
    assert make(tmp_path, retry_failed=True).simulated == 1
    assert not (tmp_path / storage.FAILURES).exists()


def test_an_rve_without_a_fit_keeps_its_other_outputs_and_is_not_repeated(tmp_path):
    def simulator(inputs, seed, settings):
        result = AnalyticRVE()(inputs, seed, settings)
        if inputs == DESIGN.sample(3).inputs:
            del result.effective["b_eff_MPa"], result.effective["c_eff"]
            result.info["warning"] = "no hardening curve to fit"
        return result

    summary = make(tmp_path, simulator, jobs=1)
    assert summary.counts == {"ok": 7, "retried": 0, "failed": 0, "unfitted": 1}
    assert set(summary.warnings) == {3}
    frame = pd.read_csv(tmp_path / storage.TABLE, float_precision="round_trip")
    sample = DESIGN.sample(3)
    expected = AnalyticRVE()(sample.inputs, sample.seed, SETTINGS).effective
    assert frame.loc[3, ["b_eff_MPa", "c_eff"]].isna().all()
    for name in ("E_eff_GPa", "nu_eff", "p_sigma"):
        assert frame.loc[3, name] == expected[name]
    with pytest.warns(UserWarning, match="1 of the rows lack b_eff_MPa and c_eff, .* index 3"):
        assert load_table(tmp_path).unfitted.tolist() == [3]
    assert verify(tmp_path) == ([], summary.counts)
    assert make(tmp_path).simulated == 0
    assert len(load_curves(tmp_path).histories) == 8


def test_an_unexpected_error_is_recorded_and_its_sample_made_again(tmp_path, undisturbed):
    """The cause may be the machine."""
    make(tmp_path, AnalyticRVE(raising=(DESIGN.sample(4).seed, TypeError("a library"))))
    assert "unexpected TypeError in _misbehave, line" in failures(tmp_path)[0]
    assert make(tmp_path).simulated == 1
    assert table(tmp_path) == undisturbed
    assert verify(tmp_path)[0] == []


COARSE = Settings(n_fibres=2, resolution=2.0, increments=10)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("name", "error", "anisotropy"),
    [
        ("generate_mesh", TypeError("init_logging(): incompatible function arguments"), False),
        ("generate_mesh", MeshError("gmsh could not mesh the RVE"), True),
    ],
)
def test_a_solver_that_does_not_work_ends_the_run_and_records_nothing(
    tmp_path, monkeypatch, name, error, anisotropy
):
    def broken(*_):
        raise error

    design = named_design("train_beta", 3, count=2)
    choices = {"anisotropy": anisotropy, "silent": True}
    bad = design.sample(0).inputs
    arrange = rve.arrange_fibres

    def broken_for_one(microstructure, inputs, settings):
        return broken() if inputs == bad else arrange(microstructure, inputs, settings)

    with monkeypatch.context() as patch:
        patch.setattr(rve, name, broken)
        with pytest.raises(GenerationError, match=r"no RVE can be simulated on this machine \("):
            generate.generate(design, COARSE, tmp_path, **choices)
    assert not list((tmp_path / storage.RECORDS).rglob("*.npz"))
    monkeypatch.setattr(rve, "arrange_fibres", broken_for_one)
    summary = generate.generate(design, COARSE, tmp_path, **choices)
    assert summary.counts == {"ok": 1, "retried": 0, "failed": 1}
    assert str(error) in failures(tmp_path)[0]


def test_a_worker_killed_from_outside_costs_nothing_but_time(tmp_path, undisturbed):
    folder = tmp_path / "data"
    simulator = AnalyticRVE(killing_once=(DESIGN.sample(3).seed, tmp_path / "killed"))
    summary = make(folder, simulator)
    assert (tmp_path / "killed").exists()
    assert summary.counts["ok"] == 8
    assert table(folder) == undisturbed


@pytest.mark.slow
def test_a_sample_that_kills_its_worker_is_blamed_and_retried_alone(tmp_path):
    seed = DESIGN.sample(0).seed
    summary = make(tmp_path, AnalyticRVE(killing=frozenset({seed})))
    assert summary.counts == {"ok": 7, "retried": 1, "failed": 0}
    assert failures(tmp_path)[0] == (
        f"0,1,{seed},retried,the worker process died of SIGKILL: usually the memory is full; "
        "use fewer jobs"
    )
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


def test_an_interrupt_keeps_what_is_finished(tmp_path, monkeypatch, undisturbed):
    """The record is on disk and not yet counted."""
    write = record.write_atomic

    def interrupted_after_two(path, data):
        write(path, data)
        if len(list(tmp_path.rglob("*.npz"))) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)

    monkeypatch.setattr(record, "write_atomic", interrupted_after_two)
    with pytest.raises(GenerationInterrupted, match="interrupted: 2 of 8 samples are in"):
        make(tmp_path, AnalyticRVE(seconds=0.1))
    monkeypatch.undo()
    assert make(tmp_path).simulated == 6
    assert table(tmp_path) == undisturbed


def test_fibres_that_cannot_be_packed_are_refused_before_any_work(tmp_path):
    densest = int(DESIGN.inputs[:, 0].argmax())
    with pytest.raises(ValueError, match=f"sample {densest} of the design: vf = .*limited to"):
        make(tmp_path / "new", settings=Settings(increments=10, min_spacing=2.0))
    assert not (tmp_path / "new").exists()


def test_an_output_that_is_not_finite_is_a_failure(tmp_path):
    def simulator(inputs, seed, settings):
        result = AnalyticRVE()(inputs, seed, settings)
        result.effective["c_eff"] = np.nan
        return result

    make(tmp_path, simulator, jobs=1, design=named_design("train_beta", 3, count=1))
    assert b"nan" not in table(tmp_path)
    assert "c_eff = nan is not finite" in failures(tmp_path)[0]


def error_of_torch():
    """What PyTorch raises if it cannot allocate memory."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    return RuntimeError(str(caught.value))


MACHINE = {
    "numpy": MemoryError(),
    "torch": error_of_torch(),
    "gpu": RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "gmsh": MeshError("gmsh could not mesh the RVE: std::bad_alloc"),
    "superlu": RuntimeError("SUPERLU_MALLOC fails for buf in intCalloc()"),
}


@pytest.mark.parametrize("library", MACHINE)
def test_a_full_memory_is_recognised_in_the_error_of_each_library(library):
    with pytest.raises(MemoryError), memory_errors():
        raise MACHINE[library]


def test_an_error_of_the_machine_stops_the_run_and_is_not_recorded(tmp_path):
    simulator = AnalyticRVE(raising=(DESIGN.sample(3).seed, MACHINE["torch"]))
    reason = "stopped: out of memory.*run the same command again to continue"
    with pytest.raises(GenerationError, match=reason):
        make(tmp_path, simulator)
    assert not storage.record_path(tmp_path, 3).exists()
    assert make(tmp_path).counts["ok"] == 8
