"""Fields over load steps: what the file for ParaView holds, read without ParaView."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fe_data import Inputs, Loading, Settings, save_fields, solve_rve
from fe_data.geometry.outline import MATRIX
from fe_data.mechanics.properties import von_mises

INPUTS = Inputs(0.3, 400.0, 400.0, 0.4)
SMALL = Settings(n_fibres=2, resolution=2.0, increments=4, tolerance=1e-8)
CYCLE = Loading([(0.01, None, 0.004), (-0.005, None, 0.0)])
COMPONENTS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1)}


def read(path):
    """Arrays of each step by name, as a reader of XDMF finds them."""
    data = path.with_suffix(".bin").read_bytes()

    def array(item):
        shape = tuple(map(int, item.get("Dimensions").split()))
        kind = {"Int": "<i4", "Float": "<f4"}[item.get("NumberType")]
        assert (item.get("Format"), item.get("Endian")) == ("Binary", "Little")
        assert item.text == path.with_suffix(".bin").name
        place = int(item.get("Seek"))
        return np.frombuffer(data, kind, np.prod(shape), place).reshape(shape)

    steps = []
    (series,) = ET.parse(path).getroot().iter("Domain")
    for grid in series[0]:
        step = {"time": float(grid.find("Time").get("Value"))}
        for name in ("Topology", "Geometry"):
            step[name] = array(grid.find(name).find("DataItem"))
        for attribute in grid.iter("Attribute"):
            values = array(attribute.find("DataItem"))
            nodes = attribute.get("Center") == "Node"
            assert len(values) == len(step["Geometry" if nodes else "Topology"])
            tensor = attribute.get("AttributeType") == "Tensor"
            step[attribute.get("Name")] = values.reshape(-1, 3, 3) if tensor else values
        steps.append(step)
    return steps


@pytest.fixture(scope="module", params=["compiled", "dolfinx"])
def solved(request, tmp_path_factory):
    """An RVE on a cyclic path, by each solver, and the steps of its file."""
    rve = solve_rve(INPUTS, SMALL, CYCLE, seed=1, solver=request.param, keep_steps=True)
    path = tmp_path_factory.mktemp("fields") / "c.xdmf"
    save_fields(rve, path)
    return rve, read(path)


def areas(rve):
    d = rve.discretisation
    by_element = np.empty(len(d.triangles))
    for material, phase in enumerate((d.matrix, *d.fibres), start=MATRIX):
        by_element[d.material == material] = phase.weights.sum(axis=1)
    return by_element


def test_every_step_has_the_volume_averages_of_its_increment(solved):
    """Rest and four increments to each vertex; the mean of a field is the row of the history."""
    rve, steps = solved
    assert [step["time"] for step in steps] == list(range(9))
    weights = areas(rve)
    for increment, step in enumerate(steps):
        for name, field, scale in (("strain", "strain", 0.01), ("stress", "stress_MPa", 400.0)):
            mean = np.tensordot(weights, step[field], 1)
            stress = [mean[place] for place in COMPONENTS.values()]
            expected = rve.history[name][increment]
            np.testing.assert_allclose(stress, expected, rtol=0, atol=1e-6 * scale)
            assert (step[field] == step[field].transpose(0, 2, 1)).all()
    assert not steps[0]["stress_MPa"].any()
    assert not steps[0]["displacement"].any()


def test_the_displacement_is_that_of_the_mean_strain_from_edge_to_edge(solved):
    rve, steps = solved
    points = steps[0]["Geometry"]
    left = np.flatnonzero(points[:, 0] == 0.0)
    right = np.flatnonzero(points[:, 0] == 1.0)
    left, right = (nodes[np.argsort(points[nodes, 1])] for nodes in (left, right))
    for increment, step in enumerate(steps):
        xx, _, _, xy = rve.history["strain"][increment]
        jump = step["displacement"][right] - step["displacement"][left]
        np.testing.assert_allclose(jump, np.tile([xx, xy, 0.0], (len(jump), 1)), atol=1e-8)


def test_nodes_of_a_triangle_are_in_the_order_of_vtk(solved):
    """Corners, then the middles of the sides 0-1, 1-2, 2-0, up to the curvature of outlines."""
    _, steps = solved
    corners, middles = np.split(steps[0]["Geometry"][steps[0]["Topology"]], [3], axis=1)
    straight = (corners + np.roll(corners, -1, axis=1)) / 2
    side = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
    assert (np.linalg.norm(middles - straight, axis=2) < 0.2 * side).all()


def test_the_last_step_is_the_end(solved):
    rve, steps = solved
    d = rve.discretisation
    in_matrix = d.material == MATRIX
    weights = d.matrix.weights / d.matrix.weights.sum(axis=1, keepdims=True)
    mises = (weights * von_mises(rve.fields.matrix_stress)).sum(axis=1)
    plastic = (weights * rve.fields.plastic_strain).sum(axis=1)
    np.testing.assert_allclose(steps[-1]["von_mises_MPa"][in_matrix, 0], mises, rtol=1e-6)
    np.testing.assert_allclose(steps[-1]["plastic_strain"][in_matrix, 0], plastic, rtol=1e-6)
    assert not steps[-1]["plastic_strain"][~in_matrix].any()
    assert (steps[-1]["material"][:, 0] == d.material).all()
    assert len(rve.steps) == len(steps)


def test_steps_that_were_not_kept_leave_the_end(tmp_path):
    rve = solve_rve(INPUTS, SMALL, CYCLE, seed=1)
    assert rve.steps == ()
    save_fields(rve, tmp_path / "c.xdmf")
    (end,) = read(tmp_path / "c.xdmf")
    solved = solve_rve(INPUTS, SMALL, CYCLE, seed=1, keep_steps=True)
    np.testing.assert_array_equal(solved.history["stress"], rve.history["stress"])
    save_fields(solved, tmp_path / "c.xdmf")
    assert (read(tmp_path / "c.xdmf")[-1]["stress_MPa"] == end["stress_MPa"]).all()
