"""Static condensation of the elastic fibres to their outlines.

Fibres never yield, so the displacements i inside a fibre are eliminated once. With the unknowns
kept, b, the displacements of the outline and the macro strain,

    K = K_bb - K_bi K_ii^-1 K_ib,        u_i = -K_ii^-1 K_ib u_b.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fe_data.arrays import Booleans, Floats, Ints
from fe_data.mechanics.bordered_system import BorderedMatrix, assemble_tangent
from fe_data.mechanics.elements import Elements
from fe_data.mechanics.properties import Moduli

_UPPER = np.triu_indices(12)


@dataclass(frozen=True)
class CondensedFibre:
    """One fibre, condensed to the nb displacements of its outline and the three macro strains."""

    outline: Ints  # (nb,) dofs
    interior: Ints  # (ni,) dofs that are eliminated
    stiffness: Floats  # (nb + 3, nb + 3) K above
    recovery: Floats  # (ni, nb + 3) K_ii^-1 K_ib above


def elastic_tangent(material: Moduli) -> Floats:
    """In-plane tangent (6,) of an elastic point: entries 00, 01, 02, 11, 12, 22."""
    mu, kappa = material
    p, m = kappa + mu * 4 / 3, kappa - mu * 2 / 3
    return np.array([p, m, 0.0, p, 0.0, mu])


def dense_stiffness(elements: Elements, material: Moduli) -> tuple[Ints, Floats]:
    """Dofs (n,) of some elements and their elastic stiffness (n + 3, n + 3), bordered."""
    dofs, local = np.unique(elements.dofs, return_inverse=True)
    local = local.reshape(elements.dofs.shape).astype(np.int32)
    n = len(dofs)
    tangent = np.broadcast_to(elastic_tangent(material), (*elements.weights.shape, 6))
    slots = local[:, _UPPER[0]] * n + local[:, _UPPER[1]]
    matrix = BorderedMatrix(np.zeros(n * n), np.zeros((n, 3)), np.zeros((3, 3)))
    assemble_tangent(elements._replace(dofs=local), tangent, slots, matrix)
    # An entry above the diagonal of an element's matrix may lie below that of the whole.
    upper = matrix.values.reshape(n, n)
    full = upper + upper.T
    full[np.diag_indices(n)] /= 2
    return dofs, np.block([[full, matrix.border], [matrix.border.T, matrix.macro]])


def condense(elements: Elements, on_outline: Booleans, material: Moduli) -> CondensedFibre:
    """Eliminate the interior of one fibre; `on_outline` (n_dofs,) marks dofs of the matrix."""
    dofs, k = dense_stiffness(elements, material)
    keep = np.append(on_outline[dofs], [True] * 3)
    kept, gone = np.flatnonzero(keep), np.flatnonzero(~keep)
    stiffness, recovery = k[np.ix_(kept, kept)], np.empty((0, len(kept)))
    if len(gone):
        border = k[np.ix_(gone, kept)]
        recovery = cho_solve(cho_factor(k[np.ix_(gone, gone)], check_finite=False), border)
        stiffness = stiffness - border.T @ recovery
    return CondensedFibre(dofs[keep[:-3]], dofs[gone], (stiffness + stiffness.T) / 2, recovery)
