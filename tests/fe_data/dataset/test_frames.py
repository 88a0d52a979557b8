"""Tables and curves go to pandas and to files and come back as they were, or say what is wrong."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from fe_data import Curves, Table, TableError, generate, load_curves, load_table, save_curves
from fe_data.__main__ import main
from fe_data.dataset.design import named_design, retry_seed
from fe_data.dataset.storage import TABLE
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell

pd = pytest.importorskip("pandas")
SHIPPED = Path(__file__).parents[3] / "fe_data" / "datasets" / "test_uniform.csv"
DESIGN = named_design("train_beta", 3, count=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset folder, one of whose four samples failed."""
    made = tmp_path_factory.mktemp("data")
    failing = frozenset({DESIGN.sample(1).seed})
    cell = AnalyticCell(failing=failing | {retry_seed(DESIGN.sample(1).seed)})
    generate(DESIGN, Settings(increments=10), made, simulator=cell, silent=True)
    return made


def test_a_folder_is_read_as_its_table_is(folder):
    assert (load_table(folder).outputs == load_table(folder / TABLE).outputs).all()
    by_folder = load_curves(folder)
    assert by_folder.index.tolist() == load_table(folder).index.tolist() == [0, 2, 3]
    assert (by_folder.stress == load_curves(folder / TABLE).stress).all()


def test_a_folder_without_a_table_says_why_it_may_have_none(tmp_path):
    for load in load_table, load_curves:
        with pytest.raises(TableError, match=r"has no dataset\.csv: `generate` writes it when"):
            load(tmp_path)


def test_a_table_survives_pandas_to_the_last_bit(folder):
    for table in load_table(SHIPPED), load_table(folder):
        again = Table.from_pandas(table.to_pandas())
        for name in ("index", "seed", "group", "inputs", "outputs", "status"):
            np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
        assert again.outputs.flags.c_contiguous == table.outputs.flags.c_contiguous
    frame = pd.read_csv(folder / TABLE, float_precision="round_trip")
    assert Table.from_pandas(frame).failed.tolist() == [1]
    assert (Table.from_pandas(frame).outputs == table.outputs).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="c_m"), "frame: column c_m is missing"),
        (lambda frame: frame.assign(vf="x"), "frame, row 0: vf = 'x' is not a number; row 1"),
        (lambda frame: frame.assign(c_eff=np.nan), "frame, row 0: c_eff = '' is not a number"),
        (lambda frame: frame.assign(index=0), "frame, row 1: index = 0 is in row 0 already"),
        (lambda frame: frame.assign(status="good"), "frame, row 0: status = 'good' is unknown"),
        (lambda frame: frame[:0], "frame has no rows"),
        (lambda frame: pd.concat([frame, frame["vf"]], axis=1), "columns have the same name"),
    ],
)
def test_a_frame_that_is_no_table_is_refused(change, message):
    with pytest.raises(TableError, match=message):
        Table.from_pandas(change(load_table(SHIPPED).to_pandas()))


@pytest.mark.parametrize("kind", [Table, Curves])
def test_what_is_no_frame_is_refused(kind):
    with pytest.raises(TypeError, match=r"frame = \[1\] must be of type DataFrame"):
        kind.from_pandas([1])


def test_curves_survive_pandas_and_a_csv_file_to_the_last_bit(folder, tmp_path):
    for number, curves in enumerate((load_curves(SHIPPED), load_curves(folder))):
        path = tmp_path / f"{number}.csv"
        save_curves(curves, path)
        read = pd.read_csv(path, float_precision="round_trip")
        pd.testing.assert_frame_equal(read, curves.to_pandas(), check_exact=True)
        again = Curves.from_pandas(read)
        assert again.index.tolist() == curves.index.tolist()
        for ours, theirs in zip(again.histories, curves.histories, strict=True):
            for name in ours:
                np.testing.assert_array_equal(ours[name], theirs[name])
        assert {"strain", "stress"} <= set(ours)
    assert {"yielded_fraction"} <= set(ours)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="strain_xx"), "frame: column strain_xx is missing"),
        (
            lambda frame: frame.assign(strain_xx="x"),
            "frame: column strain_xx is not one of numbers",
        ),
        (
            lambda frame: frame.assign(strain_xx=np.inf),
            "frame, row 0: strain_xx is empty or not finite",
        ),
        (
            lambda frame: pd.concat([frame, frame["strain_xx"]], axis=1),
            "columns have the same name",
        ),
        (lambda frame: frame[1:], r"increments of sample 0 are not 0, 1, 2, \.\.\."),
        (lambda frame: frame.assign(index=[0] * 51 + [1] * 51 + [0] * 51), "are not together"),
        (lambda frame: frame.assign(stress_zz_MPa=0.0), "components of stress one before the last"),
        (lambda frame: frame[:0], "frame has no rows"),
    ],
)
def test_a_frame_that_holds_no_curves_is_refused(change, message):
    frame = load_curves(SHIPPED).to_pandas()[: 3 * 51]
    with pytest.raises(TableError, match=message):
        Curves.from_pandas(change(frame))


def test_the_command_writes_the_curves_and_counts_the_failed_cells(folder, tmp_path, capsys):
    out = tmp_path / "curves.csv"
    assert main(["curves", str(SHIPPED), "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == f"wrote {out}: 50 curves, 2500 increments in all\n"
    assert main(["curves", str(folder), "--out", str(out)]) == 1  # not all that was asked for
    said = capsys.readouterr()
    assert said.out == f"wrote {out}: 3 curves, 30 increments in all\n"
    assert said.err == f"fe_data: 1 RVE of {folder} failed: no curve\n"
    lines = out.read_text().splitlines()
    assert lines[0].startswith("index,increment,strain_xx,strain_yy,strain_zz,strain_xy,stress_xx_")
    assert [line.partition(",")[0] for line in lines[1::11]] == ["0", "2", "3"]


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    for name, code, message in (
        ("curves.parquet", 1, "a Parquet file needs pandas with pyarrow: pip install pandas "),
        ("curves.txt", 2, "must end in .csv or .parquet"),
    ):
        assert main(["curves", str(SHIPPED), "--out", str(tmp_path / name)]) == code
        assert message in capsys.readouterr().err
        assert not list(tmp_path.iterdir())


def test_a_parquet_file_holds_the_same(tmp_path):
    pytest.importorskip("pyarrow")
    curves = load_curves(SHIPPED)
    save_curves(curves, tmp_path / "curves.parquet")
    read = pd.read_parquet(tmp_path / "curves.parquet")
    pd.testing.assert_frame_equal(read, curves.to_pandas(), check_exact=True)


def test_without_pandas_one_sentence_says_what_to_install(monkeypatch):
    table = load_table(SHIPPED)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas adds what data frames need"):
        table.to_pandas()


def test_damaged_records_have_no_curves(folder, tmp_path):
    damaged = tmp_path / "damaged"
    (damaged / "records" / "0000").mkdir(parents=True)
    (damaged / TABLE).write_bytes((folder / TABLE).read_bytes())
    (damaged / "records" / "0000" / "0000000.npz").write_bytes(gzip.compress(b"no record"))
    with pytest.raises(TableError, match="no curve of sample 0 "):
        load_curves(damaged)
