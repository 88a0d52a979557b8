"""Curves of tables. Run it with the folders of designs, that of the truth last, to ship them."""

import argparse
from pathlib import Path

import gmsh
import numpy as np
import pytest

from fe_data import Inputs, Settings, TableError, generate, load_curves, load_table, solve_rve
from fe_data.dataset.curves import SHIPPED
from fe_data.dataset.design import Design
from fe_data.statistics.replicates import replicate_statistics
from tests.limits import limited

DATASETS = Path(__file__).parents[3] / "fe_data" / "datasets"
PLAIN = ("train_uniform", "test_uniform", "train_beta", "replicates", "noise")
with np.load(DATASETS / SHIPPED) as packed:
    TABLES = [name for name in packed.files if name != "strain" and not name.endswith("_std")]
SMALL = Settings(n_fibres=1, resolution=1.0, increments=4)


def write(folder, folder_of_truth):
    """Pack the curves of simulated designs; of the truth its means and standard deviations."""
    arrays = {}
    for name in PLAIN:
        curves = load_curves(Path(folder) / name / "dataset.csv")
        arrays |= {"strain": curves.strain, name: curves.stress}
    path = Path(folder_of_truth) / "truth" / "dataset.csv"
    if path.is_file():
        table = load_table(path)
        stress = load_curves(path).stress
        members = [(table.inputs == x).all(axis=1) for x in replicate_statistics(table).X]
        arrays["truth"] = np.array([stress[rows].mean(axis=0) for rows in members])
        arrays["truth_std"] = np.array([stress[rows].std(axis=0, ddof=1) for rows in members])
    single = {name: values.astype(np.float32) for name, values in arrays.items()}
    np.savez_compressed(DATASETS / SHIPPED, **single)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curves") / "cells"
    inputs = np.array([[0.2, 400.0, 400.0, 0.4], [0.3, 300.0, 350.0, 0.3]])
    design = Design("pair", 0, inputs, np.arange(2))
    generate(design, SMALL, folder, jobs=1, silent=True)
    return folder, design


def test_curves_are_those_of_the_simulations_in_the_order_of_the_table(folder):
    path, design = folder
    curves = load_curves(path / "dataset.csv")
    table = load_table(path / "dataset.csv")
    np.testing.assert_allclose(curves.strain, 0.05 * np.arange(1, 5) / 4)
    assert curves.std is None
    for row, index in enumerate(table.index):
        sample = design.sample(int(index))
        history = solve_rve(Inputs(*table.inputs[row]), sample.seed, SMALL).history
        np.testing.assert_allclose(curves.stress[row], history["stress"][1:, 0], rtol=1e-9)


def test_a_missing_record_is_named(folder, tmp_path):
    (tmp_path / "dataset.csv").write_bytes((folder[0] / "dataset.csv").read_bytes())
    with pytest.raises(TableError, match="no curve of sample 0"):
        load_curves(tmp_path / "dataset.csv")


@pytest.mark.parametrize("name", TABLES)
def test_shipped_curves_go_with_the_shipped_properties(name):
    """sigma_xx = E eps_xx / (1 - nu²), but for the anisotropy that E and nu do not know of."""
    path = DATASETS / f"{name}.csv"
    curves = load_curves(path)
    table = load_table(path)
    modulus = 1e3 * table.outputs[:, 2] / (1 - table.outputs[:, 3] ** 2)
    np.testing.assert_allclose(curves.stress[:, 0], modulus * curves.strain[0], rtol=0.01)
    assert (np.diff(curves.stress) > 0).all()
    assert (curves.std is None) == (name in PLAIN)


@pytest.mark.skipif(gmsh.__version__ != "4.15.0", reason="made with gmsh 4.15.0")
def test_a_shipped_curve_is_simulated_again():
    path = DATASETS / "train_uniform.csv"
    curves = load_curves(path)
    table = load_table(path)
    again = solve_rve(Inputs(*table.inputs[17]), int(table.seed[17]), Settings()).history
    np.testing.assert_allclose(curves.strain, again["strain"][1:, 0], rtol=1e-6)
    np.testing.assert_allclose(curves.stress[17], again["stress"][1:, 0], rtol=1e-6)


def test_curves_of_other_tables_are_refused(tmp_path):
    table = (DATASETS / "test_uniform.csv").read_text()
    (tmp_path / "test_uniform.csv").write_text(table)
    with pytest.raises(TableError, match=r"no curves of it in a curves\.npz"):
        load_curves(tmp_path / "test_uniform.csv")
    np.savez(tmp_path / SHIPPED, strain=np.ones(50), test_uniform=np.ones((4, 50)))
    with pytest.raises(TableError, match=r"has 50 rows: curves\.npz has 4 curves"):
        load_curves(tmp_path / "test_uniform.csv")


def test_packed_curves_that_unpack_to_a_thousand_times_their_size_are_refused(tmp_path):
    (tmp_path / "test_uniform.csv").write_text((DATASETS / "test_uniform.csv").read_text())
    np.savez_compressed(tmp_path / SHIPPED, strain=np.ones(50), test_uniform=np.zeros(5_000_000))
    with (
        limited(megabytes=10),
        pytest.raises(TableError, match=r"no curves of it in a curves\.npz"),
    ):
        load_curves(tmp_path / "test_uniform.csv")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="of designs, that of the truth last")
    folders = parser.parse_args().folders
    write(folders[0], folders[-1])
