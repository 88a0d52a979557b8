"""Discretisation: from a mesh to the arrays that kernels loop over (the only import of dolfinx).

Displacements are quadratic on quadratic geometry, with three integration points. In the matrix the
dilatation is projected onto constants over each element (B-bar, the pair P2/P0), which keeps nearly
incompressible plastic flow from locking (Hughes, 1980). Fibres stay elastic and take plain P2. With
modes phi_r that are orthonormal over the element, the projected dilatation at a point is

    theta = sum_r phi_r theta_r,    theta_r = integral of phi_r div(u).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.geometry.mesh import Mesh
from fe_data.geometry.outline import MATRIX

try:
    import basix
    import dolfinx
    import dolfinx.fem
    import dolfinx.io
    import dolfinx.mesh
    import ufl
    from mpi4py import MPI
except ImportError as error:
    raise ImportError(f"{error}: setup.sh adds dolfinx, from conda-forge or apt") from None

# Number of modes phi_r for each kind of element: the constant, or all linear functions, which are
# all that three integration points can tell apart (no projection).
VOLUMETRIC_MODES = {"P2/P0": 1, "P2": 3}
_QUADRATURE_DEGREE = 2
# Type checkers do not see what these packages export, nor the names of other versions.
_basix: Any = basix
_dolfinx: Any = dolfinx


class Elements(NamedTuple):
    """Integration data of m elements with q points and r volumetric modes."""

    dofs: Ints  # (m, 12) int32, 2 * node + component, with periodic images merged
    gradients: Floats  # (m, q, 6, 2) dN/dx
    weights: Floats  # (m, q) integration weights, which sum to the area
    dilatation: Floats  # (m, r, 12) integral of phi_r div(N) for each dof
    root_area: Floats  # (m,) integral of the constant phi_0; those of the other modes are zero
    modes: Floats  # (m, q, r) phi_r at the points


@dataclass(frozen=True)
class Discretisation:
    """A mesh in the order of dolfinx, with merged periodic nodes and integration data."""

    points: Floats  # (n, 2) nodes
    triangles: Ints  # (m, 6) nodes of each element
    material: Ints  # (m,) MATRIX or the index of the fibre
    merged: Ints  # (n,) number of each node after periodic images are merged
    n_nodes: int  # after the merge
    matrix: Elements
    fibres: tuple[Elements, ...]
    domain: dolfinx.mesh.Mesh


def discretise(mesh: Mesh, element: str = "P2/P0") -> Discretisation:
    """Order a mesh for locality and merge periodic nodes; `element` is that of the matrix."""
    domain = _create_domain(mesh)
    material = mesh.material[np.asarray(domain.topology.original_cell_index)]
    geometry = domain.geometry
    nodes = np.asarray(geometry.input_global_indices)
    points = np.ascontiguousarray(geometry.x[:, :2])
    dofmap = geometry.dofmap if _VERSION < (0, 11) else geometry.dofmaps[0]
    triangles = _flat(dofmap).reshape(-1, 6)
    position = np.empty(len(nodes), dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    image_of = position[mesh.image_of[nodes]]
    while not np.array_equal(image_of, image_of[image_of]):  # a corner is an image of an image
        image_of = image_of[image_of]
    masters, merged = np.unique(image_of, return_inverse=True)

    def part(index: int, kind: str) -> Elements:
        chosen = triangles[material == index]
        return tabulate(points[chosen], merged[chosen], VOLUMETRIC_MODES[kind])

    fibres = tuple(part(i, "P2") for i in range(material.max() + 1))
    matrix = part(MATRIX, element)
    return Discretisation(points, triangles, material, merged, len(masters), matrix, fibres, domain)


def tabulate(nodes: Floats, merged: Ints, n_modes: int) -> Elements:
    """Integration data of triangles with positions (m, 6, 2) and merged numbers (m, 6) of nodes."""
    variant = _basix.LagrangeVariant.equispaced
    triangle = _basix.CellType.triangle
    points, rule = _basix.make_quadrature(triangle, _QUADRATURE_DEGREE)
    element = _basix.create_element(_basix.ElementFamily.P, triangle, 2, variant)
    reference = element.tabulate(1, points)[1:, :, :, 0]  # (2, q, 6) dN/d(reference)
    jacobian = np.einsum("sqi,mid->mqds", reference, nodes)  # dx_d/ds
    (a, b), (c, d) = np.moveaxis(jacobian, (-2, -1), (0, 1))
    det = a * d - b * c
    inverse = np.stack([np.stack([d, -b], -1), np.stack([-c, a], -1)], -2) / det[..., None, None]
    gradients = np.einsum("sqi,mqsd->mqid", reference, inverse)
    weights = rule * det
    modes = _orthonormal_modes(points, weights, n_modes)
    divergence = gradients.reshape(*weights.shape, 12)  # of dof 2 i + d
    dilatation = np.einsum("mq,mqr,mqk->mrk", weights, modes, divergence)
    dofs = (2 * merged[:, :, None] + np.arange(2)).reshape(-1, 12).astype(np.int32)
    data = (gradients, weights, dilatation, np.sqrt(weights.sum(axis=1)), modes)
    return Elements(dofs, *map(np.ascontiguousarray, data))


def _orthonormal_modes(points: Floats, weights: Floats, count: int) -> Floats:
    """Functions 1, s, t made orthonormal over each element, at its points: (m, q, count)."""
    raw = np.column_stack([np.ones(len(points)), points])[:, :count]
    gram = np.einsum("mq,qi,qj->mij", weights, raw, raw)
    lower = np.linalg.inv(np.linalg.cholesky(gram))
    modes: Floats = np.einsum("mij,qj->mqi", lower, raw)
    return modes


def write_xdmf(
    d: Discretisation, path: Path, displacement: Floats, element_values: dict[str, Floats]
) -> None:
    """Write a displacement (n, 2) and scalars (m,) of elements by name as XDMF, for ParaView."""
    vector, scalar = _space(d.domain, "Lagrange", 2, (2,)), _space(d.domain, "DG", 0)
    functions = [dolfinx.fem.Function(vector, name="displacement")]
    # Geometry and displacement have the same basis, so they number the nodes of a triangle alike.
    dofs = _flat(vector.dofmap.list).reshape(-1, 6)
    functions[0].x.array.reshape(-1, 2)[dofs] = displacement[d.triangles]
    for name, values in element_values.items():
        functions.append(dolfinx.fem.Function(scalar, name=name))
        functions[-1].x.array[_flat(scalar.dofmap.list)] = values
    with dolfinx.io.XDMFFile(MPI.COMM_SELF, str(path), "w") as file:
        file.write_mesh(d.domain)
        for function in functions:
            file.write_function(function)


# What differs between versions of dolfinx, all of it below:
#
#                  0.5, 0.6                  0.7 to 0.9           0.10                 0.11
# element          ufl.VectorElement         basix.ufl.element    =                    =
# create_mesh      cells, points, element    =                    cells, element, points  =
# geometry.dofmap  adjacency list            array                =                    dofmaps[0]
# dofs of a space  adjacency list            array                =                    =
# space            (Vector)FunctionSpace     functionspace        =                    =
_VERSION = tuple(int(part) for part in _dolfinx.__version__.split(".")[:2])


def _create_domain(mesh: Mesh) -> dolfinx.mesh.Mesh:
    """The dolfinx mesh: quadratic geometry, one process."""
    cells, points = mesh.triangles.astype(np.int64), mesh.points
    if _VERSION < (0, 7):
        element = ufl.VectorElement("Lagrange", ufl.Cell("triangle", geometric_dimension=2), 2)
        return dolfinx.mesh.create_mesh(MPI.COMM_SELF, cells, points, ufl.Mesh(element))
    import basix.ufl

    element = basix.ufl.element("Lagrange", "triangle", 2, shape=(2,))
    arguments = (cells, points, element) if _VERSION < (0, 10) else (cells, element, points)
    return dolfinx.mesh.create_mesh(MPI.COMM_SELF, *arguments)


def _flat(dofmap: Any) -> Ints:
    """Nodes or dofs of all triangles."""
    return np.asarray(dofmap.array if _VERSION < (0, 7) else dofmap).ravel()


def _space(domain: dolfinx.mesh.Mesh, family: str, degree: int, shape: tuple[int, ...] = ()) -> Any:
    """Function space of scalars, or of vectors where a shape is given."""
    if _VERSION < (0, 7):
        kind = _dolfinx.fem.VectorFunctionSpace if shape else _dolfinx.fem.FunctionSpace
        return kind(domain, (family, degree))
    return _dolfinx.fem.functionspace(domain, (family, degree, shape))
