"""Discretisation: from a mesh to the arrays that kernels loop over.

Displacements are quadratic on quadratic geometry, with three integration points. In the matrix the
dilatation is projected onto constants over each element (B-bar, the pair P2/P0), which keeps nearly
incompressible plastic flow from locking (Hughes, 1980). Fibres stay elastic and take plain P2. With
modes phi_r that are orthonormal over the element, the projected dilatation at a point is

    theta = sum_r phi_r theta_r,    theta_r = integral of phi_r div(u).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Booleans, Floats, Ints
from fe_data.geometry.domain import QUADRATURE, REFERENCE_GRADIENTS, Domain, create_domain
from fe_data.geometry.mesh import Mesh
from fe_data.geometry.outline import MATRIX

# Number of modes phi_r for each kind of element: the constant, or all linear functions, which are
# all that three integration points can tell apart (no projection).
VOLUMETRIC_MODES = {"P2/P0": 1, "P2": 3}


class Elements(NamedTuple):
    """Integration data of m elements with q points and r volumetric modes."""

    dofs: Ints  # (m, 12) int32, 2 * node + component, with periodic images merged
    gradients: Floats  # (m, q, 6, 2) dN/dx
    weights: Floats  # (m, q) integration weights, which sum to the area
    dilatation: Floats  # (m, r, 12) integral of phi_r div(N) for each dof
    root_area: Floats  # (m,) integral of the constant phi_0; those of the other modes are zero
    modes: Floats  # (m, q, r) phi_r at the points


@dataclass(frozen=True)
class Discretisation(Domain):
    """A domain and its integration data."""

    matrix: Elements
    fibres: tuple[Elements, ...]


def discretise(mesh: Mesh, element: str = "P2/P0") -> Discretisation:
    """Integration data of a mesh; `element` is that of the matrix."""
    d = create_domain(mesh, element)

    def part(chosen: Booleans, kind: str) -> Elements:
        nodes = d.triangles[chosen]
        return tabulate(d.points[nodes], d.merged[nodes], VOLUMETRIC_MODES[kind])

    in_fibre = d.material != MATRIX
    fibres, number = part(in_fibre, "P2"), d.material[in_fibre]
    each = (Elements(*(a[number == i] for a in fibres)) for i in range(d.material.max() + 1))
    return Discretisation(**vars(d), matrix=part(~in_fibre, element), fibres=tuple(each))


def tabulate(nodes: Floats, merged: Ints, n_modes: int) -> Elements:
    """Integration data of triangles with positions (m, 6, 2) and merged numbers (m, 6) of nodes."""
    points, rule = QUADRATURE
    jacobian = np.tensordot(nodes, REFERENCE_GRADIENTS, (1, 2))  # (m, d, s, q) dx_d/ds
    (a, b), (c, d) = np.moveaxis(jacobian, 0, 2)
    det = a * d - b * c
    inverse = np.stack([np.stack([d, -b], -1), np.stack([-c, a], -1)], -2) / det[..., None, None]
    gradients = REFERENCE_GRADIENTS.transpose(1, 2, 0) @ inverse
    weights = rule * det
    modes = _orthonormal_modes(points, weights, n_modes)
    divergence = gradients.reshape(*weights.shape, 12)  # of dof 2 i + d
    dilatation = (weights[..., None] * modes).swapaxes(1, 2) @ divergence
    dofs = (2 * merged[:, :, None] + np.arange(2)).reshape(-1, 12).astype(np.int32)
    data = (gradients, weights, dilatation, np.sqrt(weights.sum(axis=1)), modes)
    return Elements(dofs, *map(np.ascontiguousarray, data))


def _orthonormal_modes(points: Floats, weights: Floats, count: int) -> Floats:
    """Functions 1, s, t made orthonormal over each element, at its points: (m, q, count)."""
    raw = np.column_stack([np.ones(len(points)), points])[:, :count]
    gram = np.tensordot(weights, raw[:, :, None] * raw[:, None], 1)
    return np.asarray(raw @ np.linalg.inv(np.linalg.cholesky(gram)).swapaxes(1, 2))
