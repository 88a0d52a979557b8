"""Tables and curves go to pandas and to files with all their bits."""

from pathlib import Path

import pytest

from fe_data import generate, load_curves, load_table, save_curves
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


def test_a_frame_of_a_table_has_each_bit_of_the_file(folder):
    read = pd.read_csv(folder / TABLE, float_precision="round_trip").dropna()
    frame = load_table(folder).to_pandas()
    pd.testing.assert_frame_equal(read.reset_index(drop=True), frame, check_exact=True)


def test_a_file_of_curves_has_each_bit_of_their_frame(folder, tmp_path):
    for number, curves in enumerate((load_curves(SHIPPED), load_curves(folder))):
        path = tmp_path / f"{number}.csv"
        save_curves(curves, path)
        read = pd.read_csv(path, float_precision="round_trip")
        pd.testing.assert_frame_equal(read, curves.to_pandas(), check_exact=True)
