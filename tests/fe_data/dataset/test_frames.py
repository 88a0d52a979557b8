"""Tables and curves go to pandas and to files and come back as they were, or say what is wrong."""

from pathlib import Path

import numpy as np
import pytest

from fe_data import Curves, Table, TableError, generate, load_curves, load_table, save_curves
from fe_data.dataset.design import named_design, retry_seed
from fe_data.dataset.storage import TABLE
from fe_data.settings import Settings
from tests.fe_data.analytic_rve import AnalyticRVE

pd = pytest.importorskip("pandas")
SHIPPED = Path(__file__).parents[3] / "fe_data" / "datasets" / "test_uniform.csv"
DESIGN = named_design("train_beta", 3, count=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset folder, one of whose four samples failed."""
    made = tmp_path_factory.mktemp("data")
    failing = frozenset({DESIGN.sample(1).seed})
    rve = AnalyticRVE(failing=failing | {retry_seed(DESIGN.sample(1).seed)})
    generate(DESIGN, Settings(increments=10), made, simulator=rve, silent=True)
    return made


def test_a_table_survives_pandas_to_the_last_bit(folder):
    for table in load_table(SHIPPED), load_table(folder):
        again = Table.from_pandas(table.to_pandas())
        for name in ("index", "seed", "group", "inputs", "outputs", "status"):
            np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
        assert again.outputs.flags.c_contiguous == table.outputs.flags.c_contiguous
    frame = pd.read_csv(folder / TABLE, float_precision="round_trip")
    assert Table.from_pandas(frame).failed.tolist() == [1]
    assert (Table.from_pandas(frame).outputs == table.outputs).all()


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


TABLE_FRAME = load_table(SHIPPED).to_pandas()
CURVES_FRAME = load_curves(SHIPPED).to_pandas()[: 3 * 51]


@pytest.mark.parametrize(
    ("kind", "frame", "message"),
    [
        (Table, TABLE_FRAME.drop(columns="c_m"), "frame: column c_m is missing"),
        (Table, pd.concat([TABLE_FRAME, TABLE_FRAME["vf"]], axis=1), "columns have the same name"),
        (Table, TABLE_FRAME[:0], "frame has no rows"),
        (Table, TABLE_FRAME.assign(vf="x"), "frame, row 0: vf = 'x' is not a number; row 1"),
        (Curves, CURVES_FRAME.assign(strain_xx="x"), "column strain_xx must contain numbers"),
        (Curves, CURVES_FRAME.assign(strain_xx=np.inf), "row 0: strain_xx is empty or not finite"),
        (Curves, CURVES_FRAME[1:], r"increments of sample 0 are not 0, 1, 2, \.\.\."),
    ],
)
def test_a_frame_of_something_else_is_refused(kind, frame, message):
    with pytest.raises(TableError, match=message):
        kind.from_pandas(frame)
