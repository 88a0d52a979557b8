"""Damage to a dataset folder is found, and the command that made it repairs it."""

import hashlib
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fe_data.dataset import record, storage
from fe_data.dataset.design import named_design
from fe_data.dataset.verify import verify
from tests.fe_data.dataset.conftest import RECORD, make, sealed, table
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
