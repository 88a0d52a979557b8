"""A dataset is a function of its design, settings and seed, whatever happens while it is made."""

import errno
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fe_data.dataset import collection, generate, record, storage
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


def make(folder, cell=None, design=DESIGN, **options):
    options = {"jobs": 2, "silent": True, **options}
    return generate.generate(design, SETTINGS, folder, simulator=cell or AnalyticCell(), **options)


def table(folder):
    return (folder / storage.TABLE).read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    make(folder)
    return table(folder)


def test_outputs_are_those_of_the_simulator_to_the_last_bit(tmp_path):
    make(tmp_path)
    loaded = load_table(tmp_path / storage.TABLE)
    for row, index in enumerate(loaded.index):
        sample = DESIGN.sample(int(index))
        result = AnalyticCell()(sample.inputs, sample.seed, SETTINGS)
        assert loaded.outputs[row].tolist() == list(result.effective.values())
        assert loaded.inputs[row].tolist() == list(vars(sample.inputs).values())
    assert verify(tmp_path)[0] == []


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


def test_record_keeps_histories_and_provenance(tmp_path):
    make(tmp_path)
    path = storage.record_path(tmp_path, 5)
    sample = DESIGN.sample(5)
    result = AnalyticCell()(sample.inputs, sample.seed, SETTINGS)
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["strain"], result.history["strain"])
        np.testing.assert_array_equal(archive["fibre_centres"], result.fibre_centres)
    header = record.decode_header(path.read_bytes())
    assert header["info"] == {"n_dofs": 10, "warning": "", "residual": 1e-3}
    assert {"commit", "numpy", "python", "machine"} <= set(header["provenance"])
    assert header["config"] == storage.configuration(DESIGN, SETTINGS)["digest"]


def test_provenance_of_the_table_and_a_second_run_simulates_nothing(tmp_path):
    assert make(tmp_path).simulated == 8
    assert make(tmp_path).simulated == 0
    content = json.loads((tmp_path / storage.PROVENANCE).read_text())
    assert content["table_sha256"] == hashlib.sha256(table(tmp_path)).hexdigest()
    assert content["inputs_sha256"] == digest_inputs(DESIGN.inputs, DESIGN.groups)
    assert [maker["records"] for maker in content["made_by"]] == [8]


@pytest.mark.parametrize("jobs", [1, 3])
def test_number_of_jobs_leaves_no_trace(tmp_path, undisturbed, jobs):
    make(tmp_path, jobs=jobs)
    assert table(tmp_path) == undisturbed


def test_shards_together_equal_the_whole(tmp_path, undisturbed):
    first = make(tmp_path, shard=(1, 3))
    assert not first.table_written
    assert sorted(first.missing) == [1, 2, 4, 5, 7]
    assert not (tmp_path / storage.TABLE).exists()
    make(tmp_path, shard=(3, 3))
    assert make(tmp_path, shard=(2, 3)).table_written
    assert table(tmp_path) == undisturbed


def test_a_shard_reads_the_records_of_others_only_when_all_are_there(tmp_path, monkeypatch):
    read = []
    header = collection.read_header

    def counted(folder, index, config):
        read.append(index)
        return header(folder, index, config)

    monkeypatch.setattr(collection, "read_header", counted)
    for number in (1, 2, 3):
        summary = make(tmp_path, shard=(number, 4), jobs=1)
        assert set(read) == {number - 1, number + 3}
        assert summary.counts["ok"] == 2
        read.clear()
    assert make(tmp_path, shard=(4, 4), jobs=1).counts["ok"] == 8


def test_a_failure_is_retried_with_another_microstructure_and_recorded(tmp_path):
    seed = DESIGN.sample(2).seed
    summary = make(tmp_path, AnalyticCell(failing=frozenset({seed})))
    assert summary.counts == {"ok": 7, "retried": 1, "failed": 0}
    loaded = load_table(tmp_path / storage.TABLE)
    assert loaded.status[2] == "retried"
    assert loaded.seed[2] == retry_seed(seed)
    failures = (tmp_path / storage.FAILURES).read_text()
    reason = f"MeshError: element 7 of the mesh of seed {seed} is inverted"
    assert failures.splitlines()[1:] == [f"2,1,{seed},retried,{reason}"]
    assert verify(tmp_path)[0] == []


