"""A lock lasts until its file is closed; only shared locks go together."""

import errno

import pytest

from safe_files import locking
from safe_files.locking import lock


@pytest.mark.parametrize(
    ("first_shared", "second_shared"), [(False, False), (False, True), (True, False), (True, True)]
)
def test_two_locks_go_together_only_if_both_are_shared(tmp_path, first_shared, second_shared):
    path = tmp_path / "file"
    with path.open("ab") as first, path.open("ab") as second:
        assert lock(first.fileno(), shared=first_shared)
        if first_shared and second_shared:
            assert lock(second.fileno(), shared=True, wait=False)
        else:
            with pytest.raises(BlockingIOError):
                lock(second.fileno(), shared=second_shared, wait=False)
        first.close()
        assert lock(second.fileno(), wait=False)


def test_a_system_or_a_file_system_without_locks_is_reported(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    with (tmp_path / "file").open("ab") as file:
        monkeypatch.setattr(locking.fcntl, "flock", fail)
        assert not lock(file.fileno())
        monkeypatch.setattr(locking, "fcntl", None)
        assert not lock(file.fileno())
