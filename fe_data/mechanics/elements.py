"""Discretisation: from a mesh to the arrays of the compiled kernels.

Displacements are quadratic on quadratic geometry, with three integration points. In the matrix the
dilatation is projected onto constants over each element (B-bar, the pair P2/P0). This prevents
locking in nearly incompressible plastic flow (T. J. R. Hughes, IJNME 15 (1980) 1413). Fibres stay
elastic and have plain P2 elements. With modes φ_r that are orthonormal over the element, the
projected dilatation at a point is

    θ = Σ_r φ_r θ_r,    θ_r = ∫ φ_r div(u) dV.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Booleans, Floats, Ints
from fe_data.geometry.domain import QUADRATURE, REFERENCE_GRADIENTS, Domain, create_domain
from fe_data.geometry.mesh import Mesh
from fe_data.geometry.outline import MATRIX

# Number of modes φ_r for each kind of element: the constant, or all linear functions. Linear
# functions interpolate any values at three integration points, so P2 has no projection.
VOLUMETRIC_MODES = {"P2/P0": 1, "P2": 3}


class Elements(NamedTuple):
    """Integration data of m elements with q points and r volumetric modes."""

    dofs: Ints  # (m, 12) int32, 2 * node + component, with periodic images merged
    gradients: Floats  # (m, q, 6, 2) dN/dx
    weights: Floats  # (m, q) integration weights, which sum to the area
    dilatation: Floats  # (m, r, 12) ∫ φ_r div(N) dV for each dof
    root_area: Floats  # (m,) ∫ φ_0 dV = √area; the integrals of the other modes are zero
    modes: Floats  # (m, q, r) φ_r at the points


@dataclass(frozen=True, repr=False)
class Discretisation(Domain):
    """A domain and its integration data."""

    matrix: Elements
    fibres: tuple[Elements, ...]


def discretise(mesh: Mesh, element: str = "P2/P0") -> Discretisation:
    """Tabulate the integration data of a mesh.

    Args:
        mesh: Six-node triangles.
        element: Element of the matrix, a key of `VOLUMETRIC_MODES`; fibres have P2.

    Returns:
        The mesh in the order of dolfinx, and its integration data for the matrix and each fibre.

    The weights of a fibre sum to its area:

    >>> from fe_data.geometry.mesh import generate_mesh
    >>> from fe_data.geometry.microstructure import Microstructure
    >>> from fe_data.geometry.outline import Outline
    >>> mesh = generate_mesh(Outline(Microstructure([[0.5, 0.5]], 0.2), resolution=3.0))
    >>> round(float(discretise(mesh).fibres[0].weights.sum() / 0.2**2), 6)
    3.141593
    """
    domain = create_domain(mesh, element)
    matrix = _tabulate_part(domain, domain.material == MATRIX, element)
    in_fibre = domain.material != MATRIX
    number = domain.material[in_fibre]
    fibres = _tabulate_part(domain, in_fibre, "P2")
    elements = []
    for fibre in range(domain.material.max() + 1):
        rows = number == fibre
        elements.append(Elements(*(values[rows] for values in fibres)))
    return Discretisation(**vars(domain), matrix=matrix, fibres=tuple(elements))


def _tabulate_part(domain: Domain, chosen: Booleans, kind: str) -> Elements:
    """Tabulate the integration data of the chosen elements, which are of one kind."""
    nodes = domain.triangles[chosen]
    return tabulate(domain.points[nodes], domain.merged[nodes], VOLUMETRIC_MODES[kind])


def tabulate(nodes: Floats, merged: Ints, n_modes: int) -> Elements:
    """Tabulate the integration data of quadratic triangles.

    Args:
        nodes: (m, 6, 2) positions of the nodes.
        merged: (m, 6) indices of the nodes after periodic images are merged.
        n_modes: Number of volumetric modes.

    Returns:
        The integration data.
    """
    points, rule = QUADRATURE
    # J = dx/ds, with J⁻¹ = [[d, -b], [-c, a]] / det J
    jacobian = np.tensordot(nodes, REFERENCE_GRADIENTS, (1, 2))  # (m, d, s, q) dx_d/ds
    (a, b), (c, d) = np.moveaxis(jacobian, 0, 2)
    det = a * d - b * c
    adjugate = np.stack([np.stack([d, -b], -1), np.stack([-c, a], -1)], -2)
    inverse = adjugate / det[..., None, None]
    # dN/dx = dN/ds J⁻¹
    gradients = REFERENCE_GRADIENTS.transpose(1, 2, 0) @ inverse
    weights = rule * det
    modes = _orthonormal_modes(points, weights, n_modes)
    # ∫ φ_r div(N) dV
    divergence = gradients.reshape(*weights.shape, 12)  # of dof 2 i + d
    dilatation = (weights[..., None] * modes).swapaxes(1, 2) @ divergence
    dofs = (2 * merged[:, :, None] + np.arange(2)).reshape(-1, 12)
    return Elements(
        dofs=dofs.astype(np.int32),
        gradients=np.ascontiguousarray(gradients),
        weights=np.ascontiguousarray(weights),
        dilatation=np.ascontiguousarray(dilatation),
        root_area=np.sqrt(weights.sum(axis=1)),
        modes=np.ascontiguousarray(modes),
    )


def strain_at_points(e: Elements, u: Floats, macro_strain: Floats) -> Floats:
    """Return the strain at the integration points.

    Args:
        e: Integration data of m elements with q points.
        u: Fluctuation in all dofs.
        macro_strain: (3,) mean strain xx, yy and engineering shear xy.

    Returns:
        Strain tensor (m, q, 3) with the components xx, yy, xy.
    """
    # ε = E + sym ∇u
    gradient = np.einsum("mqid,mie->mqde", e.gradients, u[e.dofs].reshape(-1, 6, 2))
    xx = gradient[..., 0, 0] + macro_strain[0]
    yy = gradient[..., 1, 1] + macro_strain[1]
    xy = (gradient[..., 0, 1] + gradient[..., 1, 0] + macro_strain[2]) / 2
    return np.stack([xx, yy, xy], axis=-1)


def _orthonormal_modes(points: Floats, weights: Floats, count: int) -> Floats:
    """Return values (m, q, count) at points of functions 1, s, t, orthonormal in each element."""
    raw = np.column_stack([np.ones(len(points)), points])[:, :count]
    # G = ∫ ψ ψᵀ dV = L Lᵀ,   φ = L⁻¹ ψ   (Gram-Schmidt)
    gram = np.tensordot(weights, raw[:, :, None] * raw[:, None], 1)
    return np.asarray(raw @ np.linalg.inv(np.linalg.cholesky(gram)).swapaxes(1, 2))