def test_a_sample_that_fails_twice_has_empty_outputs_and_two_reasons(tmp_path):
    seed = DESIGN.sample(2).seed
    cell = AnalyticCell(failing=frozenset({seed, retry_seed(seed)}))
    assert make(tmp_path, cell).counts["failed"] == 1
    row = table(tmp_path).decode().splitlines()[3]
    assert row.endswith(",,,,,,failed")
    assert load_table(tmp_path / storage.TABLE).failed.tolist() == [2]
    assert len((tmp_path / storage.FAILURES).read_text().splitlines()) == 3
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
    assert f"c_eff = {value} is not finite" in (tmp_path / storage.FAILURES).read_text()


def test_an_unexpected_error_is_recorded_with_its_place(tmp_path):
    seed = DESIGN.sample(4).seed
    make(tmp_path, AnalyticCell(raising=(seed, ZeroDivisionError("division by zero"))))
    reason = (tmp_path / storage.FAILURES).read_text().splitlines()[1]
    assert "unexpected ZeroDivisionError in _misbehave, line" in reason


def test_a_worker_killed_from_outside_costs_nothing_but_time(tmp_path, undisturbed):
    folder = tmp_path / "data"
    cell = AnalyticCell(killing_once=(DESIGN.sample(3).seed, tmp_path / "killed"))
    summary = make(folder, cell)
    assert (tmp_path / "killed").exists()
    assert summary.counts["ok"] == 8
    assert table(folder) == undisturbed


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sample_that_kills_its_worker_is_blamed_and_retried_alone(tmp_path, jobs):
    seed = DESIGN.sample(0).seed
    summary = make(tmp_path, AnalyticCell(killing=frozenset({seed})), jobs=jobs)
    assert summary.counts == {"ok": 7, "retried": 1, "failed": 0}
    reason = (tmp_path / storage.FAILURES).read_text().splitlines()[1]
    assert reason == f"0,1,{seed},retried,the worker process died"


def test_a_sample_that_always_kills_its_worker_ends_as_failed(tmp_path):
    seed = DESIGN.sample(7).seed
    summary = make(tmp_path, AnalyticCell(killing=frozenset({seed, retry_seed(seed)})), jobs=1)
    assert summary.counts == {"ok": 7, "retried": 0, "failed": 1}
    assert verify(tmp_path)[0] == []


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def rewritten(path, **changes):
    """Give a record other entries of its header, and the checksum of these."""
    data = path.read_bytes()
    header = record.decode_header(data) | changes
    path.write_bytes(record.encode(header, record.decode_arrays(data)))


def foreign(path):
    """Put the same sample of another configuration in the place of a record."""
    folder = path.parents[2] / "other"
    make(folder, design=named_design("train_beta", 4, count=8))
    path.write_bytes(storage.record_path(folder, 6).read_bytes())


def put(kind):
    """What removes a record and puts something else in its place."""

    def replace(path):
        path.unlink()
        UNUSUAL[kind](path)

    return replace


REPLACED = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:1000]),
    "empty": lambda path: path.write_bytes(b""),
    "bit flipped": lambda path: flip(path, 1000),
    "checksum changed": lambda path: flip(path, -1),
    "another sample": lambda path: path.write_bytes(path.with_name("0000001.npz").read_bytes()),
    "another format": lambda path: np.savez(path, values=np.arange(3)),
    "another configuration": foreign,
    "deleted": Path.unlink,
    "pipe": put("pipe"),
    "device": put("device"),
    "folder": put("folder"),
}
SAYING = {
    "another configuration": "record of another configuration",
    "pipe": "is a pipe: a regular file is needed",
    "device": "is a device: a regular file is needed",
    "folder": "is a folder: a regular file is needed",
}


@pytest.mark.parametrize("how", REPLACED)
def test_what_is_no_record_in_the_place_of_one_is_found_and_made_again(tmp_path, undisturbed, how):
    folder = tmp_path / "data"
    make(folder)
    REPLACED[how](storage.record_path(folder, 6))
    with limited(megabytes=50):
        (problem,) = verify(folder)[0]
    assert problem.startswith("sample 6: ")
    assert SAYING.get(how, "") in problem
    assert make(folder).simulated == 1
    assert verify(folder)[0] == []
    assert table(folder) == undisturbed


