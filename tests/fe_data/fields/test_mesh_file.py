"""Meshes for other programs: what their readers find in the files."""

import re

import gmsh
import numpy as np
import pytest

from fe_data import (
    Loading,
    Microstructure,
    MicrostructureError,
    named_phases,
    save_mesh,
    solve_composite,
)
from fe_data.__main__ import main
from fe_data.cli import rve_folder
from fe_data.geometry.mesh import smallest_jacobian

# Fibres that cross edges and a corner, rings, and a void
FIBRES = Microstructure(
    [[0.02, 0.03], [0.5, 0.4], [0.45, 0.95]],
    [0.15, 0.2, 0.1],
    ["fibres", "fibres", "void"],
    interphase=0.02,
    height=1.2,
)
RADII = FIBRES.radii[:2]
RING = np.pi * ((RADII + 0.02) ** 2 - RADII**2)
# Parabolas of six-node triangles enclose the areas of the circles exactly.
AREAS = {
    "fibres": np.pi * (RADII**2).sum(),
    "interphase": RING.sum(),
    "matrix": 1.2 - np.pi * (RADII**2).sum() - RING.sum() - np.pi * 0.1**2,
}


@pytest.fixture(scope="module")
def rve():
    phases = named_phases("glass_epoxy")
    phases = type(phases)(phases.matrix, phases.fibres, others={"interphase": phases.matrix})
    pull = Loading((1e-4, None, None), increments=1)
    return solve_composite(phases, FIBRES, pull, resolution=3)


def area(points, triangles):
    """Area by the Jacobian of six-node triangles: mid-side nodes follow vertex 0."""
    nodes = points[triangles[:, [0, 1, 2, 4, 5, 3]]]
    assert smallest_jacobian(nodes) > 0
    # A quadratic side with ends a, b and middle m sweeps, about the origin,
    # 1/2 ∫ x × dx = (4 a × m + 4 m × b - a × b) / 6.
    a, m, b = (points[triangles[:, order]] for order in ([0, 1, 2], [3, 4, 5], [1, 2, 0]))
    swept = 4 * cross(a, m) + 4 * cross(m, b) - cross(a, b)
    return swept.sum() / 6


def cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def by_gmsh(path):
    """Points (n, 2) and the triangles (m, 6) of each physical group, in a reader's numbers."""
    gmsh.open(str(path))
    try:
        tags, xyz, _ = gmsh.model.mesh.getNodes()
        order = np.argsort(tags)
        assert (tags[order] == np.arange(1, len(tags) + 1)).all()
        phases = {}
        for dim, number in gmsh.model.getPhysicalGroups():
            triangles = []
            for surface in gmsh.model.getEntitiesForPhysicalGroup(dim, number):
                kinds, _, nodes = gmsh.model.mesh.getElements(dim, surface)
                assert kinds == [9]  # six-node triangles
                triangles.append(nodes[0].reshape(-1, 6) - 1)
            phases[gmsh.model.getPhysicalName(dim, number)] = np.concatenate(triangles)
    finally:
        gmsh.model.remove()
    return xyz.reshape(-1, 3)[order, :2], phases


def by_abaqus(path):
    """Read an .inp file as its manual says: keyword lines begin with one *, comments with two."""
    points, elements, sets = [], {}, {}
    for block in re.split(r"^\*(?!\*)", path.read_text(), flags=re.MULTILINE)[1:]:
        head, *lines = [line for line in block.splitlines() if not line.startswith("**")]
        rows = [[float(x) for x in line.split(",") if x.strip()] for line in lines if "," in line]
        if head == "NODE":
            points = rows
        elif head.startswith("ELEMENT, type=CPE6, ELSET=Surface"):
            elements |= {int(row[0]): np.array(row[1:], dtype=int) - 1 for row in rows}
        elif head.startswith("ELSET,ELSET="):
            sets[head.partition("ELSET=")[2]] = [int(x) for row in rows for x in row]
        else:
            assert head.startswith("Heading")
    assert [row[0] for row in points] == list(range(1, len(points) + 1))
    phases = {name: np.array([elements[i] for i in members]) for name, members in sets.items()}
    return np.array(points)[:, 1:3], phases


