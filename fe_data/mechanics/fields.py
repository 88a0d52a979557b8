"""Stress and plastic strain at the integration points of a solved cell."""

from dataclasses import dataclass

import numpy as np

from fe_data.mechanics.elements import Discretisation, Elements
from fe_data.mechanics.load_stepping import Solution
from fe_data.mechanics.problem import PeriodicCell
from fe_data.mechanics.properties import von_mises


@dataclass(frozen=True)
class Fields:
    """Values at the integration points of the matrix and of the fibres at the end of loading."""

    matrix_stress: np.ndarray  # (m, q, 4) xx, yy, zz, xy [MPa]
    fibre_stress: tuple[np.ndarray, ...]  # one (m, q, 4) a fibre [MPa]
    plastic_strain: np.ndarray  # (m, q) equivalent plastic strain of the matrix [-]


def fields(d: Discretisation, cell: PeriodicCell, solution: Solution) -> Fields:
    """Recover the stress at every integration point."""
    u, macro = cell.displacement(solution.x), solution.x[cell.n :]
    ep = solution.state.ep_old
    ep = np.stack([ep[..., 0], ep[..., 1], -ep[..., 0] - ep[..., 1], ep[..., 2]], axis=-1)
    matrix = _stress(d.matrix, u[d.matrix.dofs], macro, cell.moduli, ep)
    fibres = tuple(_stress(f, u[f.dofs], macro, cell.fibre_moduli, 0.0) for f in d.fibres)
    return Fields(matrix, fibres, solution.state.p_old.copy())


def _stress(e: Elements, u, macro, moduli, plastic) -> np.ndarray:
    """Stress (m, q, 4) of cell displacements (m, 12) on top of a macro strain."""
    mu, kappa = moduli
    gradient = np.einsum("mqid,mie->mqde", e.gradients, u.reshape(-1, 6, 2))
    xx, yy = gradient[..., 0, 0] + macro[0], gradient[..., 1, 1] + macro[1]
    xy = (gradient[..., 0, 1] + gradient[..., 1, 0] + macro[2]) / 2
    third = (xx + yy) / 3
    stress = 2 * mu * (np.stack([xx - third, yy - third, -third, xy], axis=-1) - plastic)
    dilatation = np.einsum("mrk,mk->mr", e.dilatation, u)
    dilatation[:, 0] += e.root_area * (macro[0] + macro[1])
    stress[..., :3] += kappa * np.einsum("mqr,mr->mq", e.modes, dilatation)[..., None]
    return stress


def overstressed_fraction(
    d: Discretisation, stress: tuple[np.ndarray, ...], threshold: float
) -> float:
    """p_sigma: area fraction of the fibres with a von Mises stress above a threshold (paper, 3.2).

    Args:
        d: The discretised cell.
        stress: One (m, q, 4) a fibre [MPa].
        threshold: [MPa].
    """
    weights = np.concatenate([f.weights.ravel() for f in d.fibres] or [np.empty(0)])
    if not weights.size:
        return 0.0
    mises = np.concatenate([von_mises(s).ravel() for s in stress])
    return float(weights[mises > threshold].sum() / weights.sum())
