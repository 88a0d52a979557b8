"""Statistics and comparison of tables whose rows differ in numbers of a material."""

import numpy as np
import pytest

from fe_data import compare, load_statistics, load_table, replicate_statistics
from fe_data.__main__ import main
from fe_data.statistics.replicates import save_statistics

FIELD = "matrix.elasticity.E_GPa"
HEAD = f"vf,E_f_GPa,b_m_MPa,c_m,{FIELD},b_eff_MPa,c_eff,E_eff_GPa,nu_eff,p_sigma,status"
MODULI = [3.0, 4.0]
MEANS = {3.0: 10.0, 4.0: 20.0}  # of E_eff


def table(path, shift=0.0, lost=(), field=FIELD):
    """Two RVEs of each of two matrices, whose E_eff differ by 2 from each other."""
    rows = [HEAD.replace(FIELD, field)]
    for modulus in MODULI:
        for sign in (-1, 1):
            outputs = f"400,0.3,{MEANS[modulus] + shift + sign},0.3,0.1,ok"
            if modulus in lost:
                outputs = ",,,,,failed"
            rows.append(f"0.3,70,0,1,{modulus},{outputs}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    "field",
    [
        FIELD,
        "matrix.parameters.yield_stress",
        "matrix.damage.fracture_energy_J_m2",
        "interface.normal_strength_MPa",
    ],
)
def test_each_material_has_its_mean_and_scatter(tmp_path, field):
    statistics = replicate_statistics(load_table(table(tmp_path / "a.csv", field=field)))
    assert statistics.fields == (field,)
    assert statistics.field_values.ravel().tolist() == MODULI
    assert statistics.mean[:, 2].tolist() == list(MEANS.values())
    assert statistics.std[:, 2].tolist() == pytest.approx([np.sqrt(2), np.sqrt(2)])
    save_statistics(statistics, tmp_path / "statistics.csv")
    again = load_statistics(tmp_path / "statistics.csv")
    assert again.fields == statistics.fields
    np.testing.assert_array_equal(again.field_values, statistics.field_values)
    np.testing.assert_array_equal(again.mean, statistics.mean)


def test_a_comparison_pairs_equal_materials(tmp_path):
    ours = load_table(table(tmp_path / "a.csv", shift=1.0))
    comparison = compare(ours, load_table(table(tmp_path / "b.csv")))
    assert comparison.distance == 0
    assert comparison.unpaired == 0
    assert comparison.difference[:, 2].tolist() == pytest.approx([0.1, 0.05])


def test_a_table_without_the_material_is_refused(tmp_path, capsys):
    path = table(tmp_path / "a.csv")
    reference = "fe_data/datasets/noise.csv"
    for further in ([], ["--tolerance", "0.1"]):
        assert main(["compare", str(path), reference, *further]) == 2
        assert f"only one of the tables has the columns {FIELD}" in capsys.readouterr().err


def test_the_command_names_a_material_whose_rves_all_failed(tmp_path, capsys):
    path = table(tmp_path / "a.csv")
    out = tmp_path / "s.csv"
    assert main(["statistics", str(path), "--out", str(out)]) == 0
    assert "2 inputs, 4 RVEs" in capsys.readouterr().out
    table(path, lost=(4.0,))
    assert main(["statistics", str(path), "--out", str(out)]) == 2
    assert "4.0) failed" in capsys.readouterr().err
