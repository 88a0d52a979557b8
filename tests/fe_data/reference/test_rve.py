"""The second solver, in UFL, against the compiled one on the same mesh."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fe_data.__main__ import main
from fe_data.cli.rve_folder import describe
from fe_data.homogenisation.anisotropy import anisotropy
from fe_data.loading import IN_PLANE, Loading
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import HardeningTable, Inputs, Settings
from tests.fe_data.reference import agreement

INPUTS = Inputs(0.3, 400.0, 400.0, 0.4)
# Few fibres, coarse, converged far beyond the default.
SMALL = Settings(n_fibres=2, resolution=2.0, increments=8, strain=0.02, tolerance=1e-9)
TABLE = HardeningTable([0.0, 0.004, 0.01, 0.05], [300.0, 420.0, 450.0, 700.0])
LOADINGS = [
    Loading((None, None, 0.02)),
    Loading((0.01, 0.005, None), (0.0, 0.0, 50.0)),
    Loading([(0.01, None, None), (-0.01, None, None), (None, None, None)]),  # reverse, unload
    Loading([(0.01, None, 0.0), (0.01, None, 0.008), (0.0, 0.0, 0.0)], increments=6),
]


def both(loading=None, inputs=INPUTS, settings=SMALL):
    return [
        solve_rve(inputs, settings, loading, seed=1, solver=solver)
        for solver in ("compiled", "dolfinx")
    ]


def assert_same_averages(compiled, second):
    counts = [rve.path.counts["cutbacks"] for rve in (compiled, second)]
    assert counts == [0, 0]  # the same increments in both
    assert compiled.history["yielded_fraction"][-1] > 0.3
    for name, values in compiled.history.items():
        assert second.history[name].shape == values.shape
        assert np.abs(second.history[name] - values).max() <= 1e-8 * np.abs(values).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "b", "c"), [("power", 400.0, 0.4), ("voce", 400.0, 0.02), (TABLE, 0.0, 1.0)], ids=str
)
def test_both_solvers_give_the_same_record_and_fields(law, b, c):
    inputs = replace(INPUTS, b_m_MPa=b, c_m=c)
    compiled, second = both(inputs=inputs, settings=replace(SMALL, hardening=law))
    assert_same_averages(compiled, second)
    records = compiled.result(), second.result()
    assert records[1].effective == pytest.approx(records[0].effective, rel=1e-6)
    assert records[1].info.keys() == records[0].info.keys()
    spreads = [anisotropy(rve).spread for rve in (compiled, second)]
    assert spreads[1] == pytest.approx(spreads[0], rel=1e-5)
    for one, other in zip(compiled.fields.fibre_stress, second.fields.fibre_stress, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-5)
    for name in ("matrix_stress", "plastic_strain"):
        one, other = (getattr(rve.fields, name) for rve in (compiled, second))
        np.testing.assert_allclose(other, one, atol=1e-8 * np.abs(one).max())
    history = second.path.state.history
    plastic_strain = history.plastic_strain[second.problem.in_matrix][..., IN_PLANE]
    one = compiled.path.state.old.plastic_strain
    np.testing.assert_allclose(plastic_strain, one, atol=1e-8 * np.abs(one).max())
    fluctuations = [rve.problem.fluctuation(rve.path.x) for rve in (compiled, second)]
    np.testing.assert_allclose(*fluctuations, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("loading", LOADINGS[:3], ids=str)
def test_both_solvers_average_to_the_same_under_other_loadings(loading):
    assert_same_averages(*both(loading))


def test_both_solvers_follow_a_table_under_unloading():
    inputs = replace(INPUTS, b_m_MPa=0.0, c_m=1.0)
    assert_same_averages(*both(LOADINGS[3], inputs, replace(SMALL, hardening=TABLE)))


@pytest.mark.slow
def test_both_solvers_take_smaller_increments_where_a_table_bends_up():
    """The tangent jumps at a row: Newton's method fails where the shear of three discs turns."""
    table = HardeningTable([0, 0.005, 0.01, 0.02, 1], [400, 405, 500, 520, 3000])
    settings = replace(SMALL, hardening=table, n_fibres=3)
    cycle = Loading([(None, None, shear) for shear in (0.02, -0.015, 0.01)])
    rves = both(cycle, replace(INPUTS, b_m_MPa=0.0, c_m=1.0), settings)
    assert [rve.path.counts["cutbacks"] for rve in rves] == [1, 1]
    for name, values in rves[0].history.items():
        difference = np.abs(rves[1].history[name] - values).max()
        assert difference <= 1e-6 * np.abs(values).max()


def test_both_solvers_agree_without_projection():
    """Plain P2 elements; the projection matters, or the comparison would not show it."""
    micro = both()[0].microstructure
    rves = [
        solve_rve(INPUTS, SMALL, microstructure=micro, element="P2", solver=solver)
        for solver in ("compiled", "dolfinx")
    ]
    assert_same_averages(*rves)
    projected = both()[1].history["stress"][-1, 0]
    plain = rves[1].history["stress"][-1, 0]
    assert plain > 1.001 * projected


@pytest.mark.usefixtures("brief_picture")
def test_the_command_line_takes_the_second_solver(tmp_path, capsys):
    rve = "--vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --seed 1 --n-fibres 2 --resolution 2 "
    options = [*rve.split(), "--increments", "8", "--strain", "0.02", "--tolerance", "1e-9"]
    assert main(["rve", *options, "--solver", "dolfinx", "--out", str(tmp_path), "--xdmf"]) == 0
    assert describe(both()[0]) in capsys.readouterr().out
    assert json.loads((tmp_path / "result.json").read_text())["solver"] == "dolfinx"
    assert (tmp_path / "fields.xdmf").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("inputs", "name", "loading"), list(agreement.cases())[::3])
def test_both_solvers_agree_at_the_corners_of_the_box(inputs, name, loading):
    """A third of the cases has each corner and each loading; the program beside it has all."""
    largest = agreement.differences(inputs, loading)
    assert len(largest) == (4 if name == "uniaxial" else 3)
    assert max(largest.values()) <= 1e-6
