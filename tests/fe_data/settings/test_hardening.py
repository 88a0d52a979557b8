"""Hardening tables: what is refused, what they mean, and how they travel through files."""

import dataclasses
import json
import re

import numpy as np
import pytest

from fe_data import HardeningTable, Settings, generate, load_table
from fe_data.__main__ import main
from fe_data.dataset import storage
from fe_data.dataset.design import Design
from tests.fe_data.analytic_rve import AnalyticRVE

TABLE = HardeningTable([0.0, 0.02, 0.1], [400.0, 460.0, 500.0])
SMALL = Settings(n_fibres=2, resolution=2.0, increments=10, hardening=TABLE)


REFUSED = [
    ([0.0], [400.0], "plastic_strain has 1 values: allowed are 2 to 1000"),
    ([0.0, 1, 5, 10], [400.0, 420, 450, 470], "rows but the last; strains are fractions: 5 % is 0"),
    ([0.01, 0.02], [400.0, 500.0], "plastic_strain begins at 0.01: its first value must be 0"),
    ([0.0, 0.01], [400.0, 399.0], "stress must not fall: it is 399.0 in row 2 after 400.0"),
    ([0.0, 20.0], [400.0, 500.0], "allowed is [0, 10]; strains are fractions: 20 % is 0.2"),
]


@pytest.mark.parametrize(("strain", "stress", "message"), REFUSED)
def test_a_table_that_is_none_is_refused_also_in_a_file(tmp_path, capsys, strain, stress, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        HardeningTable(strain, stress)
    file = tmp_path / "table.csv"
    rows = [f"{p},{s}" for p, s in zip(strain, stress, strict=True)]
    file.write_text("\n".join(["plastic_strain,stress_MPa", *rows]), encoding="utf-8")
    command = ["rve", "--vf", "0.2", "--E-f", "400", "--out", str(tmp_path / "rve")]
    assert main([*command, "--hardening", f"table:{file}"]) == 2
    assert f"Invalid value for '--hardening': {file}, " in capsys.readouterr().err
    assert not (tmp_path / "rve").exists()


def test_the_first_row_is_the_initial_yield_stress():
    assert SMALL.sigma_y0_MPa == 400.0
    other = HardeningTable([0.0, 1.0], [250.0, 300.0])
    assert Settings(hardening=other).sigma_y0_MPa == 250.0
    with pytest.raises(ValueError, match=r"sigma_y0_MPa = 300.0 is not the first stress"):
        Settings(hardening=other, sigma_y0_MPa=300.0)


def test_a_dataset_is_of_one_table(tmp_path):
    """Its numbers are part of what names the samples, and the folder is taken up again by them."""
    rows = np.array([[0.2, 400.0, 0.0, 1.0], [0.3, 300.0, 0.0, 1.0]])
    design = Design("inputs", 0, rows, np.arange(2))
    options = {"simulator": AnalyticRVE(), "silent": True, "jobs": 1}
    assert generate(design, SMALL, tmp_path, **options).simulated == 2
    assert generate(design, SMALL, tmp_path, **options).simulated == 0
    assert len(load_table(tmp_path / "dataset.csv")) == 2
    config = json.loads((tmp_path / storage.CONFIG).read_text(encoding="utf-8"))
    assert HardeningTable(**config["settings"]["hardening"]) == TABLE
    other = dataclasses.replace(SMALL, hardening=HardeningTable([0.0, 0.02], [400.0, 460.0]))
    with pytest.raises(ValueError, match="another table of hardening"):
        generate(design, other, tmp_path, **options)
