"""Training sets of notebook 05: what a folder has, and what is read."""

import shutil

from figures.beyond.other_methods.problems import input_files


def test_every_file_that_is_read_is_an_input(tables, settings, tmp_path):
    shutil.copytree(tables, tmp_path, dirs_exist_ok=True)
    names = {path.name for path in input_files(tmp_path, settings)}
    assert names == {"train_beta.csv", "test_uniform.csv", "02_example_1d.csv"}
    for design in ("train_uniform", "replicates", "noise"):
        shutil.copy(tables / "train_beta.csv", tmp_path / f"{design}.csv")
    added = {path.name for path in input_files(tmp_path, settings)} - names
    assert added == {"train_uniform.csv", "replicates.csv", "noise.csv"}
