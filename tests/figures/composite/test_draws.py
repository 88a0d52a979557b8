"""Which table of independent draws belongs to a folder of tables."""

import shutil

from figures.composite import path_of_draws
from figures.pipeline.paths import SHIPPED_TABLES, TEST, TRAINING, drawn, table_path

SHIPPED = table_path(drawn(SHIPPED_TABLES), TRAINING)


def test_shipped_draws_belong_to_a_folder_with_their_first_draw(tmp_path):
    shutil.copy(SHIPPED_TABLES / f"{TRAINING}.csv", tmp_path)
    assert path_of_draws(tmp_path, TRAINING) == SHIPPED
    table_of_draw = drawn(tmp_path) / f"{TRAINING}.csv"
    table_of_draw.parent.mkdir()
    shutil.copy(SHIPPED, table_of_draw)
    assert path_of_draws(tmp_path, TRAINING) == table_of_draw


def test_draws_of_other_settings_do_not_belong_to_a_folder(tmp_path):
    """They are left of a run before the table of the folder was simulated again."""
    table_of_draw = drawn(tmp_path) / f"{TRAINING}.csv"
    table_of_draw.parent.mkdir()
    shutil.copy(SHIPPED, table_of_draw)
    shutil.copy(SHIPPED_TABLES / f"{TEST}.csv", tmp_path / f"{TRAINING}.csv")
    assert path_of_draws(tmp_path, TRAINING) is None


def test_other_tables_have_no_shipped_draws(tmp_path):
    shutil.copy(SHIPPED_TABLES / f"{TEST}.csv", tmp_path / f"{TRAINING}.csv")
    assert path_of_draws(tmp_path, TRAINING) is None
