"""Measure how far an RVE is from isotropic: Young's modulus by direction in the plane.

Under uniaxial stress along n = (cos t, sin t) in plane strain, 1 / E = m : S : m, with m = n n and
the compliance S of the RVE. E(t) is constant only for isotropic RVEs. Each anisotropic part of S is
the amplitude of cos or sin of 2t or 4t in 1 / E (polar method; G. Verchery, Proc. Euromech 115
(1979) 93). A stretched microstructure causes terms in 2t, a square array terms in 4t.
"""

import math
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats, keep_copies
from fe_data.loading import IN_PLANE, Loading
from fe_data.mechanics.rve import RVESolution
from fe_data.settings import require_kind
from safe_files.progress import progress_bar
from safe_files.text import Short

_STRAIN = 1e-12  # nothing yields
_TOLERANCE = 1e-8
_ANGLES = np.arange(360) / 2  # [deg]


@dataclass(frozen=True, repr=False)
class Anisotropy(Short):
    """Elastic anisotropy of an RVE in plane strain.

    Attributes:
        stiffness_GPa: (3, 3) stiffness [GPa]: mean stress xx, yy, xy per mean strain xx, yy and
            engineering shear xy.
        spread: Ratio of the largest to the smallest Young's modulus in the plane, minus 1 [-];
            0 is isotropic.
        stiffest_deg: Direction of the largest modulus, from x, in [0, 180) degrees.

    Examples:
        >>> isotropic = Anisotropy(np.diag([100.0, 100.0, 50.0]), spread=0.0, stiffest_deg=0.0)
        >>> round(isotropic.misfit, 12)
        0.0
    """

    stiffness_GPa: Floats
    spread: float
    stiffest_deg: float

    def __post_init__(self) -> None:
        keep_copies(self)

    @property
    def misfit(self) -> float:
        """Distance of the stiffness from the nearest isotropic stiffness, relative to its norm [-].

        The norm is the tensor norm, which does not depend on the axes. If the misfit is 0, the RVE
        is isotropic: C_xx = C_yy, C_xx - C_xy = 2 G, and shear and normal components are not
        coupled.
        """
        # In Kelvin's notation the Frobenius norm of the matrix equals the norm of the tensor.
        scale = np.diag([1.0, 1.0, math.sqrt(2.0)])
        C = scale @ self.stiffness_GPa @ scale
        # C_iso = 2κ J + 2μ K with J = 1⊗1 / 2, K = I - J, 2κ = C : J and 2μ = C : K / 2
        J = np.outer([1.0, 1.0, 0.0], [1.0, 1.0, 0.0]) / 2
        K = np.eye(3) - J
        nearest = (C * J).sum() * J + (C * K).sum() / 2 * K
        return float(np.linalg.norm(C - nearest) / np.linalg.norm(C))


def anisotropy(rve: RVESolution, *, silent: bool = False) -> Anisotropy:
    """Find the elastic anisotropy of a solved RVE, by three elastic increments.

    Args:
        rve: RVE, solved under any loading.
        silent: Show no progress; otherwise a terminal has a bar after two seconds.

    Returns:
        Stiffness, and the variation of Young's modulus with direction.

    Examples:
        >>> from fe_data import Inputs, Loading, Microstructure, Settings, anisotropy, solve_rve
        >>> lattice = Microstructure([[0.5, 0.5]], 0.35)
        >>> inputs = Inputs(lattice.volume_fraction, 400.0, 400.0, 0.4)
        >>> stretched = Loading((1e-4, None, None))
        >>> rve = solve_rve(
        ...     inputs, Settings(increments=4), stretched, microstructure=lattice, fit=False
        ... )
        >>> round(anisotropy(rve).spread, 2)
        0.09
    """
    require_kind("rve", rve, RVESolution)
    require_kind("silent", silent, bool)
    # C e_j = σ for unit strains e_j: xx, yy and engineering shear xy, twice the tensor component
    stresses = []
    with progress_bar(3, None if silent else "anisotropy", "increment") as bar:
        for strain in (_STRAIN * np.diag([1.0, 1.0, 0.5])).tolist():
            path = rve.solver.solve(Loading(tuple(strain)), 1, _TOLERANCE)
            stresses.append(path.history["stress"][-1, IN_PLANE])
            bar.update()
    stiffness = np.column_stack(stresses) / (1e3 * _STRAIN)
    moduli = directional_moduli(stiffness, _ANGLES)
    spread = float(moduli.max() / moduli.min() - 1)
    return Anisotropy(stiffness, spread, float(_ANGLES[moduli.argmax()]))


def directional_moduli(stiffness: Floats, angles: Floats) -> Floats:
    """Return Young's modulus in given directions of the plane.

    Args:
        stiffness: (3, 3) stress xx, yy, xy per strain xx, yy and engineering shear xy.
        angles: (n,) directions, from x [deg].

    Returns:
        The moduli (n,), in the unit of the stiffness.

    >>> directional_moduli(np.diag([2.0, 1.0, 0.5]), np.array([0.0, 90.0]))
    array([2., 1.])
    """
    # 1 / E = mᵀ C⁻¹ m   with m = (cos² t, sin² t, cos t sin t)
    c = np.cos(np.radians(angles))
    s = np.sin(np.radians(angles))
    stress = np.stack([c * c, s * s, c * s])
    return np.asarray(1 / np.einsum("in,ij,jn->n", stress, np.linalg.inv(stiffness), stress))
