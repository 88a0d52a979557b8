"""Tables keep every bit, and say exactly what is wrong with a file."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given

from fe_data.dataset.inputs_file import read_inputs
from fe_data.dataset.table import load_table
from fe_data.files.csv_rows import TableError
from tests.damage import FUZZ, damaged, outcome
from tests.limits import limited

GOOD = "0.2,400,350,0.4"
HEAD = "vf,E_f_GPa,b_m_MPa,c_m"
FULL = HEAD + ",b_eff_MPa,c_eff,E_eff_GPa,nu_eff,p_sigma"
OUTPUTS = "420,0.35,120,0.29,0.2"


def test_failed_rows_and_rows_without_a_fit_are_kept_apart(tmp_path):
    """Neither a table nor its statistics ever have a NaN for what is empty."""
    path = tmp_path / "table.csv"
    rows = [f"7,{GOOD},,,,,,failed", UNFITTED, f"9,{GOOD},{OUTPUTS},retried"]
    path.write_text("\n".join([f"index,{FULL},status", *rows]))
    with pytest.warns(UserWarning, match="1 of the rows lack b_eff_MPa and c_eff"):
        table = load_table(path)
    assert table.failed.tolist() == [7]
    assert table.unfitted.tolist() == [8]
    assert table.index.tolist() == [9]
    assert table.n_rows == 3
    assert np.isfinite(table.outputs).all()


UNFITTED = f"8,{GOOD},,,120,0.29,0.2,unfitted"


BAD_INPUTS = [
    ("", "{} is empty: expected a header with vf, E_f_GPa, b_m_MPa, c_m"),
    ("vf;E_f_GPa;b_m_MPa;c_m\n0.2;1;1;1", "{}, line 1: a comma separates columns, not a sem"),
    (f"{HEAD},vf\n{GOOD},1", "{}, line 1: column vf appears twice"),
    (f"{HEAD}\n0.2,400,1e999,0", "{}, line 2: b_m_MPa = '1e999' is not finite"),
    (f'{HEAD}\n0.2,400,350,"0.4', "{} is not a CSV file: unexpected end of data"),
    (f"{HEAD}\n{GOOD}\n0.2,400,350", "{}, line 3: 3 cells where the header has 4"),
    (f"{HEAD}\n0.2,400,350,0", "{}, line 2: c_m = 0.0 is out of range: allowed is [0.0001, 1]"),
    (f"group,{HEAD}\n0,{GOOD}\n0,0.3,400,350,0.4", "group = 0 has other inputs than in line 2"),
]
TWICE = f"3,{GOOD},{OUTPUTS},ok\n"
BAD_TABLES = [
    (f"{HEAD}\n{GOOD}", "columns b_eff_MPa, c_eff, E_eff_GPa, nu_eff, p_sigma are missing"),
    (f"{FULL},status\n{GOOD},{OUTPUTS},good", "line 2: status = 'good' is unknown"),
    (f"{FULL},status\n{GOOD},{OUTPUTS},failed", "line 2: b_eff_MPa = '420' must be empty"),
    (f"{FULL},status\n{GOOD},{OUTPUTS},unfitted", "line 2: status = 'unfitted', but no output"),
    (f"index,{FULL},status\n{TWICE}{TWICE}", "line 3: index = 3 is in line 2 already"),
]


@pytest.mark.parametrize(
    ("load", "text", "message"),
    [(read_inputs, *case) for case in BAD_INPUTS] + [(load_table, *case) for case in BAD_TABLES],
)
def test_bad_files_are_refused(tmp_path, load, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=re.escape(message.format(path))):
        load(path)


def test_spreadsheet_habits_are_understood_and_other_encodings_refused(tmp_path):
    path = tmp_path / "table.csv"
    text = "\ufeff" + '"vf", E_f_GPa,b_m_MPa,c_m,note\r\n0.2 ,4e2,"350",.4,"a, b"\r\n\r\n'
    path.write_bytes(text.encode())
    points, groups, _ = read_inputs(path)
    assert points.tolist() == [[0.2, 400.0, 350.0, 0.4]]
    assert groups.tolist() == [0]
    path.write_bytes(b"vf,\xe9\n1,2")
    with pytest.raises(TableError, match="is not a text file in UTF-8"):
        read_inputs(path)


def test_a_packed_file_may_not_unpack_to_a_thousand_times_its_size(tmp_path):
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(gzip.compress(f"{FULL}\n".encode() + 300_000 * f"{GOOD},{OUTPUTS}\n".encode()))
    with limited(), pytest.raises(TableError, match=r"unpacks to more than \d+ bytes, the limit"):
        load_table(path)


@FUZZ
@given(damaged(f"index,{FULL},status\n{TWICE}".encode()))
def test_a_damaged_table_is_refused_or_has_numbers_alone(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    inputs = outcome(read_inputs, path)
    table = outcome(load_table, path)
    assert inputs is None or np.isfinite(inputs[0]).all()
    assert table is None or np.isfinite(np.hstack([table.inputs, table.outputs])).all()