def test_a_link_in_the_place_of_a_record_is_replaced_and_not_followed(tmp_path, undisturbed):
    make(tmp_path / "data")
    (tmp_path / "precious.txt").write_text("mine")
    path = storage.record_path(tmp_path / "data", 6)
    path.unlink()
    path.symlink_to(tmp_path / "precious.txt")
    assert verify(tmp_path / "data")[0] == ["sample 6: not a record"]
    assert make(tmp_path / "data").simulated == 1
    assert table(tmp_path / "data") == undisturbed
    assert (tmp_path / "precious.txt").read_text() == "mine"


@pytest.mark.parametrize("name", [storage.TABLE, storage.PROVENANCE, "records/0000/0000006.npz"])
def test_a_folder_with_files_is_kept_and_said_before_any_work(tmp_path, name):
    make(tmp_path)
    path = tmp_path / name
    path.unlink()
    storage.record_path(tmp_path, 6).unlink(missing_ok=True)
    path.mkdir()
    (path / "mine.txt").write_text("mine")
    with pytest.raises(IsADirectoryError, match="is in the place of this file, move it away"):
        make(tmp_path, AnalyticCell(raising=(DESIGN.sample(6).seed, OSError())))
    assert (path / "mine.txt").read_text() == "mine"
    path.rename(tmp_path / "elsewhere")
    assert make(tmp_path).table_written


def test_a_record_may_not_unpack_to_more_than_its_size():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, record=np.array(b"{}"), strain=np.zeros(3 * 10**6))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * 64
    content = buffer.getvalue()[:-64]
    data = content + hashlib.sha256(content).hexdigest().encode()
    with (
        limited(megabytes=20),
        pytest.raises(record.DamagedRecord, match=r"arrays have 24\d+ bytes"),
    ):
        record.decode_header(data)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(storage.CONFIG, "pipe"), (storage.TABLE, "device"), (storage.PROVENANCE, "folder")],
)
def test_what_is_no_file_in_the_place_of_another_is_found_and_replaced(
    tmp_path, undisturbed, name, kind
):
    make(tmp_path)
    put(kind)(tmp_path / name)
    with limited(megabytes=50):
        assert f"{tmp_path / name} is a {kind}: a regular file is needed" in verify(tmp_path)[0]
    assert make(tmp_path).simulated == 0
    assert verify(tmp_path)[0] == []
    assert table(tmp_path) == undisturbed


OTHER_ENTRIES = [
    {"status": "good"},
    {"status": []},
    {"seconds": "long"},
    {"inputs": {"vf": "0.2,1"}},
    {"attempts": [1]},
    {"attempts": 1},
    {"provenance": "here"},
    {"outputs": 1},
]


def test_records_of_other_kinds_of_entries_are_found_and_made_again(tmp_path, undisturbed):
    make(tmp_path)
    for index, changes in enumerate(OTHER_ENTRIES):
        rewritten(storage.record_path(tmp_path, index), **changes)
    problems, _ = verify(tmp_path)
    found = [text.partition(": ")[0] for text in problems[: len(OTHER_ENTRIES)]]
    assert found == [f"sample {index}" for index in range(len(OTHER_ENTRIES))]
    make(tmp_path)
    assert table(tmp_path) == undisturbed


def test_verify_compares_every_byte_of_what_was_made_from_the_records(tmp_path):
    make(tmp_path, AnalyticCell(failing=frozenset({DESIGN.sample(2).seed})))
    for name in (storage.TABLE, storage.PROVENANCE, storage.FAILURES):
        path = tmp_path / name
        content = path.read_bytes()
        for changed in (content.replace(b"\n", b"\r\n"), b"{}"):
            path.write_bytes(changed)
            assert verify(tmp_path)[0] == [f"{name}, line 1: not what the records hold"]
        path.unlink()
        assert verify(tmp_path)[0] == [f"{name} is missing"]
        path.write_bytes(content)


def test_verify_finds_what_belongs_elsewhere(tmp_path):
    make(tmp_path)
    (tmp_path / storage.FAILURES).write_text("index,attempt,seed,status,reason\n")
    left = "failures.csv: no attempt failed"
    assert verify(tmp_path)[0] == [left]
    own = storage.record_path(tmp_path, 3)
    misplaced = own.parent.with_name("0001") / own.name
    misplaced.parent.mkdir()
    misplaced.write_bytes(own.read_bytes())
    assert verify(tmp_path)[0] == ["records/0001/0000003.npz: belongs to no sample", left]


