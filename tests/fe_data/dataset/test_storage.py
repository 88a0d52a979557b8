"""A dataset folder is of one configuration, and runs that share it do not disturb each other."""

import os
from pathlib import Path

import pytest

from fe_data.dataset import record, storage
from fe_data.dataset.design import named_design
from fe_data.dataset.storage import FolderLockedError
from fe_data.settings import Settings
from tests.fe_data.analytic_rve import AnalyticRVE
from tests.fe_data.dataset.conftest import DESIGN, RECORD, SETTINGS, make, sealed, table


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
    (made / storage.CONFIG).unlink()  # made again from its records, and from no others
    with pytest.raises(ValueError, match="another configuration"):
        make(made, design=design, settings=settings)
    assert make(made).simulated == 0


@pytest.mark.parametrize("name", [storage.CONFIG, storage.TABLE, RECORD])
def test_files_of_something_else_are_kept(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(ValueError, match=r"contains [\w.]+, which is not of a dataset folder"):
        make(tmp_path)
    assert path.read_text() == "mine"


def test_a_folder_in_place_of_the_table_is_kept_and_said_before_any_work(made):
    (made / storage.TABLE).unlink()
    storage.record_path(made, 6).unlink()
    (made / storage.TABLE).mkdir()
    (made / storage.TABLE / "mine.txt").write_text("mine")
    with pytest.raises(IsADirectoryError, match="has this name, move it away"):
        make(made, AnalyticRVE(raising=(DESIGN.sample(6).seed, OSError())))
    assert (made / storage.TABLE / "mine.txt").read_text() == "mine"


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


def test_runs_that_share_samples_exclude_each_other(tmp_path):
    for held, shard in ((1, 1), (1, 2)), ((1, 2), (1, 4)), ((1, 2), (2, 3)):
        with storage.locked(tmp_path, held), pytest.raises(FolderLockedError, match="is in use by"):
            make(tmp_path, shard=shard)
    for shard in (2, 2), (2, 4):
        with storage.locked(tmp_path, (1, 2)):
            make(tmp_path, shard=shard)
    assert make(tmp_path).table_written


def test_leftovers_of_a_killed_run_are_removed(tmp_path, monkeypatch):
    storage.open_folder(tmp_path, storage.configuration(DESIGN, SETTINGS))  # as any run begins
    path = storage.record_path(tmp_path, 3)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: None)
        record.write_atomic(path, b"half")
    (leftover,) = path.parent.iterdir()
    os.utime(leftover, (0, 0))  # one of this second may still be written
    make(tmp_path, shard=(1, 2))
    assert leftover.exists()  # sample 3 is the other shard's
    make(tmp_path, shard=(2, 2))
    assert not leftover.exists()
