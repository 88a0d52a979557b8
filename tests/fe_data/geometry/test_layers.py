"""Thin layers of elements along the outlines."""

import numpy as np
import pytest

from fe_data.geometry.domain import quadratic_gradients, quadrature
from fe_data.geometry.layers import with_layer
from fe_data.geometry.mesh import generate_mesh, smallest_jacobian, with_holes
from fe_data.geometry.microstructure import (
    Microstructure,
    clear_of_edges,
    random_microstructure,
)
from fe_data.geometry.outline import MATRIX, Outline

RADII = Microstructure([[0.03, 0.97], [0.55, 0.5], [0.3, 0.6], [0.5, 0.85]], [0.2, 0.2, 0.03, 0.1])
COATED = random_microstructure(0.5, 1, 4)


def near(gap):
    """Two fibres, one across an edge, with a gap between them."""
    return Microstructure([[0.9, 0.47], [(1.2 + gap) % 1.0, 0.47]], [0.2, 0.1])


CASES = {
    "a fibre across a corner": Microstructure([[0.0, 0.0]], 0.4),
    "a fibre near its image": Microstructure([[0.5, 0.5]], 0.49),
    "a low rectangle": clear_of_edges(Microstructure([[0.5, 0.3]], 0.25, height=0.6)),
    "several radii": RADII,
    "fibres 1e-2 apart": near(1e-2),
    "fibres 1e-4 apart": near(1e-4),
    "fibres 1e-6 apart": near(1e-6),
    "thick rings": COATED.coated(0.1),
    "thin rings": COATED.coated(0.001),
    **{
        f"{n} fibres, v_f {vf}": clear_of_edges(random_microstructure(vf, n, n))
        for n in (1, 60)
        for vf in (0.05, 0.6)
    },
}


def areas(mesh):
    """Area of each material, by its number plus one."""
    points, rule = quadrature(4)
    jacobian = np.einsum("mid,sqi->mqds", mesh.points[mesh.triangles], quadratic_gradients(points))
    return np.bincount(mesh.material + 1, np.linalg.det(jacobian) @ rule)


@pytest.mark.parametrize(
    ("micro", "resolution"),
    [(micro, (None, 3.0)[i // 2 % 2]) for i, micro in enumerate(CASES.values())],
    ids=CASES,
)
def test_a_layer_keeps_areas_and_a_conforming_periodic_mesh(micro, resolution):
    """In the matrix, in the fibres, and in rings, which have layers on both sides."""
    mesh = generate_mesh(Outline(micro, resolution, fineness=1.5))
    n = len(micro.radii)
    before = areas(mesh)
    layers = [np.array([MATRIX]), np.arange(n)]
    if micro.interphase:
        layers.append(np.arange(n, 2 * n))
    for materials in layers:
        thick = mesh
        mesh = with_layer(mesh, materials)
        sides = len(mesh.triangles) - len(thick.triangles)
        assert sides % 2 == 0
        assert sides > 0
        assert set(mesh.material[-sides:]) <= set(materials)
    assert areas(mesh) == pytest.approx(before, rel=1e-9)
    assert smallest_jacobian(mesh.points[mesh.triangles]) > 0
    # Each side belongs to two triangles, which may be at opposite edges.
    middles = np.bincount(mesh.roots()[mesh.triangles[:, 3:]].ravel())
    assert set(middles) == {0, 2}
    jump = mesh.points - mesh.points[mesh.roots()]
    period = np.array([1.0, micro.height])
    assert np.isin(jump, [0.0, *period]).all()
    on_edge = ((mesh.points == 0.0) | (mesh.points == period)).any(axis=1)
    assert np.array_equal(on_edge, np.isin(mesh.roots(), mesh.roots()[jump.any(axis=1)]))


def test_only_the_chosen_material_changes():
    mesh = generate_mesh(Outline(RADII, 4.0))
    layered = with_layer(mesh, np.array([MATRIX]))
    old = len(mesh.triangles)
    fibres = mesh.material != MATRIX
    assert np.array_equal(layered.triangles[:old][fibres], mesh.triangles[fibres])
    nodes = mesh.triangles[fibres]
    assert np.array_equal(layered.points[nodes], mesh.points[nodes])
    assert (layered.material[old:] == MATRIX).all()


def test_outlines_of_holes_have_no_layer():
    """There a layer would not reduce the error."""
    outline = Outline(RADII, 4.0)
    mesh = with_holes(generate_mesh(outline), np.array([0, 3]))
    layered = with_layer(mesh, np.array([MATRIX]))
    of_fibres = np.isin(outline.left, [1, 2]).sum()
    assert len(layered.triangles) - len(mesh.triangles) == 2 * of_fibres