def by_vtk(path):
    """Read a legacy VTK file of quadratic triangles (22)."""
    words = path.read_text().split()
    start = words.index("POINTS")
    n = int(words[start + 1])
    points = np.array(words[start + 3 : start + 3 + 3 * n], dtype=float).reshape(n, 3)
    start = words.index("CELLS")
    m = int(words[start + 1])
    cells = np.array(words[start + 3 : start + 3 + 7 * m], dtype=int).reshape(m, 7)
    assert (cells[:, 0] == 6).all()
    start = words.index("CELL_TYPES")
    assert set(words[start + 2 : start + 2 + m]) == {"22"}
    start = words.index("CellEntityIds")
    surface = np.array(words[start + 5 : start + 5 + m], dtype=int)
    names = np.array(["", "matrix", "fibres", "fibres", "void", "interphase", "interphase"])
    phases = {name: cells[names[surface] == name, 1:] for name in set(names[surface])}
    return points[:, :2], phases


READERS = {".msh": by_gmsh, ".inp": by_abaqus, ".vtk": by_vtk}


@pytest.mark.parametrize("suffix", READERS)
def test_a_mesh_has_the_areas_of_the_phases_and_matching_edges(rve, tmp_path, suffix):
    path = tmp_path / f"rve{suffix}"
    save_mesh(rve, path)
    points, phases = READERS[suffix](path)
    domain = rve.model.domain
    np.testing.assert_allclose(points, domain.points, rtol=0, atol=1e-13)
    assert {*phases} == {*AREAS}
    assert sum(map(len, phases.values())) == len(domain.triangles)
    for name, triangles in phases.items():
        assert area(points, triangles) == pytest.approx(AREAS[name], rel=1e-8)
    for axis, period in enumerate((1.0, 1.2)):
        low, high = (np.sort(points[points[:, axis] == at, 1 - axis]) for at in (0.0, period))
        assert len(low) > 10
        assert (low == high).all()


def test_names_of_groups_are_valid_in_abaqus(tmp_path):
    """A name has letters, digits and _, begins with a letter, and belongs to one phase."""
    glass = named_phases("glass_epoxy")
    others = dict.fromkeys(["0 deg", "a,b", "a*b"], glass.fibres)
    phases = type(glass)(glass.matrix, glass.fibres, others=others)
    fibres = Microstructure([[0.2, 0.2], [0.6, 0.6], [0.2, 0.7]], 0.1, list(others))
    pull = Loading((1e-4, None, None), increments=1)
    save_mesh(solve_composite(phases, fibres, pull, resolution=3), tmp_path / "rve.inp")
    _, phase_elements = by_abaqus(tmp_path / "rve.inp")
    assert list(phase_elements) == ["matrix", "phase_0_deg", "a_b", "a_b_"]


CELL = ["--vf", "0.3", "--n-fibres", "1", "--resolution", "2.5", "--increments", "4"]
PAPER = [*CELL, "--E-f", "400", "--b-m", "400", "--c-m", "0.4"]
EPOXY = [*CELL, "--material", "glass_epoxy"]


@pytest.mark.usefixtures("brief_picture")
@pytest.mark.filterwarnings("ignore:`product` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("options", [PAPER, EPOXY])
def test_rve_writes_the_mesh_of_either_solver(tmp_path, capsys, options):
    mesh = tmp_path / "out" / "mesh.msh"
    for _ in range(1 + (options is PAPER)):  # the second run replaces the mesh of the first
        main(["rve", *options, "--out", str(tmp_path / "out"), "--mesh", str(mesh)])
        assert f"wrote {mesh}" in capsys.readouterr().out
    points, phases = by_gmsh(mesh)
    assert area(points, phases["fibres"]) == pytest.approx(0.3, rel=1e-8)
    assert area(points, phases["matrix"]) == pytest.approx(0.7, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mesh.stl", r"must end in one of \.msh, \.inp, \.vtk \(gmsh, Abaqus, VTK\)"),
        ("theirs.inp", "another format"),
        ("absent/mesh.inp", "absent"),
    ],
)
def test_a_mesh_that_cannot_be_written_is_refused_at_once(
    tmp_path, capsys, monkeypatch, name, message
):
    def simulated(*_, **__):
        raise MicrostructureError("simulated")

    monkeypatch.setattr(rve_folder, "solve_rve", simulated)
    (tmp_path / "theirs.inp").write_text("*Heading\n A job\n")
    mesh = str(tmp_path / name)
    assert main(["rve", *PAPER, "--out", str(tmp_path / "out"), "--mesh", mesh]) != 0
    said = capsys.readouterr().err
    assert re.search(message, said)
    assert "simulated" not in said
    assert (tmp_path / "theirs.inp").read_text() == "*Heading\n A job\n"
