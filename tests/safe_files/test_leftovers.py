"""Writing a file deletes the temporary files that killed processes left of it, and no others."""

import os

import pytest

from bnn.storage.reading import as_path
from safe_files.locking import lock
from safe_files.writing import write_atomic

DEAD = ".model.npz.0123456789abcdef.tmp"
OTHERS = (
    ".other.npz.0123456789abcdef.tmp",
    ".model.npz.0123456789abcdef.tmp.txt",
    ".model.npz.mine.tmp",
)


def write(path, age):
    path.write_bytes(b"x")
    os.utime(path, (path.stat().st_mtime - age,) * 2)


def test_leftovers_of_a_killed_process_are_removed_by_the_next_one(tmp_path):
    for name in (DEAD, *OTHERS):
        write(tmp_path / name, age=10.0)
    write_atomic(tmp_path / "model.npz", b"new", None)
    assert {path.name for path in tmp_path.iterdir()} == {"model.npz", *OTHERS}


def test_files_of_other_running_processes_stay(tmp_path):
    busy = tmp_path / DEAD
    write(busy, age=10.0)
    write(tmp_path / DEAD.replace("0", "1"), age=0.0)  # may not be locked yet
    with busy.open("rb") as file:
        lock(file.fileno())
        write_atomic(tmp_path / "model.npz", b"new", None)
    assert len([*tmp_path.iterdir()]) == 3


def test_a_null_byte_in_a_path_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"^path = .*must not contain a null byte$"):
        write_atomic(tmp_path / "a\0b", b"", None)
    with pytest.raises(ValueError, match=r"^path = .*must not contain a null byte$"):
        as_path("a\0b")
