"""A dataset is a function of its design, settings and seed, whatever happens while it is made."""

import dataclasses
import errno
import hashlib
import io
import json
import os
import shutil
import signal
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fe_data.dataset import generate, record, storage
from fe_data.dataset.design import Design, digest_inputs, named_design, retry_seed
from fe_data.dataset.generate import Interrupted, Stopped
from fe_data.dataset.storage import FolderInUse
from fe_data.dataset.table import load_table
from fe_data.dataset.verify import verify
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell
from tests.limits import UNUSUAL, limited

SETTINGS = Settings(increments=10)
DESIGN = named_design("train_beta", 3, count=8)


def make(folder, cell=None, design=DESIGN, settings=SETTINGS, **options):
    options = {"jobs": 2, "silent": True, **options}
    return generate.generate(design, settings, folder, simulator=cell or AnalyticCell(), **options)


def table(folder):
    return (folder / storage.TABLE).read_bytes()


def failures(folder):
    return (folder / storage.FAILURES).read_text().splitlines()[1:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all records."""
    folder = tmp_path_factory.mktemp("whole")
    make(folder)
    return folder


@pytest.fixture
def undisturbed(whole):
    return table(whole)


@pytest.fixture
def made(whole, tmp_path):
    """A copy of the folder with all records, to be damaged."""
    return shutil.copytree(whole, tmp_path / "data")


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


def test_folders_that_older_versions_made_are_of_the_same_configuration():
    """Settings that came later do not change the digest while they are the defaults."""
    digests = [
        storage.configuration(DESIGN, settings)["digest"][:12]
        for settings in (SETTINGS, Settings(hardening="voce"))
    ]
    assert digests == ["76087d7cf1a1", "49fa93869777"]
    other = storage.configuration(DESIGN, Settings(10, radii="uniform", radii_cov=0.1))
    assert other["settings"]["radii_cov"] == 0.1


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


def flip(path):
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)


def rewritten(**changes):
    """What gives a record other entries of its header, and the checksum of these."""

    def replace(path):
        data = path.read_bytes()
        header = record.decode_header(data) | changes
        path.write_bytes(record.encode(header, record.decode_arrays(data)))

    return replace


def foreign(path):
    """Put the same sample of another configuration in the place of a record."""
    folder = path.parents[3] / "other"
    make(folder, design=named_design("train_beta", 4, count=8))
    path.write_bytes(storage.record_path(folder, 6).read_bytes())


def link(path):
    """A link to a file that would be damaged if it were followed."""
    path.unlink()
    path.symlink_to(path.parents[2] / storage.CONFIG)


def put(kind):
    """What removes a file and puts something else in its place."""

    def replace(path):
        path.unlink(missing_ok=True)
        UNUSUAL[kind](path)

    return replace


def written(content):
    return lambda path: path.write_bytes(content)


def sealed(**changes):
    """A configuration with other entries, and the digest of these."""
    config = storage.configuration(DESIGN, SETTINGS) | changes
    return json.dumps({**config, "digest": storage.digest(config)}).encode()


RECORD = "records/0000/0000006.npz"
REPLACED = [  # file, what happens to it, and what is said
    (RECORD, lambda path: path.write_bytes(path.read_bytes()[:1000]), "sample 6: checksum"),
    (RECORD, flip, "sample 6: checksum"),
    (RECORD, lambda path: np.savez(path, values=np.arange(3)), "sample 6: checksum"),
    (RECORD, foreign, "sample 6: record of another configuration"),
    (RECORD, Path.unlink, "sample 6: no record"),
    (RECORD, link, "sample 6: not a record"),
    (RECORD, put("pipe"), "0000006.npz is a pipe: a regular file is needed"),
    (RECORD, put("folder"), "0000006.npz is a folder: a regular file is needed"),
    (RECORD, rewritten(index=1), "sample 6: record of sample 1"),
    (RECORD, rewritten(status="good"), "sample 6: no numbers as inputs, or an unknown status"),
    (RECORD, rewritten(inputs={"vf": "0.2,1"}), "sample 6: no numbers as inputs"),
    (RECORD, rewritten(provenance="here"), "sample 6: incomplete header ('provenance')"),
    (storage.CONFIG, put("pipe"), "config.json is a pipe: a regular file is needed"),
    (storage.CONFIG, Path.unlink, "is not a dataset folder: it has no config.json"),
    (storage.CONFIG, written(b"{"), "config.json is damaged: it is not JSON"),
    (storage.CONFIG, written(b"[]"), "config.json is damaged: its digest does not match"),
    (storage.CONFIG, written(sealed(samples=10**12)), "samples = 1000000000000 is out of range"),
    (storage.CONFIG, written(sealed(design=[1])), "config.json is not a configuration of format 1"),
    (storage.CONFIG, written(sealed(design="x" * 2_000_000)), "at most 1000000 are read"),
    (storage.TABLE, put("device"), "dataset.csv is a device: a regular file is needed"),
    (storage.TABLE, Path.unlink, "dataset.csv is missing"),
    (storage.TABLE, written(b"\xff"), "dataset.csv cannot be read"),
    (storage.PROVENANCE, put("folder"), "provenance.json is a folder: a regular file is needed"),
    (storage.PROVENANCE, written(b"{}"), "provenance.json, line 1: not what the records hold"),
    (storage.FAILURES, written(b"index,"), "failures.csv: no attempt failed"),
]


@pytest.mark.parametrize(("name", "damage", "said"), REPLACED)
def test_damage_is_found_and_the_same_command_repairs_it(made, undisturbed, name, damage, said):
    damage(made / name)
    with limited(megabytes=50):
        (problem,) = verify(made)[0]
    assert said in problem
    assert make(made).simulated == (name == RECORD)
    assert verify(made)[0] == []
    assert table(made) == undisturbed


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"attempts": [1]}, "sample 6: incomplete header"),
        ({"outputs": {"c_eff": 1.0}}, "sample 6: incomplete header"),
        ({"status": "failed"}, "sample 6: outputs do not go with the status"),
    ],
)
def test_a_record_that_contradicts_itself_is_said_and_made_again(made, undisturbed, changes, said):
    rewritten(**changes)(made / RECORD)
    (problem,) = verify(made)[0]
    assert said in problem
    assert make(made).simulated == 1
    assert verify(made)[0] == []
    assert table(made) == undisturbed


@pytest.mark.parametrize("name", [storage.TABLE, storage.PROVENANCE, RECORD])
def test_a_folder_with_files_is_kept_and_said_before_any_work(made, name):
    path = made / name
    path.unlink()
    storage.record_path(made, 6).unlink(missing_ok=True)
    path.mkdir()
    (path / "mine.txt").write_text("mine")
    with pytest.raises(IsADirectoryError, match="is in the place of this file, move it away"):
        make(made, AnalyticCell(raising=(DESIGN.sample(6).seed, OSError())))
    assert (path / "mine.txt").read_text() == "mine"
    path.rename(made / "elsewhere")
    assert make(made).table_written


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"seed": 7}, "sample 6: seed = 7 is not that of the configuration"),
        ({"group": 7}, "the records' inputs are not those of the configuration"),
    ],
)
def test_verify_finds_inputs_and_seeds_of_another_design(made, changes, problem):
    rewritten(**changes)(made / RECORD)
    assert problem in verify(made)[0]


def test_verify_finds_records_of_no_sample(made):
    misplaced = made / "records" / "0001" / "0000003.npz"
    misplaced.parent.mkdir()
    misplaced.write_bytes(storage.record_path(made, 3).read_bytes())
    assert verify(made)[0] == ["records/0001/0000003.npz: belongs to no sample"]


def test_verify_sees_a_damaged_table_beside_a_damaged_record(made):
    """Record 6 cannot be read: the checksum in provenance.json knows its row, line 8."""
    flip(made / RECORD)
    lines = table(made).decode().splitlines(keepends=True)
    for number, expected in ((8, []), (7, ["dataset.csv, line 7: not what the records hold"])):
        lines[number - 1] = lines[number - 1].replace(",ok", ",retried")
        (made / storage.TABLE).write_text("".join(lines))
        _, *others = verify(made)[0]
        assert sorted(others) == [*expected, "provenance.json: not the checksum of dataset.csv"]


def test_any_flipped_bit_of_a_record_is_found(made):
    data = storage.record_path(made, 0).read_bytes()
    for place in np.random.default_rng(0).integers(0, len(data), 300):
        flipped = data[:place] + bytes([data[place] ^ (1 << int(place) % 8)]) + data[place + 1 :]
        with pytest.raises(record.DamagedRecord):
            record.decode_header(flipped)


def test_a_record_may_not_unpack_to_more_than_its_size():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, record=np.array(b"{}"), strain=np.zeros(3 * 10**6))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * 64
    content = buffer.getvalue()[:-64]
    data = content + hashlib.sha256(content).hexdigest().encode()
    with limited(megabytes=20), pytest.raises(record.DamagedRecord, match="arrays have 24"):
        record.decode_header(data)


@pytest.mark.parametrize(
    ("design", "settings", "difference"),
    [
        (named_design("train_beta", 4, count=8), SETTINGS, "seed = 3 there, 4 here"),
        (named_design("test_uniform", 3, count=8), SETTINGS, "design = 'train_beta' there, "),
        (DESIGN, Settings(increments=10, hardening="voce"), "hardening = 'power' there, 'voce' "),
    ],
)
def test_a_folder_of_another_configuration_is_refused(made, design, settings, difference):
    before = table(made)
    with pytest.raises(ValueError, match=f"another configuration .*{difference}"):
        make(made, design=design, settings=settings)
    assert table(made) == before


def test_a_lost_configuration_is_restored_only_for_its_own_records(made):
    (made / storage.CONFIG).unlink()
    with pytest.raises(ValueError, match="another configuration"):
        make(made, design=named_design("train_beta", 4, count=8))
    assert make(made).simulated == 0


@pytest.mark.parametrize("name", [storage.CONFIG, storage.TABLE])
@pytest.mark.parametrize("content", ["mine", '{"my": "settings"}'])
def test_files_of_another_kind_are_kept(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=f"holds {name}, which is not of a dataset folder"):
        make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == content


def test_shards_may_begin_at_the_same_moment(tmp_path, monkeypatch):
    """Another one writes the configuration just after this one has found none."""
    load = storage.load_config

    def late(folder):
        try:
            return load(folder)
        except ValueError:
            (folder / storage.CONFIG).write_bytes(sealed())
            raise

    monkeypatch.setattr(storage, "load_config", late)
    assert make(tmp_path, shard=(1, 2)).simulated == 4


@pytest.mark.parametrize(
    ("held", "shard", "excluded"),
    [
        ((1, 1), (1, 2), True),
        ((1, 2), (2, 2), False),
        ((1, 2), (1, 4), True),
        ((1, 2), (2, 3), True),
        ((1, 2), (2, 4), False),
    ],
)
def test_runs_that_share_samples_exclude_each_other(tmp_path, held, shard, excluded):
    with storage.locked(tmp_path, held):
        if excluded:
            with pytest.raises(FolderInUse, match="is in use by another `generate`"):
                make(tmp_path, shard=shard)
        else:
            make(tmp_path, shard=shard)
    assert make(tmp_path).table_written


def test_a_pipe_in_the_place_of_a_lock_is_refused(tmp_path):
    os.mkfifo(tmp_path / ".lock-1-of-2")
    with limited(), pytest.raises(ValueError, match=r"\.lock-1-of-2 is not a regular file"):
        make(tmp_path, shard=(1, 2))


def test_a_full_disk_stops_in_one_sentence_and_the_folder_stays_usable(
    tmp_path, monkeypatch, undisturbed
):
    write = record.write_atomic

    def full_after_three(path, data):
        if len(list((tmp_path / storage.RECORDS).rglob("*.npz"))) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data)

    monkeypatch.setattr(record, "write_atomic", full_after_three)
    with pytest.raises(Stopped, match=r"No space left on device.*3 of 8 samples are in"):
        make(tmp_path)
    monkeypatch.undo()
    assert make(tmp_path).simulated == 5
    assert table(tmp_path) == undisturbed


def test_two_machines_may_write_the_same_file_at_once(tmp_path, monkeypatch):
    """The other, of the same process number, begins between this one's writing and renaming."""
    path = tmp_path / "table.csv"
    sync = os.fsync

    def other_first(descriptor):
        monkeypatch.setattr(os, "fsync", sync)
        record.write_atomic(path, b"other")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", other_first)
    record.write_atomic(path, b"one")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_half_way_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(record.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        record.write_atomic(tmp_path / "a.npz", b"data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [ImportError("No module named 'dolfinx'"), MemoryError(), OSError(28, "No space")]
)
def test_an_error_of_the_machine_stops_the_run_and_is_not_recorded(tmp_path, error):
    cell = AnalyticCell(raising=(DESIGN.sample(3).seed, error))
    with pytest.raises(Stopped, match="the same command does the rest"):
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
        with pytest.raises(Interrupted, match="interrupted: 2 of 8 samples are in"):
            make(tmp_path, AnalyticCell(seconds=0.1))
    finally:
        ended.set()
        thread.join()
    monkeypatch.undo()
    assert make(tmp_path).simulated == 6
    assert table(tmp_path) == undisturbed


def test_leftovers_of_a_killed_run_are_removed(tmp_path, monkeypatch):
    path = storage.record_path(tmp_path, 3)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: None)
        record.write_atomic(path, b"half")
    (leftover,) = path.parent.iterdir()
    make(tmp_path, shard=(1, 2))
    assert leftover.exists()  # sample 3 is the other shard's
    make(tmp_path, shard=(2, 2))
    assert not leftover.exists()


def test_fibres_that_cannot_be_packed_are_refused_before_any_work(tmp_path):
    densest = int(DESIGN.inputs[:, 0].argmax())
    with pytest.raises(ValueError, match=f"row {densest} of the design: vf = .*limited to vf <="):
        make(tmp_path / "new", settings=Settings(increments=10, min_spacing=2.0))
    assert not (tmp_path / "new").exists()
