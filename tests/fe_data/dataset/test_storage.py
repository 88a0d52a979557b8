"""A dataset folder is of one configuration, and runs that share it do not disturb each other."""

import os
from pathlib import Path

import pytest

from fe_data.dataset import record, storage
from fe_data.dataset.design import named_design
from fe_data.dataset.storage import FolderLockedError
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell
from tests.fe_data.dataset.conftest import DESIGN, RECORD, SETTINGS, make, sealed, table
from tests.limits import limited


def test_a_configuration_leaves_out_laws_that_are_the_defaults():
    """The digest of a folder does not change when a further law of this kind is added."""
    assert not {"hardening", "radii", "radii_cov"} & set(
        storage.configuration(DESIGN, SETTINGS)["settings"]
    )
    other = storage.configuration(DESIGN, Settings(10, radii="uniform", radii_cov=0.1))
    assert other["settings"]["radii_cov"] == 0.1


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
            with pytest.raises(FolderLockedError, match="is in use by another `generate`"):
                make(tmp_path, shard=shard)
        else:
            make(tmp_path, shard=shard)
    assert make(tmp_path).table_written


def test_a_pipe_in_the_place_of_a_lock_is_refused(tmp_path):
    os.mkfifo(tmp_path / ".lock-1-of-2")
    with limited(), pytest.raises(ValueError, match=r"\.lock-1-of-2 is not a regular file"):
        make(tmp_path, shard=(1, 2))


def test_records_of_no_dataset_stay(tmp_path):
    mine = storage.record_path(tmp_path, 3)
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(ValueError, match="holds records, which is not of a dataset folder"):
        make(tmp_path)
    assert mine.read_text() == "mine"


def test_leftovers_of_a_killed_run_are_removed(tmp_path, monkeypatch):
    storage.open_folder(tmp_path, storage.configuration(DESIGN, SETTINGS))  # as any run begins
    path = storage.record_path(tmp_path, 3)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: None)
        record.write_atomic(path, b"half")
    (leftover,) = path.parent.iterdir()
    make(tmp_path, shard=(1, 2))
    assert leftover.exists()  # sample 3 is the other shard's
    make(tmp_path, shard=(2, 2))
    assert not leftover.exists()
