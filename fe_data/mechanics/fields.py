"""Stress and plastic strain at the integration points of a solved volume element."""

from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats
from fe_data.mechanics.elements import Discretisation, Elements
from fe_data.mechanics.load_stepping import EquilibriumPath
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.properties import Moduli, von_mises


@dataclass(frozen=True)
class Fields:
    """Values at the q integration points of each of m elements, at the end of loading."""

    matrix_stress: Floats  # (m, q, 4) xx, yy, zz, xy [MPa]
    fibre_stress: tuple[Floats, ...]  # the same in each fibre
    plastic_strain: Floats  # (m, q) equivalent plastic strain of the matrix [-]


def recover_fields(d: Discretisation, problem: RVEProblem, path: EquilibriumPath) -> Fields:
    """Recover the stress at every integration point at the end of a path."""
    u, macro_strain = problem.fluctuation(path.x), path.x[problem.n :]
    xx, yy, xy = np.moveaxis(path.state.old.plastic_strain, -1, 0)
    plastic = np.stack([xx, yy, -xx - yy, xy], axis=-1)
    matrix = Moduli(problem.law.shear_modulus, problem.law.bulk_modulus)
    fibres = tuple(_stress(f, u, macro_strain, problem.fibre_moduli, 0.0) for f in d.fibres)
    stress = _stress(d.matrix, u, macro_strain, matrix, plastic)
    return Fields(stress, fibres, path.state.old.p.copy())


def _stress(
    e: Elements, u: Floats, macro_strain: Floats, material: Moduli, plastic: Floats | float
) -> Floats:
    """Stress (m, q, 4) of a fluctuation u in all dofs on top of a macro strain (3,)."""
    u = u[e.dofs]
    gradient = np.einsum("mqid,mie->mqde", e.gradients, u.reshape(-1, 6, 2))
    xx, yy = gradient[..., 0, 0] + macro_strain[0], gradient[..., 1, 1] + macro_strain[1]
    xy = (gradient[..., 0, 1] + gradient[..., 1, 0] + macro_strain[2]) / 2
    third = (xx + yy) / 3
    deviator = np.stack([xx - third, yy - third, -third, xy], axis=-1) - plastic
    stress: Floats = 2 * material.shear * deviator
    dilatation = np.einsum("mrk,mk->mr", e.dilatation, u)
    dilatation[:, 0] += e.root_area * (macro_strain[0] + macro_strain[1])
    stress[..., :3] += material.bulk * np.einsum("mqr,mr->mq", e.modes, dilatation)[..., None]
    return stress


def overstressed_fraction(d: Discretisation, stress: tuple[Floats, ...], threshold: float) -> float:
    """p_sigma: share of the fibres' area with a von Mises stress above a threshold (paper, 3.2)."""
    if not d.fibres:
        return 0.0
    weights = np.concatenate([f.weights.ravel() for f in d.fibres])
    mises = np.concatenate([von_mises(s).ravel() for s in stress])
    return float(weights[mises > threshold].sum() / weights.sum())
