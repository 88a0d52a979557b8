"""Functions, measure and matrices on a mesh, as forms in UFL use them."""

import dolfinx.fem
import numpy as np
import pytest
import ufl
from dolfinx.mesh import create_rectangle
from mpi4py import MPI

from fe_data.geometry import domain

# As in tests/fe_data/reference/test_cell.py: the code generator of dolfinx 0.5.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`product` is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def mesh():
    return create_rectangle(MPI.COMM_SELF, [[0.0, 0.0], [2.0, 1.0]], [4, 3])


def test_values_at_the_points_are_those_that_a_form_sums(mesh):
    points = domain.at_points(ufl.SpatialCoordinate(mesh), mesh, 2)()
    values = dolfinx.fem.Function(domain.quadrature_space(mesh, 2))
    domain.assign(values, points.reshape(-1, 3, 2) ** [1, 2])
    x = ufl.SpatialCoordinate(mesh)
    difference = (values[0] - x[0]) ** 2 + (values[1] - x[1] ** 2) ** 2
    for integrand, exact in ((values[0], 2.0), (values[1], 2 / 3), (difference, 0.0)):
        form = dolfinx.fem.form(integrand * domain.measure(mesh))
        assert dolfinx.fem.assemble_scalar(form) == pytest.approx(exact, abs=1e-14)


def test_a_matrix_is_assembled_with_the_values_of_the_moment(mesh):
    V = domain.space(mesh, "Lagrange", 1)
    factor, u, v = dolfinx.fem.Function(V), ufl.TrialFunction(V), ufl.TestFunction(V)
    matrix = domain.assembler(factor * u * v * domain.measure(mesh))
    assembled = []
    for value in (1.0, 3.0):
        factor.x.array[:] = value
        assembled.append(matrix())
    one, three = (values.toarray() for values in assembled)
    assert one.sum() == pytest.approx(2.0)  # the area
    np.testing.assert_allclose(three, 3 * one, atol=1e-15)
    np.testing.assert_allclose(one, one.T, atol=1e-15)
