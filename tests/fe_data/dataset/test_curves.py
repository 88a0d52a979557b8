"""Curves of tables. Run it with the folders of designs, the reference last, to ship them."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from fe_data import (
    Curves,
    Settings,
    TableError,
    generate,
    load_curves,
    load_table,
    save_curves,
    solve_rve,
)
from fe_data.dataset.curves import SHIPPED
from fe_data.dataset.design import named_design
from fe_data.statistics.replicates import replicate_statistics
from tests.limits import limited

DATASETS = Path(__file__).parents[3] / "fe_data" / "datasets"
PLAIN = ("train_uniform", "test_uniform", "train_beta", "replicates", "noise")
with np.load(DATASETS / SHIPPED) as packed:
    TABLES = [name for name in packed.files if name != "strain" and not name.endswith("_std")]
SMALL = Settings(n_fibres=5, resolution=3.0, increments=30)


def write(folder, folder_of_reference):
    """Pack the curves of simulated designs; of the reference its means and standard deviations."""
    arrays = {}
    for name in PLAIN:
        curves = load_curves(Path(folder) / name / "dataset.csv")
        arrays |= {"strain": curves.strain, name: curves.stress}
    path = Path(folder_of_reference) / "reference" / "dataset.csv"
    if path.is_file():
        table = load_table(path)
        stress = load_curves(path).stress
        members = [(table.inputs == x).all(axis=1) for x in replicate_statistics(table).X]
        arrays["reference"] = np.array([stress[rows].mean(axis=0) for rows in members])
        arrays["reference_std"] = np.array([stress[rows].std(axis=0, ddof=1) for rows in members])
    single = {name: values.astype(np.float32) for name, values in arrays.items()}
    np.savez_compressed(DATASETS / SHIPPED, **single)


@pytest.mark.slow
def test_workers_give_curves_and_properties_of_the_same_rves_to_the_last_bit(tmp_path):
    design = named_design("train_beta", 5, count=2)
    summary = generate(design, SMALL, tmp_path, jobs=1, silent=True)
    assert summary.counts == {"ok": 2, "retried": 0, "failed": 0}
    curves = load_curves(tmp_path / "dataset.csv")
    table = load_table(tmp_path / "dataset.csv")
    np.testing.assert_allclose(curves.strain, 0.05 * np.arange(1, 31) / 30)
    assert curves.std is None
    for row, index in enumerate(table.index):
        sample = design.sample(int(index))
        alone = solve_rve(sample.inputs, SMALL, seed=sample.seed)
        np.testing.assert_array_equal(curves.stress[row], alone.history["stress"][1:, 0])
        effective = alone.result().effective
        assert table.outputs[row].tolist() == list(effective.values())
    (tmp_path / "records" / "0000" / "0000000.npz").unlink()
    with pytest.raises(TableError, match="no curve of sample 0"):
        load_curves(tmp_path / "dataset.csv")


def test_a_column_that_only_some_curves_have_is_empty_for_the_others(tmp_path):
    """Such as the interfaces of an RVE, if the design also has a resin without fibres."""
    n = np.arange(3.0)[:, None]
    plain = {"strain": n * np.ones(4), "stress": 2 * n * np.ones(4)}
    debonding = {"strain": n * np.ones(6), "stress": n * np.ones(6), "debonded_fraction": n[:, 0]}
    curves = Curves([plain, debonding], index=np.array([4, 7]))
    save_curves(curves, tmp_path / "curves.csv")
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    components = [f"strain_{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz")]
    columns = [*components, *(f"{name.replace('strain', 'stress')}_MPa" for name in components)]
    columns = ["index", "increment", *columns, "debonded_fraction"]
    assert lines[0].split(",") == columns
    assert lines[2] == "4,1,1.0,1.0,1.0,1.0,,,2.0,2.0,2.0,2.0,,,"
    assert lines[-1] == ",".join(["7", "2", *["2.0"] * 13])
    frame = curves.to_pandas()
    assert frame.columns.tolist() == columns
    assert frame["stress_xz_MPa"].tolist()[3:] == [0.0, 1.0, 2.0]
    assert frame["debonded_fraction"].isna().tolist() == [True] * 3 + [False] * 3
    assert frame.dtypes.tolist()[2:] == [float] * 13


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


@pytest.mark.parametrize(
    "stress",
    [None, np.ones((4, 50)), np.zeros(5_000_000)],
    ids=["none", "of another table", "bomb"],
)
def test_other_curves_are_refused(tmp_path, stress):
    """The last ones unpack to a thousand times their size."""
    (tmp_path / "test_uniform.csv").write_text((DATASETS / "test_uniform.csv").read_text())
    if stress is not None:
        np.savez_compressed(tmp_path / SHIPPED, strain=np.ones(50), test_uniform=stress)
    with limited(megabytes=10), pytest.raises(TableError, match=r"curves\.npz"):
        load_curves(tmp_path / "test_uniform.csv")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="of designs, the reference last")
    folders = parser.parse_args().folders
    write(folders[0], folders[-1])
