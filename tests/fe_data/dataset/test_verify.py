"""Damage to a dataset folder is found, and the command that made it repairs it."""

import hashlib
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fe_data.dataset import record, storage
from fe_data.dataset.design import named_design, retry_seed
from fe_data.dataset.verify import verify
from tests.fe_data.analytic_rve import AnalyticRVE
from tests.fe_data.dataset.conftest import DESIGN, RECORD, make, sealed, table
from tests.limits import limited


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


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def written(content):
    return lambda path: path.write_bytes(content)


def cut(path):
    """Take the end of the last line from a file."""
    path.write_bytes(path.read_bytes()[:-1])


REPLACED = [  # file, what happens to it, and what is said
    (RECORD, lambda path: path.write_bytes(path.read_bytes()[:1000]), "sample 6: checksum"),
    (RECORD, flip, "sample 6: checksum"),
    (RECORD, foreign, "sample 6: record of another configuration"),
    (RECORD, Path.unlink, "sample 6: no record"),
    (RECORD, link, "sample 6: not a record"),
    (RECORD, pipe, "0000006.npz is a pipe: a regular file is needed"),
    (RECORD, rewritten(index=1), "sample 6: record of sample 1"),
    (RECORD, rewritten(status="good"), "sample 6: no numbers as inputs, or an unknown status"),
    (RECORD, rewritten(status="failed"), "sample 6: outputs do not match the status"),
    (RECORD, rewritten(attempts=[1]), "sample 6: incomplete header"),
    (RECORD, rewritten(provenance="here"), "sample 6: incomplete header ('provenance')"),
    (storage.CONFIG, Path.unlink, "is not a dataset folder: it has no config.json"),
    (storage.CONFIG, written(b"{"), "config.json is damaged: it is not JSON"),
    (storage.CONFIG, written(b"[]"), "config.json is damaged: its digest does not match"),
    (storage.CONFIG, written(sealed(samples=10**12)), "samples = 1000000000000 is out of range"),
    (storage.CONFIG, written(sealed(design=[1])), "config.json is not a configuration of format 1"),
    (storage.CONFIG, written(sealed(design="x" * 2_000_000)), "at most 1000000 are read"),
    (storage.TABLE, Path.unlink, "dataset.csv is missing"),
]
EDITED = [  # file, what a user did to it, and what `verify` says
    (storage.TABLE, written(b"\xff"), "dataset.csv cannot be read"),
    (storage.PROVENANCE, written(b"{}"), "provenance.json, line 1: differs from the records"),
    (storage.TABLE, cut, "dataset.csv: has the entries of the records, but"),
    (storage.FAILURES, written(b"index,"), "failures.csv: must not exist"),
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


@pytest.mark.parametrize("lost", [False, True], ids=["finished", "a record is lost"])
@pytest.mark.parametrize(("name", "edit", "said"), EDITED)
def test_an_edited_file_is_found_and_never_replaced(made, name, edit, said, lost):
    edit(made / name)
    before = (made / name).read_bytes()
    assert said in verify(made)[0][0]
    if lost:
        storage.record_path(made, 6).unlink()
    with pytest.raises(ValueError, match=f"{name} is not as `generate` wrote it, .*move it away"):
        make(made)
    assert (made / name).read_bytes() == before
    assert storage.record_path(made, 6).exists() is not lost  # refused before any simulation
    (made / name).rename(made.parent / name)
    if not lost or name == storage.FAILURES:
        assert make(made).table_written
        assert verify(made)[0] == []


def test_records_behind_a_link_are_not_replaced(made):
    moved = (made / storage.RECORDS).rename(made.parent / "elsewhere")
    (made / storage.RECORDS).symlink_to(moved)
    assert make(made).simulated == 0
    path = storage.record_path(made, 6)
    flip(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="records is a link to another folder"):
        make(made)
    assert path.read_bytes() == before


def test_a_kill_between_two_tables_leaves_a_folder_that_the_same_command_finishes(
    tmp_path, monkeypatch, undisturbed
):
    seeds = frozenset({DESIGN.sample(2).seed, retry_seed(DESIGN.sample(2).seed)})
    write = record.write_atomic
    for killed in (storage.PROVENANCE, storage.TABLE):
        folder = tmp_path / killed
        make(folder, AnalyticRVE(failing=seeds))

        def killed_before(path, data, last=killed):
            if path.name == last:
                raise SystemExit
            write(path, data)

        with monkeypatch.context() as patch:
            patch.setattr(record, "write_atomic", killed_before)
            with pytest.raises(SystemExit):
                make(folder, retry_failed=True)
        assert make(folder, retry_failed=True).counts["ok"] == 8
        assert table(folder) == undisturbed
        assert verify(folder)[0] == []


def test_verify_finds_seeds_and_records_of_no_sample(made):
    misplaced = made / "records" / "0001" / "0000003.npz"
    misplaced.parent.mkdir()
    misplaced.write_bytes(storage.record_path(made, 3).read_bytes())
    assert verify(made)[0] == ["records/0001/0000003.npz: belongs to no sample"]
    rewritten(seed=7, group=7)(made / RECORD)
    problems = verify(made)[0]
    assert "sample 6: seed = 7 is not that of the configuration" in problems
    assert "the records' inputs are not those of the configuration" in problems


def test_verify_sees_a_damaged_table_beside_a_damaged_record(made):
    """Record 6 cannot be read: the checksum in provenance.json knows its row, line 8."""
    flip(made / RECORD)
    lines = table(made).decode().splitlines(keepends=True)
    for number, expected in ((8, []), (7, ["dataset.csv, line 7: differs from the records"])):
        lines[number - 1] = lines[number - 1].replace(",ok", ",retried")
        (made / storage.TABLE).write_text("".join(lines))
        _, *others = verify(made)[0]
        assert sorted(others) == [*expected, "provenance.json: not the checksum of dataset.csv"]


def test_a_record_may_not_unpack_to_more_than_its_size():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, record=np.array(b"{}"), strain=np.zeros(3 * 10**6))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * 64
    content = buffer.getvalue()[:-64]
    data = content + hashlib.sha256(content).hexdigest().encode()
    with limited(megabytes=20), pytest.raises(record.CorruptRecordError, match="arrays have 24"):
        record.decode_header(data)
