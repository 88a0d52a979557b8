"""From a mesh to arrays that kernels loop over (the only dolfinx import).

Displacements are quadratic on quadratic geometry, with three integration points. In the matrix the
dilatation is averaged over each element (B-bar, the pair P2/P0), which keeps nearly incompressible
plastic flow from locking. Fibres stay elastic and take plain P2.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import basix
import dolfinx
import dolfinx.fem
import dolfinx.io
import dolfinx.mesh
import numpy as np
import ufl
from mpi4py import MPI

from fe_data.geometry.mesh import MATRIX, Mesh

# Functions over an element that the dilatation is projected onto: the constant, or all linears,
# which is all that three integration points can tell apart.
VOLUMETRIC_MODES = {"P2/P0": 1, "P2": 3}
_DEGREE = 2  # of the quadrature rule


@dataclass(frozen=True)
class Elements:
    """Integration data of m cells: q points, r volumetric modes."""

    dofs: np.ndarray  # (m, 12) int32, 2 * node + component, periodic images merged
    gradients: np.ndarray  # (m, q, 6, 2) dN/dx
    weights: np.ndarray  # (m, q) integration weights; they sum to the area
    dilatation: np.ndarray  # (m, r, 12) integral of each mode times each divergence
    root_area: np.ndarray  # (m,) integral of mode 0, which is constant; the others have none
    modes: np.ndarray  # (m, q, r) orthonormal functions that the dilatation is projected onto


@dataclass(frozen=True)
class Discretisation:
    """A mesh ordered by dolfinx, with merged periodic nodes and integration data."""

    points: np.ndarray  # (n, 2) nodes
    cells: np.ndarray  # (m, 6)
    material: np.ndarray  # (m,) MATRIX or the fibre's index
    merged: np.ndarray  # (n,) number of each node after periodic images are merged
    n_nodes: int  # merged nodes
    matrix: Elements
    fibres: tuple[Elements, ...]
    domain: dolfinx.mesh.Mesh


def discretise(mesh: Mesh, element: str = "P2/P0") -> Discretisation:
    """Order a mesh for locality, merge periodic nodes and tabulate strains.

    Args:
        mesh: Curved, periodic, six-node triangles.
        element: Kind of triangle in the matrix, a key of `VOLUMETRIC_MODES`.
    """
    domain = _create_domain(mesh)
    material = mesh.material[np.asarray(domain.topology.original_cell_index)]
    nodes = np.asarray(domain.geometry.input_global_indices)
    points = np.ascontiguousarray(domain.geometry.x[:, :2])
    cells = _geometry_dofs(domain).reshape(-1, 6)
    position = np.empty(len(nodes), dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    image_of = position[mesh.image_of[nodes]]
    while not np.array_equal(image_of, image_of[image_of]):  # a corner is an image of an image
        image_of = image_of[image_of]
    masters, merged = np.unique(image_of, return_inverse=True)

    def part(index: int, kind: str) -> Elements:
        chosen = cells[material == index]
        return tabulate(points[chosen], merged[chosen], VOLUMETRIC_MODES[kind])

    fibres = tuple(part(i, "P2") for i in range(material.max() + 1))
    matrix = part(MATRIX, element)
    return Discretisation(points, cells, material, merged, len(masters), matrix, fibres, domain)


def tabulate(nodes: np.ndarray, merged_cells: np.ndarray, n_modes: int) -> Elements:
    """Gradients, weights and projected dilatations of isoparametric six-node triangles.

    Args:
        nodes: (m, 6, 2) node positions.
        merged_cells: (m, 6) node numbers after the periodic merge.
        n_modes: Number of functions that the dilatation is projected onto, 1 or 3.
    """
    points, rule = basix.make_quadrature(basix.CellType.triangle, _DEGREE)
    variant = basix.LagrangeVariant.equispaced
    element = basix.create_element(basix.ElementFamily.P, basix.CellType.triangle, 2, variant)
    reference = element.tabulate(1, points)[1:, :, :, 0]  # (2, q, 6) dN/d(reference)
    jacobian = np.einsum("sqi,mid->mqds", reference, nodes)  # dx_d/ds
    a, b, c, d = (jacobian[..., i, j] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    det = a * d - b * c
    inverse = np.stack([np.stack([d, -b], -1), np.stack([-c, a], -1)], -2) / det[..., None, None]
    gradients = np.einsum("sqi,mqsd->mqid", reference, inverse)
    weights = rule * det
    modes = _orthonormal_modes(points, weights, n_modes)
    divergence = gradients.reshape(*weights.shape, 12)  # of dof 2 i + d
    dilatation = np.einsum("mq,mqr,mqk->mrk", weights, modes, divergence)
    dofs = (2 * merged_cells[:, :, None] + np.arange(2)).reshape(-1, 12).astype(np.int32)
    data = (gradients, weights, dilatation, np.sqrt(weights.sum(axis=1)), modes)
    return Elements(dofs, *map(np.ascontiguousarray, data))


def _orthonormal_modes(points: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Orthonormal functions 1, s, t over each cell at its integration points, (m, q, count)."""
    raw = np.column_stack([np.ones(len(points)), points])[:, :count]
    gram = np.einsum("mq,qi,qj->mij", weights, raw, raw)
    lower = np.linalg.inv(np.linalg.cholesky(gram))
    return np.einsum("mij,qj->mqi", lower, raw)


