"""Our cells beside a published direct simulation, and the pixels that it is compared with."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import direct_simulation as study
from bench.pixel_cell import ELEMENTS, PixelCell, strain_operators
from fe_data import Inputs, Loading, Settings, solve_rve
from fe_data.__main__ import main
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.load_stepping import solve_load_steps

FOLDER = Path(__file__).parents[3] / "shared" / "reference" / "dns_2016"
published = pytest.mark.skipif(not FOLDER.exists(), reason="the published curves are not there")


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_pixel_has_the_strain_of_a_linear_displacement(element):
    gradient = np.array([[0.1, 0.4], [-0.2, 0.3]])
    corners = 0.25 * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    u = (corners @ gradient.T).ravel()
    strains = strain_operators(element, 0.25) @ u
    np.testing.assert_allclose(
        strains, np.tile([0.1, 0.3, 0.0, 0.2], (len(strains), 1)), atol=1e-15
    )


@pytest.mark.slow
@pytest.mark.parametrize("element", ELEMENTS)
def test_pixels_of_the_matrix_alone_follow_the_material(element):
    """Uniform strain: what any element gives."""
    settings = Settings(hardening=study.TABLE, tolerance=1e-9, resolution=1.0)
    inputs = Inputs(0.0, 400.0, 0.0, 1.0)
    turn = Loading([(0.02, None, 0.005), (None, None, None)], increments=5)
    ours = solve_rve(inputs, 1, settings, turn).history
    pixels = PixelCell(4, random_microstructure(0.0, 1, 1), inputs, settings, element)
    theirs = solve_load_steps(pixels, turn, 5, 1e-9).history
    for name in ("strain", "stress", "plastic_strain"):
        np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_pixels_approach_our_cell_from_above():
    """Standard squares lock, those of a mean dilatation less, and both fall with their size."""
    settings = Settings(n_fibres=2, hardening=study.TABLE)
    tension = Loading((0.02, None, None), increments=8)
    cell = random_microstructure(0.3, 1, 2)
    ours = solve_rve(study.INPUTS, cell, settings, tension).history["stress"][-1, 0]

    def stiffer(element, n):
        pixels = PixelCell(n, cell, study.INPUTS, settings, element)
        return solve_load_steps(pixels, tension, 8, 1e-5).history["stress"][-1, 0] / ours - 1

    mean_dilatation, squares, triangles = (stiffer(element, 32) for element in ELEMENTS)
    assert 0.01 < mean_dilatation < squares < triangles
    assert 0 < stiffer(ELEMENTS[0], 64) < 0.7 * mean_dilatation


CELL = "rve --vf 0.3 --E-f 500 --nu-f 0.19 --seed 1 --n-fibres 3 --resolution 2 --tolerance 1e-9"
TURNING = """strain_xx,strain_xy,increments
0.02,0,8
-0.01,0.01,8
"""


@pytest.mark.slow
def test_both_solvers_take_a_path_of_the_study_that_turns(tmp_path):
    """Tension to 2 %, then to compression of 1 % with shear; the same from the command line."""
    path = Loading([(0.02, None, 0.0), (-0.01, None, 0.01)], increments=8)
    settings = replace(study.SETTINGS, n_fibres=3, resolution=2.0, tolerance=1e-9)
    rows = zip(study.TABLE.plastic_strain, study.TABLE.stress, strict=True)
    lines = ["plastic_strain,stress_MPa", *(f"{p},{stress}" for p, stress in rows)]
    (tmp_path / "matrix.csv").write_text("\n".join(lines))
    (tmp_path / "path.csv").write_text(TURNING)
    cell = [*CELL.split(), "--hardening", f"table:{tmp_path / 'matrix.csv'}"]
    cell += ["--loading", str(tmp_path / "path.csv")]
    histories = []
    for solver in ("compiled", "dolfinx"):
        found = solve_rve(study.INPUTS, 1, settings, path, solver=solver).history
        out = tmp_path / solver
        assert main([*cell, "--solver", solver, "--out", str(out)]) == 0
        written = json.loads((out / "result.json").read_text())["history"]
        for name, values in found.items():
            np.testing.assert_array_equal(written[name], values)
        histories.append(found)
    assert histories[0]["stress"][-1, 0] < -300
    for name, values in histories[0].items():
        np.testing.assert_allclose(histories[1][name], values, atol=1e-6 * np.abs(values).max())


@published
@pytest.mark.slow
@pytest.mark.parametrize("loading", study.LOADINGS)
def test_our_mean_is_within_three_percent_of_the_published_curve(tmp_path, monkeypatch, loading):
    """Below it at each strain, as our elements do not lock; standard ones are nearer."""
    monkeypatch.setattr(study, "OUT", tmp_path)
    found = study.simulate("30 discs", loading, 8, study.SETTINGS)
    percent = study.differences(found, loading, FOLDER)
    assert (np.abs(percent) < 7).all()
    assert ((percent.mean(axis=0) > -3.5) & (percent.mean(axis=0) < 0)).all()
    _, path, column, factor = study.LOADINGS[loading]
    theirs = np.interp(study.STRAINS, *study.published(FOLDER, loading))
    standard = []
    for seed in range(8):
        rve = solve_rve(study.INPUTS, seed, study.SETTINGS, path, element="P2", fit=False)
        strain = factor * rve.history["strain"][:, column]
        stress = np.interp(study.STRAINS, strain, rve.history["stress"][:, column])
        standard.append(100 * (stress / theirs - 1))
    nearer = np.abs(np.mean(standard, axis=0)) < np.abs(percent.mean(axis=0))
    assert nearer.all()
