"""Loading paths in files, and datasets whose samples take them in turn."""

import numpy as np
import pytest

from fe_data.dataset import record, storage
from fe_data.dataset.collection import warning_of
from fe_data.dataset.curves import load_curves
from fe_data.dataset.design import named_design
from fe_data.dataset.generate import generate
from fe_data.dataset.inputs_file import read_inputs
from fe_data.dataset.loading_file import loadings_from_file
from fe_data.dataset.table import load_table
from fe_data.dataset.verify import verify
from fe_data.files.csv_rows import TableError
from fe_data.loading import Loading
from fe_data.settings import Settings
from tests.fe_data.analytic_rve import AnalyticRVE

SETTINGS = Settings(increments=10)
DESIGN = named_design("train_beta", 3, count=5)
PATHS = [Loading([(x, None, None), (0.02, None, None)], increments=(3, 7)) for x in (0.01, -0.01)]


def make(folder, loading=PATHS, **options):
    options = {"jobs": 1, "silent": True, "simulator": AnalyticRVE(), **options}
    return generate(DESIGN, SETTINGS, folder, loading=loading, **options)


def test_a_given_loading_has_no_warning_of_a_fit():
    header = {"info": {"warning": "no increment reaches 50 MPa"}}
    assert warning_of(header) == "no increment reaches 50 MPa"
    header |= {"loading": {}}
    assert warning_of(header) == ""
    assert warning_of(header | {"info": {"mesh_warning": "coarse"}}) == "coarse"


def test_a_file_says_the_same_as_python(tmp_path):
    file = tmp_path / "paths.csv"
    file.write_text(
        "path,strain_xx,strain_xy,stress_yy,increments\n"
        "0,0.02,,,5\n0,,,30,7\n1,-0.01,0.01,,\n1,0,0.01,,\n"
    )
    unloaded = Loading([(0.02, None, None), (None,) * 3], [(0.0,) * 3, (0.0, 30.0, 0.0)], (5, 7))
    assert loadings_from_file(file) == [unloaded, Loading([(-0.01, None, 0.01), (0.0, None, 0.01)])]


def test_a_file_of_six_components_has_temperature_and_time(tmp_path):
    file = tmp_path / "paths.csv"
    file.write_text("strain_xx,strain_zz,stress_xz,temperature,time\n,,,-80,60\n0.01,0,5,-80,70\n")
    free = (None,) * 6
    assert loadings_from_file(file) == [
        Loading(
            [free, (0.01, None, 0.0, None, None, None)],
            [(0.0,) * 6, (0.0, 0.0, 0.0, 0.0, 5.0, 0.0)],
            temperature=-80.0,
            time=(60.0, 70.0),
        )
    ]
    with pytest.raises(ValueError, match="needs a material"):
        generate(DESIGN, SETTINGS, tmp_path / "out", loading=loadings_from_file(file))


def test_an_empty_temperature_stays_as_before(tmp_path):
    file = tmp_path / "paths.csv"
    file.write_text("strain_xx,strain_zz,temperature\n,,-100\n0.01,,\n0.02,,0\n")
    (path,) = loadings_from_file(file)
    assert path.temperature == (-100.0, -100.0, 0.0)
    file.write_text("path,strain_xx,temperature\n0,0.01,-100\n1,0.01,\n")  # each starts at 0
    assert [path.temperature for path in loadings_from_file(file)] == [(-100.0,), (0.0,)]
    file.write_text("path,strain_xx,temperature\n0,0.01,\n1,0.01,\n")
    assert [path.temperature for path in loadings_from_file(file)] == [None, None]


def test_a_time_of_one_path_gives_the_others_one_second_per_row(tmp_path):
    file = tmp_path / "paths.csv"
    file.write_text("path,strain_xx,time\n0,0.01,60\n1,0.01,\n1,0.02,\n")
    assert [path.time for path in loadings_from_file(file)] == [(60.0,), (1.0, 2.0)]


def test_samples_take_the_paths_in_turn(tmp_path):
    assert make(tmp_path).counts["ok"] == 5
    lines = (tmp_path / storage.TABLE).read_text().splitlines()
    assert lines[0] == "index,seed,group,vf,E_f_GPa,b_m_MPa,c_m,path,status"
    assert [line.split(",")[-2:] for line in lines[1:]] == [[str(i % 2), "ok"] for i in range(5)]
    np.testing.assert_array_equal(read_inputs(tmp_path / storage.TABLE)[0], DESIGN.inputs)
    header = record.decode_header(storage.record_path(tmp_path, 3).read_bytes())
    assert header["path"] == 1
    assert Loading(**header["loading"]) == PATHS[1]
    histories = load_curves(tmp_path / storage.TABLE).histories
    ends = [history["strain"][-1, 0] for history in histories]
    assert ends == [0.01, -0.01, 0.01, -0.01, 0.01]
    with pytest.raises(TableError, match=r"columns b_eff_MPa, c_eff, .* are missing"):
        load_table(tmp_path / storage.TABLE)
    assert verify(tmp_path) == ([], {"ok": 5, "retried": 0, "failed": 0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strain_xx,shear\n0.1,0\n", "line 1: column 'shear' is unknown: allowed are path, "),
        ("path,strain_xx\n0,0.1\n1,0.7\n", "path 1: strain xx = 0.7 is out of range"),
        ("path,strain_xx\n0,0.1\n2,0.1\n", "line 3: path = 2 is out of order: expected is 1"),
        ("strain_xx,increments\n0.01,0\n", "increments = 0 is out of range"),
        ("strain_xx,time\n0.01,0\n", "time of the loading must grow from vertex to vertex"),
        ("strain_xx,time\n0.01,5\n0.02,\n", "line 3: time is empty: fill all rows of its path or"),
        (
            "path,strain_xx,increments\n0,0.01,\n1,0.01,\n1,0.02,5\n1,0.03,\n",
            "line 3: increments is empty: .*; line 5: increments is empty: fill all rows of its",
        ),
        ("strain_xx,increments\n0.01,x\n0.02,5\n", "csv, line 2: increments = 'x' is not an integ"),
    ],
)
def test_files_of_other_paths_are_refused(tmp_path, text, message):
    (tmp_path / "paths.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        loadings_from_file(tmp_path / "paths.csv")


def test_paths_are_part_of_the_configuration(tmp_path):
    with pytest.raises(ValueError, match="paths in loading = 6 is out of range"):
        make(tmp_path, PATHS * 3)  # more than samples
    make(tmp_path)
    with pytest.raises(ValueError, match="another configuration \\(loadings_sha"):
        make(tmp_path, PATHS[::-1])
