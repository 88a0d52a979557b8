"""Rectangular cells: a hexagonal array, equal patterns in other cells, and refusals."""

import dataclasses

import numpy as np
import pytest

from fe_data import (
    Design,
    Loading,
    Microstructure,
    Settings,
    effective_constants,
    generate,
    microstructures_from_file,
    named_phases,
    solve_composite,
    solve_rve,
)
from fe_data.__main__ import main
from fe_data.geometry.microstructure import hexagonal_distance
from fe_data.settings import Inputs
from tests.fe_data.composite.lattices import hexagonal

METAL = named_phases("boron_aluminium")
CARBON = named_phases("carbon_epoxy")


@pytest.mark.parametrize(("phases", "vf"), [(METAL, 0.47), (CARBON, 0.6)], ids=["metal", "carbon"])
def test_a_hexagonal_array_is_transversely_isotropic(phases, vf):
    """G_TT = E_T / 2 (1 + ν_TT) of the stiffness itself, whose axes x and y differ in the cell."""
    micro = hexagonal(vf)
    assert micro.volume_fraction == pytest.approx(vf)
    assert micro.nearest_distances == pytest.approx([hexagonal_distance(vf)] * 2)
    found = effective_constants(phases, micro, resolution=10)
    assert found.misfit < 2e-4
    S = np.linalg.inv(found.stiffness_GPa)
    G_TT = 1 / S[3, 3]
    for axis in (0, 1):
        E_T, nu_TT = 1 / S[axis, axis], -S[0, 1] / S[axis, axis]
        assert pytest.approx(E_T / 2 / (1 + nu_TT), rel=1e-3) == G_TT
    assert S[4, 4] == pytest.approx(S[5, 5], rel=1e-3)  # G_LT in both planes


def test_a_pattern_is_the_same_in_a_cell_of_two_squares():
    """Upright, and lying: there all lengths are halved."""
    centres = np.array([[0.3, 0.35], [0.78, 0.8]])
    radii = np.array([0.25, 0.15])
    square = effective_constants(METAL, Microstructure(centres, radii), resolution=8)
    up = np.concatenate([centres, centres + np.array([0.0, 1.0])])
    upright = Microstructure(up, np.tile(radii, 2), height=2.0)
    right = np.concatenate([centres, centres + np.array([1.0, 0.0])]) / 2
    lying = Microstructure(right, np.tile(radii, 2) / 2, height=0.5)
    for cell in (upright, lying):
        assert cell.volume_fraction == pytest.approx(np.pi * (radii**2).sum())
        found = effective_constants(METAL, cell, resolution=8)
        scale = np.abs(square.stiffness_GPa).max()
        np.testing.assert_allclose(found.stiffness_GPa, square.stiffness_GPa, atol=1e-3 * scale)


def test_a_path_has_the_mean_stress_of_the_stiffness():
    phases = dataclasses.replace(
        CARBON, matrix=dataclasses.replace(CARBON.matrix, law="elastic", parameters={})
    )
    strain = 1e-3 * np.array([1.0, -0.5, 0.2])
    path = Loading(tuple(strain))
    rve = solve_composite(phases, hexagonal(0.5), path, increments=1, resolution=5, silent=True)
    C = effective_constants(phases, hexagonal(0.5), resolution=5).stiffness_GPa
    columns = C[:, [0, 1, 3]]
    expected = 1e3 * columns @ (strain * [1, 1, 2])
    np.testing.assert_allclose(rve.history["stress"][-1][:4], expected[:4], rtol=1e-5, atol=1e-4)


def test_other_solvers_and_cells_that_make_no_sense_are_refused(tmp_path, capsys):
    micro = hexagonal(0.3)
    with pytest.raises(ValueError, match=r"has the height 1\.73205: give a material"):
        solve_rve(Inputs(0.3, 400.0, 400.0, 0.4), micro, Settings())
    design = Design("file", 0, [[0.3, 400.0, 400.0, 0.4]], [0], (), (micro,), [0])
    with pytest.raises(ValueError, match=r"has the height 1\.73205: give a material"):
        generate(design, Settings(), tmp_path / "data")
    with pytest.raises(ValueError, match=r"fibre 0 overlaps with its periodic image: radius 0\.2"):
        Microstructure([[0.5, 0.2]], 0.2, height=0.4)
    with pytest.raises(ValueError, match=r"overlap across .* comes back at \(0\.3, -0\.05\)"):
        Microstructure([[0.3, 0.05], [0.3, 0.45]], 0.06, height=0.5)
    with pytest.raises(ValueError, match="height = 0 is out of range"):
        Microstructure([[0.5, 0.2]], 0.2, height=0)
    rows = [f"{x},{y},0.3" for x, y in micro.centres.tolist()]
    (tmp_path / "fibres.csv").write_text("x,y,radius\n" + "\n".join(rows))
    (read,) = microstructures_from_file(tmp_path / "fibres.csv", np.sqrt(3))
    np.testing.assert_array_equal(read.centres, micro.centres)
    words = [
        "constants",
        "--material",
        "paper",
        "--resolution",
        "4",
        "--height",
        "1.7320508075688772",
    ]
    assert main([*words, "--microstructure", str(tmp_path / "fibres.csv")]) == 0
    found = effective_constants(named_phases("paper"), read, resolution=4.0)
    assert found.table() in capsys.readouterr().out
    assert main([*words, "--vf", "0.3"]) == 2
