"""Static condensation of the elastic fibres to their outlines.

Fibres never yield, so the displacements i inside a fibre are eliminated once. The remaining
unknowns b are the displacements of the outline and the macro strain:

    K = K_bb - K_bi K_ii⁻¹ K_ib,        u_i = -K_ii⁻¹ K_ib u_b

(R. J. Guyan, AIAA J. 3 (1965) 380).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fe_data.arrays import Booleans, Floats, Ints
from fe_data.mechanics.bordered_system import BorderedMatrix, assemble_tangent
from fe_data.mechanics.elements import Elements
from fe_data.mechanics.properties import Moduli
from safe_files.text import Short

_UPPER = np.triu_indices(12)


@dataclass(frozen=True, repr=False)
class CondensedFibre(Short):
    """One fibre, condensed to the nb displacements of its outline and the three macro strains."""

    outline: Ints  # (nb,) dofs
    interior: Ints  # (ni,) dofs that are eliminated
    stiffness: Floats  # (nb + 3, nb + 3) condensed stiffness K
    recovery: Floats  # (ni, nb + 3) K_ii⁻¹ K_ib


def condense(elements: Elements, on_outline: Booleans, material: Moduli) -> CondensedFibre:
    """Eliminate the interior of one fibre.

    Args:
        elements: Elements of the fibre.
        on_outline: (n_dofs,) mask of the dofs that also belong to the matrix.
        material: Elastic moduli of the fibre [MPa].

    Returns:
        The condensed fibre.
    """
    dofs, local = _interior_first(elements, on_outline)
    ni = len(dofs) - np.count_nonzero(on_outline[dofs])
    matrix = _elastic_matrix(elements._replace(dofs=local), len(dofs), material)
    k = matrix.values.reshape(len(dofs), len(dofs))  # upper triangle
    # K_bb and K_ib, where b includes the macro strain
    outline = k[ni:, ni:] + np.triu(k[ni:, ni:], 1).T
    border = matrix.border
    stiffness = np.block([[outline, border[ni:]], [border[ni:].T, matrix.macro]])
    coupling = np.hstack([k[:ni, ni:], border[:ni]])
    recovery = coupling  # (0, nb + 3) if there is no interior, as in a single triangle
    if ni > 0:
        # K_ii = L Lᵀ,   K_ii⁻¹ K_ib
        recovery = cho_solve(cho_factor(k[:ni, :ni], check_finite=False), coupling)
        # K = K_bb - K_bi K_ii⁻¹ K_ib
        stiffness -= coupling.T @ recovery
    return CondensedFibre(dofs[ni:], dofs[:ni], (stiffness + stiffness.T) / 2, recovery)


def _interior_first(elements: Elements, on_outline: Booleans) -> tuple[Ints, Ints]:
    """Return dofs (n,) of a fibre, interior first, and indices (m, 12) of element dofs in them."""
    dofs, place = np.unique(elements.dofs, return_inverse=True)
    order = np.argsort(on_outline[dofs], kind="stable")
    local = np.argsort(order).astype(np.int32)[place].reshape(elements.dofs.shape)
    return dofs[order], local


def _elastic_matrix(elements: Elements, n: int, material: Moduli) -> BorderedMatrix:
    """Return the stiffness of elastic elements, as the upper triangle of a dense matrix (n n,)."""
    rows = elements.dofs[:, _UPPER[0]]
    columns = elements.dofs[:, _UPPER[1]]
    # An entry above the diagonal of an element matrix may be below the diagonal of the whole.
    slots = np.ascontiguousarray(np.minimum(rows, columns) * n + np.maximum(rows, columns))
    mu, kappa = material
    # Plane strain: D = [[κ + 4μ/3, κ - 2μ/3, 0], [·, κ + 4μ/3, 0], [·, ·, μ]]
    direct = kappa + mu * 4 / 3
    lateral = kappa - mu * 2 / 3
    entries = [direct, lateral, 0.0, direct, 0.0, mu]  # 00, 01, 02, 11, 12, 22
    # A whole array, as of the matrix: the function that adds the elements is compiled once.
    tangent = np.tile(entries, (*elements.weights.shape, 1))
    matrix = BorderedMatrix(np.zeros(n * n), np.zeros((n, 3)), np.zeros((3, 3)))
    assemble_tangent(elements, tangent, slots, matrix)
    return matrix
