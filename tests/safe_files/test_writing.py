"""Files are written whole or not at all, and none that the project did not write is replaced."""

import os
from pathlib import Path

import pytest

from safe_files import writing
from tests.limits import UNUSUAL, full_disk, killed_at_each_step

OLD = b"old " * 100
NEW = b"new " * 1000


@pytest.fixture
def path(tmp_path):
    """A file with content."""
    path = tmp_path / "file"
    path.write_bytes(OLD)
    return path


def contents(folder):
    return {file: file.read_bytes() for file in folder.iterdir()}


def test_on_a_full_disk_the_earlier_file_stays(path):
    with full_disk(1000), pytest.raises(OSError, match="too large") as error:
        writing.write_atomic(path, NEW, None)
    assert error.value.filename == str(path)
    assert contents(path.parent) == {path: OLD}


def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(path):
    states = set()
    for _ in killed_at_each_step(lambda: writing.write_atomic(path, NEW, None)):
        states.add(path.read_bytes())
        path.write_bytes(OLD)
    assert states == {OLD, NEW}


def test_content_and_name_are_on_the_disk_at_the_end(path, monkeypatch):
    """The content before the file takes its place, the name after it."""
    steps = []
    replace = Path.replace
    monkeypatch.setattr(
        os, "fsync", lambda fd: steps.append(Path(f"/proc/self/fd/{fd}").readlink())
    )
    monkeypatch.setattr(
        Path, "replace", lambda one, other: (steps.append("rename"), replace(one, other))
    )
    writing.write_atomic(path, NEW, None)
    file, renamed, folder = steps
    assert file.parent == path.parent
    assert (renamed, folder) == ("rename", path.parent)


def test_two_machines_may_write_the_same_file_at_once(path, monkeypatch):
    """The other, of the same process number, begins between this one's writing and renaming."""
    sync = os.fsync

    def other_first(descriptor):
        monkeypatch.setattr(os, "fsync", sync)
        writing.write_atomic(path, b"other", None)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", other_first)
    writing.write_atomic(path, b"one", None)
    assert contents(path.parent) == {path: b"one"}


def test_permissions_of_a_new_file_are_of_the_mask(tmp_path):
    before = os.umask(0o027)
    try:
        writing.write_atomic(tmp_path / "new", NEW, None)
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_link_is_replaced_and_its_file_stays(path):
    for target in (path, path.with_name("missing")):
        link = path.with_name("link")
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        writing.write_atomic(link, NEW, None)
        assert not link.is_symlink()
        assert contents(path.parent) == {link: NEW, path: OLD}


@pytest.mark.parametrize(("content", "is_ours"), [(b"our table", True), (b"", True), (b"a", False)])
def test_a_file_that_begins_otherwise_stays(path, content, is_ours):
    path.write_bytes(content)
    if is_ours:
        writing.write_atomic(path, NEW, b"our (table|list)")
    else:
        with pytest.raises(FileExistsError, match="has another format: move it"):
            writing.write_atomic(path, NEW, b"our (table|list)")
    assert path.read_bytes() == (NEW if is_ours else content)


@pytest.mark.parametrize("kind", UNUSUAL)
def test_what_is_no_file_stays(tmp_path, kind):
    path = tmp_path / "file"
    UNUSUAL[kind](path)
    before = path.stat().st_mode
    with pytest.raises(OSError, match="has this name"):
        writing.write_atomic(path, NEW, None)
    assert path.stat().st_mode == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_read_only_file_stays(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for any user but the administrator
    with pytest.raises(PermissionError, match="read-only"):
        writing.write_atomic(path, NEW, None)
    assert path.read_bytes() == OLD
