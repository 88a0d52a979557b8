"""Statistics over microstructures: their definition, what is left out, and the file of them."""

import gzip

import numpy as np
import pytest

from fe_data.__main__ import main
from fe_data.dataset.design import named_design
from fe_data.dataset.table import load_table
from fe_data.files.csv_rows import TableError
from fe_data.schema import required_outputs
from fe_data.statistics.replicates import load_statistics, replicate_statistics, save_statistics
from tests.fe_data.statistics.tables import table_of


def rves(groups=6, replicates=7):
    """Correlated outputs, interleaved so that equal inputs are not neighbours."""
    design = named_design("reference", count=groups, replicates=replicates)
    rng = np.random
    outputs = np.abs(rng.default_rng(1).standard_normal((len(design), 5)) @ np.triu(np.ones(5)))
    order = rng.default_rng(2).permutation(len(design))
    return table_of(design, outputs, order)


def write(path, table, failed=()):
    """A table of RVEs, those of the given rows without outputs."""
    frame = table.to_pandas()
    frame.loc[list(failed), [*required_outputs()]] = np.nan
    frame.loc[list(failed), "status"] = "failed"
    frame.to_csv(path, index=False)


def test_moments_are_those_of_the_definition():
    table = rves()
    statistics = replicate_statistics(table)
    assert statistics.count.tolist() == [7] * 6
    assert sorted(statistics.group) == list(range(6))
    assert statistics.group[0] == table.group[0]
    for n, group in enumerate(statistics.group):
        y = table.outputs[table.group == group]
        assert (table.inputs[table.group == group] == statistics.X[n]).all()
        deviations = y - y.mean(axis=0)
        np.testing.assert_allclose(statistics.mean[n], y.sum(axis=0) / 7)
        np.testing.assert_allclose(statistics.covariance[n], deviations.T @ deviations / 6)
        np.testing.assert_allclose(statistics.standard_error[n], y.std(axis=0, ddof=1) / np.sqrt(7))


def test_the_file_gives_the_statistics_back_and_its_means_to_any_reader_of_tables(tmp_path):
    saved = replicate_statistics(rves())
    saved.covariance[2, :, 4] = saved.covariance[2, 4] = 0.0  # no microstructure has p_sigma > 0
    save_statistics(saved, tmp_path / "s.csv")
    read = load_statistics(tmp_path / "s.csv")
    for name in ("group", "X", "count"):
        assert (getattr(read, name) == getattr(saved, name)).all()
    for name in ("mean", "covariance", "std", "standard_error"):
        np.testing.assert_allclose(getattr(read, name), getattr(saved, name), rtol=1e-8, atol=1e-12)
    assert (load_table(tmp_path / "s.csv").outputs == read.mean).all()


def test_the_command_counts_failed_rves_and_leaves_out_inputs_without_scatter(tmp_path, capsys):
    table = rves()
    command = ["statistics", str(tmp_path), "--out", str(tmp_path / "s.csv")]
    of_three = np.flatnonzero(table.group == 3).tolist()
    write(tmp_path / "dataset.csv", table, of_three[:1])
    assert main(command) == 1
    assert "1 RVE of" in capsys.readouterr().err
    statistics = load_statistics(tmp_path / "s.csv")
    assert statistics.count[statistics.group == 3] == 6
    assert statistics.count.sum() == 41
    (tmp_path / "s.csv").unlink()
    for left, message in (
        (0, "all RVEs with the inputs"),
        (1, "scatter needs 2: use"),
    ):
        write(tmp_path / "dataset.csv", table, of_three[left:])
        assert main(command) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "s.csv").exists()
    write(tmp_path / "dataset.csv", table)
    assert main(command) == 0


def test_a_bad_file_is_refused(tmp_path):
    path = tmp_path / "s.csv"
    save_statistics(replicate_statistics(rves()), path)
    lines = [line.split(",") for line in path.read_text().splitlines()]
    lines[2][lines[0].index("count")] = "1"
    path.write_text("\n".join(map(",".join, lines)))
    with pytest.raises(TableError, match="row 2 below the header: count is an integer >= 2"):
        load_statistics(path)


def test_a_damaged_packed_table_is_refused(tmp_path):
    write(tmp_path / "t.csv", rves())
    data = (tmp_path / "t.csv").read_bytes()
    packed = tmp_path / "t.csv.gz"
    for damaged in (data, gzip.compress(data)[:-20], gzip.compress(data)[:200] + bytes(300)):
        packed.write_bytes(damaged)
        with pytest.raises(TableError, match=r"t\.csv\.gz is not a CSV file"):
            load_table(packed)