def test_any_flipped_bit_of_a_record_is_found(tmp_path):
    make(tmp_path, design=named_design("train_beta", 3, count=1), jobs=1)
    data = storage.record_path(tmp_path, 0).read_bytes()
    for place in np.random.default_rng(0).integers(0, len(data), 300):
        flipped = data[:place] + bytes([data[place] ^ (1 << int(place) % 8)]) + data[place + 1 :]
        with pytest.raises(record.DamagedRecord):
            record.decode_header(flipped)


@pytest.mark.parametrize(
    ("design", "settings", "difference"),
    [
        (named_design("train_beta", 4, count=8), SETTINGS, "seed = 3 there, 4 here"),
        (named_design("train_beta", 3, count=9), SETTINGS, "samples = 8 there, 9 here"),
        (named_design("test_uniform", 3, count=8), SETTINGS, "design = 'train_beta' there, "),
        (DESIGN, Settings(increments=10, strain=0.04), "strain = 0.05 there, 0.04 here"),
        (DESIGN, Settings(increments=10, hardening="voce"), "hardening = 'power' there, 'voce' "),
    ],
)
def test_a_folder_of_another_configuration_is_refused(tmp_path, design, settings, difference):
    make(tmp_path)
    before = table(tmp_path)
    with pytest.raises(ValueError, match="holds samples of another configuration") as refusal:
        generate.generate(design, settings, tmp_path, simulator=AnalyticCell(), silent=True)
    assert difference in str(refusal.value)
    assert table(tmp_path) == before


EMPTY = f'{{"digest": "{storage.digest({})}"}}'


def sealed(**changes):
    """A configuration with other entries, and the digest of these."""
    config = storage.configuration(DESIGN, SETTINGS) | changes
    return json.dumps({**config, "digest": storage.digest(config)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 10**12}, "samples = 1000000000000 is out of range: allowed are integers in"),
        ({"samples": 0}, "samples = 0 is out of range"),
        ({"samples": True}, "samples = True is out of range"),
        ({"seed": -1}, "seed = -1 is out of range"),
        ({"design": [1]}, "is not a configuration of format 1"),
        ({"settings": 1}, "is not a configuration of format 1"),
        ({"design": "x" * 2_000_000}, "bytes: at most 1000000 are read"),
    ],
)
def test_a_configuration_out_of_range_is_refused_at_once(tmp_path, changes, message):
    (tmp_path / storage.CONFIG).write_text(sealed(**changes))
    with limited(megabytes=20):
        (problem,) = verify(tmp_path)[0]
    assert str(tmp_path / storage.CONFIG) in problem
    assert message in problem


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"digest": "0"}', EMPTY])
def test_a_lost_configuration_is_restored_only_for_its_own_records(tmp_path, content):
    make(tmp_path)
    config = tmp_path / storage.CONFIG
    config.unlink() if content is None else config.write_text(content)
    assert len(verify(tmp_path)[0]) == 1
    with pytest.raises(ValueError, match="another configuration"):
        make(tmp_path, design=named_design("train_beta", 4, count=8))
    assert make(tmp_path).simulated == 0
    assert verify(tmp_path)[0] == []


@pytest.mark.parametrize(
    "name", [storage.CONFIG, storage.TABLE, storage.FAILURES, storage.PROVENANCE]
)
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
            config = storage.configuration(DESIGN, SETTINGS)
            (folder / storage.CONFIG).write_text(json.dumps(config))
            raise

    monkeypatch.setattr(storage, "load_config", late)
    assert make(tmp_path, shard=(1, 2)).simulated == 4


WHOLE = (1, 1)


