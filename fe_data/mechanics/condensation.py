"""Static condensation of the elastic fibres.

Fibres never yield, so the unknowns inside each are eliminated once; what is left acts on the
fibre's outline and on the macro strain.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fe_data.mechanics.elements import Elements
from fe_data.mechanics.plasticity import stiffness

_UPPER = np.triu_indices(12)


@dataclass(frozen=True)
class Substructure:
    """One fibre, condensed to its outline's dofs and the three macro strains."""

    outline: np.ndarray  # (nb,) dofs
    interior: np.ndarray  # (ni,) dofs
    condensed: np.ndarray  # (nb + 3, nb + 3) stiffness [MPa]
    recovery: np.ndarray  # (ni, nb + 3): interior displacement = -recovery @ (outline, macro)


def dense_stiffness(elements: Elements, mu: float, kappa: float) -> tuple[np.ndarray, np.ndarray]:
    """Elastic stiffness of some cells as a dense matrix.

    Args:
        elements: The cells.
        mu: Shear modulus [MPa].
        kappa: Bulk modulus [MPa].

    Returns:
        The dofs (n,) and the matrix (n + 3, n + 3), bordered by the macro strain.
    """
    dofs, local = np.unique(elements.dofs, return_inverse=True)
    local = local.reshape(elements.dofs.shape).astype(np.int32)
    n = len(dofs)
    tangent = np.broadcast_to(elastic_tangent(mu, kappa), (*elements.weights.shape, 6))
    slots = local[:, _UPPER[0]] * n + local[:, _UPPER[1]]
    values, border, macro = np.zeros(n * n), np.zeros((n, 3)), np.zeros((3, 3))
    e = elements
    stiffness(
        local, e.gradients, e.weights, e.dilatation[:, :0], e.root_area, 0.0,
        tangent, slots, values, border, macro,
    )  # fmt: skip
    # An entry above the diagonal of a cell's matrix may lie below that of the whole.
    upper = values.reshape(n, n)
    full = upper + upper.T
    full[np.diag_indices(n)] /= 2
    return dofs, np.block([[full, border], [border.T, macro]])


def moduli(E: float, nu: float) -> tuple[float, float]:
    """Shear and bulk modulus of an isotropic material, in the unit of E."""
    return E / (2 * (1 + nu)), E / (3 * (1 - 2 * nu))


def elastic_tangent(mu: float, kappa: float) -> np.ndarray:
    """In-plane tangent (6,) of an elastic point, ordered as in `plasticity` [MPa]."""
    p, m = kappa + mu * 4 / 3, kappa - mu * 2 / 3
    return np.array([p, m, 0.0, p, 0.0, mu])


def condense(elements: Elements, on_outline: np.ndarray, mu: float, kappa: float) -> Substructure:
    """Eliminate the interior of one fibre.

    Args:
        elements: The fibre's cells.
        on_outline: (n_dofs,) whether a dof also belongs to the matrix.
        mu: Shear modulus of the fibre [MPa].
        kappa: Bulk modulus of the fibre [MPa].
    """
    dofs, k = dense_stiffness(elements, mu, kappa)
    keep = np.append(on_outline[dofs], [True] * 3)
    kept, gone = np.flatnonzero(keep), np.flatnonzero(~keep)
    condensed, recovery = k[np.ix_(kept, kept)], np.empty((0, len(kept)))
    if len(gone):
        border = k[np.ix_(gone, kept)]
        recovery = cho_solve(cho_factor(k[np.ix_(gone, gone)], check_finite=False), border)
        condensed = condensed - border.T @ recovery
    return Substructure(dofs[keep[:-3]], dofs[gone], (condensed + condensed.T) / 2, recovery)
