"""Given fibres in files, and datasets whose RVEs have them."""

import numpy as np
import pytest

from fe_data import Settings, generate, load_table, named_phases, verify
from fe_data.dataset import record, storage
from fe_data.dataset.design import design_from_file
from fe_data.dataset.fibre_file import microstructures_from_file
from fe_data.files.csv_rows import TableError
from fe_data.mechanics.results import RVEResult
from fe_data.schema import required_outputs

pytestmark = pytest.mark.usefixtures("in_this_process")
FIBRES = "microstructure,x,y,radius\n0,0.3,0.3,0.2\n0,0.8,0.7,0.1\n1,0.5,0.5,0.3\n"
ROWS = "E_f_GPa,b_m_MPa,c_m\n400,400,0.4\n300,350,0.3\n200,310,0.5\n"
FRACTIONS = [0.05 * np.pi, 0.09 * np.pi]
SETTINGS = Settings(resolution=2.0, increments=10)


def closed_form(inputs, fibres, settings):
    """A simulator of given fibres: outputs that depend on inputs and the first radius."""
    values = np.array([inputs.b_m_MPa, inputs.c_m, 120.0, 0.3, fibres.radii[0]])
    strain = np.linspace(0.0, settings.strain, settings.increments + 1)
    history = {"strain": np.outer(strain, [1.0, -0.3, 0.0, 0.0])}
    effective = dict(zip(required_outputs(), values.tolist(), strict=True))
    return RVEResult(effective, history, fibres.centres, {}, fibres.radii)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "fibres.csv").write_text(FIBRES)
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def designed(folder):
    fibres = microstructures_from_file(folder / "fibres.csv")
    return design_from_file(folder / "rows.csv", microstructures=fibres)


def make(design, folder, **options):
    options = {"simulator": closed_form, "silent": True, **options}
    return generate(design, SETTINGS, folder, **options)


def test_every_row_takes_every_microstructure_and_its_volume_fraction(files):
    design = designed(files)
    assert design.microstructure_index.tolist() == [0, 1] * 3
    np.testing.assert_allclose(design.inputs[:, 0], FRACTIONS * 3, rtol=1e-11)
    assert design.inputs[:, 1].tolist() == [400.0, 400.0, 300.0, 300.0, 200.0, 200.0]
    assert design.groups.tolist() == list(range(6))
    assert design.sample(3).microstructure is design.microstructures[1]
    assert make(design, files / "data").counts["ok"] == 6
    lines = (files / "data" / storage.TABLE).read_text().splitlines()
    assert lines[0].startswith("index,microstructure,group,vf,E_f_GPa,b_m_MPa,c_m,b_eff_MPa")
    assert [line.split(",")[1] for line in lines[1:]] == ["0", "1"] * 3
    table = load_table(files / "data")
    assert table.outputs[:, -1].tolist() == [0.2, 0.3] * 3
    assert (table.seed == -1).all()
    arrays = record.decode_arrays(storage.record_path(files / "data", 2).read_bytes())
    assert arrays["fibre_radii"].tolist() == [0.2, 0.1]
    assert verify(files / "data") == ([], {"ok": 6, "retried": 0, "failed": 0})


def test_a_row_may_name_its_microstructure_and_a_table_is_simulated_again(files):
    rows = "microstructure,vf,E_f_GPa,b_m_MPa,c_m\n1,0.283,400,400,0.4\n0,0.1571,300,350,0.3\n"
    (files / "rows.csv").write_text(rows)
    design = designed(files)
    assert design.microstructure_index.tolist() == [1, 0]
    make(design, files / "data")
    (files / "rows.csv").write_bytes((files / "data" / storage.TABLE).read_bytes())
    make(designed(files), files / "again")
    tables = [(files / name / storage.TABLE).read_bytes() for name in ("data", "again")]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("microstructure,x,y,radius\n1,0.1,0.2,0.1\n", "2: microstructure = 1 is out of order"),
        ("x,y,radius\n0.1,0.2,z\n", "line 2: radius = 'z' is not a number"),
        ("x,y,radius\n0.1,0.2,0.1\n0.2,0.2,0.1\n", "microstructure 0: fibres 0 and 1 overlap"),
        ("x,y,radius\n" + 5001 * "0.1,0.2,0.1\n", "number of fibres = 5001 is out of range"),
        ("x,y,radius\n0.5,0.5,0.02\n", r"microstructure 0 of fibres: vf = 0\.0012\d* is ou"),
    ],
)
def test_files_of_other_fibres_are_refused(files, text, message):
    (files / "fibres.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        designed(files)


def test_rows_that_do_not_go_with_the_fibres_are_refused(files):
    (files / "rows.csv").write_text("vf,E_f_GPa,b_m_MPa,c_m\n0.3,400,400,0.4\n")
    with pytest.raises(TableError, match=r"line 2: vf = 0\.3 does not match"):
        designed(files)


def test_a_ring_without_a_material_is_refused_before_the_simulation(files):
    (micro,) = microstructures_from_file(files / "fibres.csv")[1:]
    design = design_from_file(files / "rows.csv", microstructures=[micro.coated(0.1)])
    glass = named_phases("glass_epoxy")
    with pytest.raises(ValueError, match=r"microstructure 0: .*'interphase' is unknown"):
        generate(design, SETTINGS, files / "data", phases=glass, silent=True)
    assert not (files / "data").exists()


def test_a_table_of_samples_that_all_failed_has_no_columns_that_nobody_asked_for(files):
    def failing(*_):
        raise ArithmeticError("no solution")

    design = designed(files)
    make(design, files / "data")
    summary = make(design, files / "failed", simulator=failing)
    assert summary.counts == {"ok": 0, "retried": 0, "failed": 6}
    headers = [(files / name / storage.TABLE).read_text().split()[0] for name in ("data", "failed")]
    assert headers[0] == headers[1]


def test_given_fibres_that_fail_are_not_tried_again(files):
    def failing(inputs, fibres, settings):
        if inputs.E_f_GPa == 300.0 and len(fibres.radii) == 1:
            raise ArithmeticError("no solution")
        return closed_form(inputs, fibres, settings)

    summary = make(designed(files), files / "data", simulator=failing)
    assert summary.counts == {"ok": 5, "retried": 0, "failed": 1}
    assert len((files / "data" / storage.FAILURES).read_text().splitlines()) == 2