def write_xdmf(
    d: Discretisation, path: Path, displacement: np.ndarray, cell_values: dict[str, np.ndarray]
) -> None:
    """Write a displacement and cell-wise fields as XDMF, which ParaView opens.

    Args:
        d: The discretised cell.
        path: File name; the data go beside it as .h5.
        displacement: (n, 2) at the nodes.
        cell_values: Scalars (m,) by name.
    """
    vector, scalar = _space(d.domain, "Lagrange", 2, (2,)), _space(d.domain, "DG", 0)
    functions = [_function(vector, "displacement")]
    # Geometry and displacement have the same basis, so they number a cell's nodes alike.
    dofs = _dofs(vector).reshape(-1, 6)
    functions[0].x.array.reshape(-1, 2)[dofs] = displacement[d.cells]
    for name, values in cell_values.items():
        functions.append(_function(scalar, name))
        functions[-1].x.array[_dofs(scalar)] = values
    with dolfinx.io.XDMFFile(MPI.COMM_SELF, str(path), "w") as file:
        file.write_mesh(d.domain)
        for function in functions:
            file.write_function(function)


def _function(space, name: str):
    function = dolfinx.fem.Function(space)
    function.name = name
    return function


# What differs between versions of dolfinx, all of it below:
#
#                  0.5, 0.6                  0.7 to 0.9           0.10                 0.11
# element          ufl.VectorElement         basix.ufl.element    =                    =
# create_mesh      cells, points, element    =                    cells, element, points  =
# geometry.dofmap  adjacency list            array                =                    dofmaps[0]
# dofs of a space  adjacency list            array                =                    =
# space            (Vector)FunctionSpace     functionspace        =                    =
_fem: Any = dolfinx.fem  # type checkers know the names of the version in use alone
_VERSION = tuple(int(part) for part in dolfinx.__version__.split(".")[:2])


def _create_domain(mesh: Mesh) -> dolfinx.mesh.Mesh:
    """The dolfinx mesh: quadratic geometry, one process."""
    cells, points = mesh.cells.astype(np.int64), mesh.points
    if _VERSION < (0, 7):
        element = ufl.VectorElement("Lagrange", ufl.Cell("triangle", geometric_dimension=2), 2)
        return dolfinx.mesh.create_mesh(MPI.COMM_SELF, cells, points, ufl.Mesh(element))
    import basix.ufl

    element = basix.ufl.element("Lagrange", "triangle", 2, shape=(2,))
    arguments = (cells, points, element) if _VERSION < (0, 10) else (cells, element, points)
    return dolfinx.mesh.create_mesh(MPI.COMM_SELF, *arguments)


def _geometry_dofs(domain: dolfinx.mesh.Mesh) -> np.ndarray:
    """Geometry nodes of all cells, flat."""
    geometry = domain.geometry
    return _flat(geometry.dofmap if _VERSION < (0, 11) else geometry.dofmaps[0])


def _dofs(space) -> np.ndarray:
    """Dofs of all cells in a function space, flat."""
    return _flat(space.dofmap.list)


def _flat(dofmap) -> np.ndarray:
    return np.asarray(dofmap.array if _VERSION < (0, 7) else dofmap).ravel()


def _space(domain: dolfinx.mesh.Mesh, family: str, degree: int, shape: tuple[int, ...] = ()):
    """Function space of scalars, or of vectors where a shape is given."""
    if _VERSION < (0, 7):
        kind = _fem.VectorFunctionSpace if shape else _fem.FunctionSpace
        return kind(domain, (family, degree))
    return _fem.functionspace(domain, (family, degree, shape))
