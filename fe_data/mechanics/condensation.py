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


def condense(elements: Elements, on_outline: Booleans, material: Moduli) -> CondensedFibre:
    """Eliminate the interior of one fibre; `on_outline` (n_dofs,) marks dofs of the matrix."""
    dofs, local = np.unique(elements.dofs, return_inverse=True)
    interior_first = np.argsort(on_outline[dofs], kind="stable")
    dofs, n = dofs[interior_first], len(dofs)
    ni = n - np.count_nonzero(on_outline[dofs])
    local = np.argsort(interior_first).astype(np.int32)[local].reshape(elements.dofs.shape)
    # An entry above the diagonal of an element's matrix may lie below that of the whole.
    a, b = local[:, _UPPER[0]], local[:, _UPPER[1]]
    slots = np.minimum(a, b) * n + np.maximum(a, b)
    mu, kappa = material  # the tangent has the entries 00, 01, 02, 11, 12, 22
    p, m = kappa + mu * 4 / 3, kappa - mu * 2 / 3
    tangent = np.broadcast_to([p, m, 0.0, p, 0.0, mu], (*elements.weights.shape, 6))
    matrix = BorderedMatrix(np.zeros(n * n), np.zeros((n, 3)), np.zeros((3, 3)))
    assemble_tangent(elements._replace(dofs=local), tangent, slots, matrix)
    k, border = matrix.values.reshape(n, n), matrix.border
    kept = k[ni:, ni:] + np.triu(k[ni:, ni:], 1).T
    stiffness = np.block([[kept, border[ni:]], [border[ni:].T, matrix.macro]])
    coupling = np.hstack([k[:ni, ni:], border[:ni]])
    recovery = coupling  # without an interior, as with a single triangle
    if ni:
        recovery = cho_solve(cho_factor(k[:ni, :ni], check_finite=False), coupling)
        stiffness -= coupling.T @ recovery
    return CondensedFibre(dofs[ni:], dofs[:ni], (stiffness + stiffness.T) / 2, recovery)
