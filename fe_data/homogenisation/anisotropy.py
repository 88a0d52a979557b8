"""How far a fibre arrangement is from isotropic: Young's modulus by direction in the plane.

Under uniaxial stress along n = (cos t, sin t) in plane strain the modulus is 1 / E = m : S : m with
m = n n and the compliance S of the cell. In the plane E(t) is constant for isotropic cells alone:
each part of S that is not isotropic is the amplitude of cos or sin of 2 t or 4 t in 1 / E (G.
Verchery, Proc. Euromech 115 (1979) 93, polar method). A stretched arrangement shows as 2 t, a
square one as 4 t.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.loading import Loading
from fe_data.mechanics.load_stepping import solve_load_steps
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.rve import RVESolution, solve_in_ufl
from fe_data.settings import require_kind

_STRAIN = 1e-12  # nothing yields
_ANGLES = np.arange(360) / 2  # [deg]


@dataclass(frozen=True)
class Anisotropy:
    """Elastic anisotropy of a cell in plane strain.

    Attributes:
        stiffness_GPa: (3, 3) mean stress xx, yy, xy over mean strain xx, yy, engineering xy.
        spread: Largest over smallest Young's modulus in the plane, minus 1 [-]; 0 is isotropic.
        stiffest_deg: Direction of the largest, from x, in [0, 180) degrees.
    """

    stiffness_GPa: Floats
    spread: float
    stiffest_deg: float


def anisotropy(rve: RVESolution) -> Anisotropy:
    """Elastic anisotropy of a solved volume element, by three elastic increments.

    Args:
        rve: Volume element, solved under any loading.

    Returns:
        Stiffness, and how much Young's modulus varies with the direction.
    """
    require_kind("rve", rve, RVESolution)
    solve: Any = solve_load_steps if isinstance(rve.problem, RVEProblem) else solve_in_ufl
    strains = (_STRAIN * np.diag([1.0, 1.0, 0.5])).tolist()
    paths = [solve(rve.problem, Loading(tuple(strain)), 1, 1e-8) for strain in strains]
    stresses = [path.history["stress"][-1, [0, 1, 3]] for path in paths]
    stiffness = np.column_stack(stresses) / (1e3 * _STRAIN)
    moduli = directional_moduli(stiffness, _ANGLES)
    spread = float(moduli.max() / moduli.min() - 1)
    return Anisotropy(stiffness, spread, float(_ANGLES[moduli.argmax()]))


def directional_moduli(stiffness: Floats, angles: Floats) -> Floats:
    """Young's modulus (n,) at angles [deg], in the unit of a stiffness (3, 3) in the plane."""
    c, s = np.cos(np.radians(angles)), np.sin(np.radians(angles))
    stress = np.stack([c * c, s * s, c * s])
    return np.asarray(1 / np.einsum("in,ij,jn->n", stress, np.linalg.inv(stiffness), stress))
