"""Rectangular cells: a hexagonal array, equal patterns in other cells, and refusals."""

import numpy as np
import pytest

from fe_data import Microstructure, effective_constants, microstructures_from_file, named_phases
from fe_data.__main__ import main
from tests.fe_data.composite.lattices import hexagonal

METAL = named_phases("boron_aluminium")


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
        constants = effective_constants(METAL, cell, resolution=8)
        scale = np.abs(square.stiffness_GPa).max()
        np.testing.assert_allclose(constants.stiffness_GPa, square.stiffness_GPa, atol=1e-3 * scale)


def test_the_command_takes_a_rectangle_from_a_file(tmp_path, capsys):
    micro = hexagonal(0.3)
    rows = [f"{x},{y},0.3" for x, y in micro.centres.tolist()]
    (tmp_path / "fibres.csv").write_text("x,y,radius\n" + "\n".join(rows))
    (read,) = microstructures_from_file(tmp_path / "fibres.csv", np.sqrt(3))
    np.testing.assert_array_equal(read.centres, micro.centres)
    words = "constants --material paper --resolution 4 --height 1.7320508075688772"
    assert main([*words.split(), "--microstructure", str(tmp_path / "fibres.csv")]) == 0
    constants = effective_constants(named_phases("paper"), read, resolution=4.0)
    assert constants.table() in capsys.readouterr().out
    assert main([*words.split(), "--vf", "0.3"]) == 2