@pytest.mark.parametrize(
    ("held", "shard", "excluded"),
    [
        (WHOLE, WHOLE, True),
        (WHOLE, (1, 2), True),
        ((1, 2), WHOLE, True),
        ((1, 2), (1, 2), True),
        ((1, 2), (2, 2), False),
        ((1, 2), (1, 4), True),
        ((1, 2), (3, 4), True),
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


@pytest.mark.parametrize("name", [".lock", ".lock-1-of-2"])
def test_a_pipe_in_the_place_of_a_lock_is_refused(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with limited(), pytest.raises(ValueError, match=f"{name} is not a regular file: move it away"):
        make(tmp_path, shard=(1, 2))


def test_the_lock_of_a_dead_process_is_no_obstacle(tmp_path):
    code = "import sys,os; from fe_data.dataset import storage; from pathlib import Path\n" + (
        "with storage.locked(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(FolderInUse):
            make(tmp_path)
        holder.kill()
    assert make(tmp_path).table_written


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


def test_two_machines_write_the_same_file_at_once(tmp_path, monkeypatch):
    """One is between writing and renaming when the other, of the same process number, begins."""
    path = tmp_path / "table.csv"
    sync = record.os.fsync

    def other_first(descriptor):
        monkeypatch.setattr(record.os, "fsync", sync)
        record.write_atomic(path, b"other")
        sync(descriptor)

    monkeypatch.setattr(record.os, "getpid", lambda: 7)
    monkeypatch.setattr(record.os, "fsync", other_first)
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
    save = generate._Run._save

    def interrupted_at_three(run, index, data):
        save(run, index, data)
        if len(run.remaining) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(generate._Run, "_save", interrupted_at_three)
    with pytest.raises(Interrupted, match="interrupted: 3 of 8 samples are in"):
        make(tmp_path)
    monkeypatch.undo()
    assert make(tmp_path).simulated == 5
    assert table(tmp_path) == undisturbed


def test_an_interrupt_that_a_thread_of_a_library_takes_is_put_off_too(tmp_path, monkeypatch):
    """The record is on disk and not yet counted; only the main thread blocks the signal."""
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
    assert len(list(tmp_path.rglob("*.npz"))) == 2


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs = 0 is out of range: allowed are integers in [1, 4096]"),
        ({"jobs": 2.0}, "jobs = 2.0 is out of range: allowed are integers in [1, 4096]"),
        ({"shard": (0, 2)}, "shard = 0 is out of range: allowed are integers in [1, 2]"),
        ({"shard": (3, 2)}, "shard = 3 is out of range: allowed are integers in [1, 2]"),
        ({"shard": (1, 0)}, "shard = 0 is out of range: allowed are integers in [1, 1000000]"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 the whole message is compared
        make(tmp_path / "new", **options)
    assert str(refusal.value) == message
    assert not (tmp_path / "new").exists()


def test_fibres_that_cannot_be_packed_are_refused_before_any_work(tmp_path):
    settings = Settings(increments=10, min_spacing=2.0)
    densest = int(DESIGN.inputs[:, 0].argmax())
    sentence = f"row {densest} of the design: vf = {float(DESIGN.inputs[densest, 0])!r} is out of"
    with pytest.raises(ValueError, match=f"{sentence} range: 30 fibres.*limited to vf <= 0.2"):
        generate.generate(DESIGN, settings, tmp_path / "new", simulator=AnalyticCell())
    assert not (tmp_path / "new").exists()


def test_cells_run_at_the_same_time(tmp_path):
    design = named_design("train_beta", 3, count=6)
    make(tmp_path / "warm", design=design)
    start = time.perf_counter()
    make(tmp_path / "timed", AnalyticCell(seconds=0.4), design=design, jobs=2)
    assert time.perf_counter() - start < 6 * 0.4


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, total, **options):
    with generate.progress_bar(total, 0, stream, **options) as progress:
        for _ in range(total):
            progress.update()
    return stream.getvalue()


def test_a_terminal_shows_a_bar_a_log_few_lines_and_a_silent_run_nothing():
    bar = shown(Terminal(), 50)
    assert "50/50" in bar
    assert "<00:00" in bar
    assert shown(Terminal(), 5, silent=True) == ""
    for total in (1, 7, 5000):
        lines = shown(io.StringIO(), total).splitlines()
        assert 1 <= len(lines) <= 10
        assert lines[-1].startswith(f"{total}/{total} samples, ")


def test_a_log_tells_the_time_left_of_this_run(monkeypatch):
    stream = io.StringIO()
    with generate.progress_bar(100, 90, stream) as progress:
        started = progress.start_t
        monkeypatch.setattr(progress, "_time", lambda: started + 40)
        progress.update(5)
        assert stream.getvalue().splitlines()[-1] == "95/100 samples,  8.00s/sample, 00:40 left"
