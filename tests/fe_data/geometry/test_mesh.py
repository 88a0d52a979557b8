"""Periodic curved meshes."""

import re
import subprocess
import sys

import numpy as np
import pytest

from fe_data import Inputs, Settings, solve_rve
from fe_data.errors import MeshError
from fe_data.geometry.mesh import generate_mesh, smallest_jacobian
from fe_data.geometry.microstructure import (
    Microstructure,
    clear_of_edges,
    periodic_distances,
    random_microstructure,
)
from fe_data.geometry.outline import Outline
from fe_data.mechanics.elements import discretise


@pytest.fixture(scope="module", params=[(0.05, 1), (0.50, 4)], ids=str)
def case(request):
    vf, seed = request.param
    micro = random_microstructure(vf, seed)
    return micro, generate_mesh(Outline(micro))


def test_areas_are_exact(case):
    micro, mesh = case
    d = discretise(mesh)
    fibres = [f.weights.sum() for f in d.fibres]
    assert sum(fibres) == pytest.approx(micro.volume_fraction, abs=1e-6)
    assert fibres == pytest.approx([np.pi * micro.radii[0] ** 2] * 30, rel=1e-10)
    assert sum(fibres) + d.matrix.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert smallest_jacobian(mesh.points[mesh.triangles]) > 0.05


def test_opposite_edges_carry_the_same_nodes(case):
    _, mesh = case
    for axis in range(2):
        high = np.flatnonzero(mesh.points[:, axis] == 1.0)
        assert len(high) > 10
        jump = mesh.points[high] - mesh.points[mesh.image_of[high]]
        assert (jump[:, axis] == 1.0).all()
        assert np.abs(jump - np.round(jump)).max() <= 1e-10


def test_an_inverted_element_is_seen():
    triangle = np.array([[[0, 0], [1, 0], [0, 1], [0.5, 0.5], [0, 0.5], [0.5, 0]]], dtype=float)
    assert smallest_jacobian(triangle) == pytest.approx(1.0)
    bent = triangle.copy()
    bent[0, 3] = [0.2, 0.2]  # the side's middle pushed far inwards
    assert smallest_jacobian(bent) < 0


@pytest.mark.parametrize("resolution", [None, 4.0])
def test_fibres_of_several_radii_have_their_areas_and_outlines(resolution):
    micro = Microstructure(
        [[0.03, 0.97], [0.55, 0.5], [0.3, 0.6], [0.5, 0.85]], [0.2, 0.2, 0.03, 0.1]
    )
    mesh = generate_mesh(Outline(micro, resolution))
    d = discretise(mesh)
    areas = [fibre.weights.sum() for fibre in d.fibres]
    assert areas == pytest.approx(np.pi * micro.radii**2, rel=1e-10)
    assert d.matrix.weights.sum() == pytest.approx(1 - micro.volume_fraction, rel=1e-10)
    for fibre, radius in enumerate(micro.radii):
        corners = mesh.points[mesh.triangles[mesh.material == fibre][:, :3]].reshape(-1, 2)
        assert periodic_distances(corners, micro.centres[[fibre]]).max() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("resolution", [None, 3.0])
@pytest.mark.parametrize("gap", [1e-3, 3e-5, 1e-6])
def test_fibres_that_nearly_touch_are_meshed(gap, resolution):
    """Of equal radii, of different ones, and across an edge of the square."""
    for first, second in ((0.2, 0.2), (0.2, 0.1)):
        x = 0.9 + first + second + gap
        micro = Microstructure([[0.9, 0.47], [x % 1.0, 0.47]], [first, second])
        mesh = generate_mesh(Outline(micro, resolution))
        assert smallest_jacobian(mesh.points[mesh.triangles]) > 0


def test_a_gap_that_is_too_narrow_is_named():
    for gap in (1e-8, 1e-9):
        micro = Microstructure([[0.3, 0.9], [0.3, 0.47], [0.7 + gap, 0.47]], [0.1, 0.2, 0.2])
        with pytest.raises(MeshError, match=f"gap between fibres 1 and 2 is {gap:.0e} sides of"):
            generate_mesh(Outline(micro, 3.0))


@pytest.mark.parametrize("height", [1.0, 0.985, 2.0])
@pytest.mark.parametrize("resolution", [None, 1.0, 5.0])
def test_a_fibre_that_nearly_touches_its_own_image_is_meshed(height, resolution):
    for radius in (0.45, 0.49):
        micro = clear_of_edges(Microstructure([[0.5, 0.5 * height]], radius, height=height))
        mesh = generate_mesh(Outline(micro, resolution))
        assert smallest_jacobian(mesh.points[mesh.triangles]) > 0


def test_a_resolution_that_is_too_coarse_is_named_with_one_that_would_do():
    micro = Microstructure([[0.3, 0.1]], 0.2, height=1.3)
    with pytest.raises(MeshError) as refused:
        generate_mesh(Outline(micro, 1.0))
    what = "inverted.*; the gap between fibre 0 and its periodic image is 0.6 .* from .* to (.*)"
    generate_mesh(Outline(micro, float(re.search(what, str(refused.value))[1])))


def test_stiffness_does_not_jump_where_fibres_come_near():
    moduli = []
    for gap in (1e-4, 1e-6):
        micro = Microstructure([[0.3, 0.47], [0.6 + gap, 0.47]], [0.2, 0.1])
        inputs = Inputs(micro.volume_fraction, 400.0, 400.0, 0.4)
        rve = solve_rve(
            inputs, Settings(resolution=6.0, increments=10), microstructure=micro, silent=True
        )
        moduli.append(rve.effective.E_eff_GPa)
    assert moduli[0] == pytest.approx(moduli[1], rel=3e-4)


HANDLED = """
import os, signal
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import Microstructure
from fe_data.geometry.outline import Outline
signal.signal(signal.SIGTERM, lambda *_: print("handled"))
generate_mesh(Outline(Microstructure([[0.5, 0.5]], 0.2), 2.0))
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_handler_of_sigterm_stays():
    """In a process that has not meshed before, because gmsh resets signals when it starts."""
    ended = subprocess.run([sys.executable, "-c", HANDLED], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "handled\n")


@pytest.mark.parametrize("thickness", [0.1, 0.01, 0.001])
def test_thin_rings_have_few_elements_and_their_exact_area(thickness):
    micro = random_microstructure(0.5, 1, 4).coated(thickness)
    mesh = generate_mesh(Outline(micro, fineness=1.5))
    assert len(mesh.triangles) < 20_000
    nodes = mesh.points[mesh.triangles[mesh.material >= 4]]
    a, m, b = nodes[:, [0, 1, 2]], nodes[:, [5, 3, 4]], nodes[:, [1, 2, 0]]
    # ∮ x × dx / 2 along quadratic sides = Σ (4 a × m + 4 m × b - a × b) / 6
    swept = 4 * cross(a, m) + 4 * cross(m, b) - cross(a, b)
    ring = np.pi * (micro.outer_radii**2 - micro.radii**2).sum()
    assert swept.sum() / 6 == pytest.approx(ring, rel=1e-6)


def cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def test_a_ring_that_is_too_thin_to_mesh_is_refused():
    with pytest.raises(ValueError, match=r"interphase = 3e-05 is too thin .* at least 0\.001"):
        random_microstructure(0.5, 1, 4).coated(3e-5)
