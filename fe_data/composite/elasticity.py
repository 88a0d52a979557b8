"""Linear elasticity: isotropic, or transversely isotropic about an axis, in Kelvin's notation.

A transversely isotropic material has an axis. With the index L along the axis and the indices T and
T' across it, Hooke's law is

    ε_L = (σ_L - ν_LT σ_T - ν_LT σ_T') / E_L,    γ_LT = τ_LT / G_LT,
    ε_T = σ_T / E_T - ν_LT σ_L / E_L - ν_TT σ_T' / E_T,    G_TT = E_T / 2(1 + ν_TT).
"""

import math
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats
from fe_data.settings import require_between, take_bounded
from safe_files.text import Short

ROOT2 = math.sqrt(2.0)
IDENTITY = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
TO_KELVIN = np.array([1.0, 1.0, 1.0, ROOT2, ROOT2, ROOT2])  # factors of tensor components
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # axes of each component
_MODULUS = (1e-6, 1e5)  # GPa; the smallest is for a foam or a soft filler
_RATIO = (-0.9, 0.99)
_EXPANSION = (-1e-3, 1e-2)  # 1/K
BOUNDS_ISOTROPIC = {"E_GPa": _MODULUS, "nu": (-0.9, 0.4999), "alpha_per_K": _EXPANSION}
BOUNDS_TRANSVERSE = {
    **dict.fromkeys(("E_L_GPa", "E_T_GPa", "G_LT_GPa"), _MODULUS),
    **dict.fromkeys(("nu_LT", "nu_TT"), _RATIO),
    **dict.fromkeys(("alpha_L_per_K", "alpha_T_per_K"), _EXPANSION),
    "axis": (-360.0, 360.0),  # deg
}


def rotation(matrix: Floats) -> Floats:
    """Return the rotation matrix for tensors in Kelvin's notation.

    Args:
        matrix: (3, 3) rotation matrix of points.

    Returns:
        The orthogonal matrix R (6, 6), so that ε' = R ε and C' = R C Rᵀ.

    >>> quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> (rotation(quarter) @ [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).round(12)
    array([0., 1., 0., 0., 0., 0.])
    """
    rows = np.empty((6, 6))
    for column, (i, j) in enumerate(PAIRS):
        # Symmetric part of e_i e_jᵀ, scaled to norm 1
        basis = np.zeros((3, 3))
        basis[i, j] += 0.5
        basis[j, i] += 0.5
        basis *= 1.0 if i == j else ROOT2
        turned = matrix @ basis @ matrix.T
        rows[:, column] = [turned[p] * factor for p, factor in zip(PAIRS, TO_KELVIN, strict=True)]
    return rows


def plane_rotation(angle: float) -> Floats:
    """Return the rotation (6, 6) of tensors about z by an angle [deg]."""
    if angle == 0.0:
        return np.eye(6)  # the formula has errors of rounding
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return rotation(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))


def shear_rotation(angle: float) -> Floats:
    """Return the rotation (6, 6) from stress xx towards xz, with xz / xx = tan(angle) [deg].

    In Kelvin's notation the stress along this direction is σ' = cos φ σ_xx + sin φ √2 σ_xz. Here
    tan φ = √2 tan(angle), and the strain is the conjugate of σ'.

    Args:
        angle: The angle, from 0 to 180 [deg].

    Returns:
        The rotation R, so that σ' = R σ.

    >>> stress = shear_rotation(45.0) @ [1.0, 0.0, 0.0, 0.0, ROOT2, 0.0]  # σ_xx = σ_xz = 1
    >>> stress.round(6)
    array([1.732051, 0.      , 0.      , 0.      , 0.      , 0.      ])
    """
    turn = np.eye(6)
    if angle == 0.0:
        return turn
    # Exactly zero at 180 degrees, where nothing shears, and at 90, where nothing pulls
    s = ROOT2 * math.sin(math.radians(angle)) * (angle != 180.0)
    c = math.cos(math.radians(angle)) * (angle != 90.0)
    c, s = c / math.hypot(c, s), s / math.hypot(c, s)
    turn[[0, 0, 4, 4], [0, 4, 0, 4]] = c, s, -s, c
    return turn


def axis_rotation(axis: str | float) -> Floats:
    """Return the rotation (6, 6) from z to an axis: "z", or an angle from x in the plane [deg]."""
    if axis == "z":
        return np.eye(6)
    angle = math.radians(float(axis))
    n = np.array([math.cos(angle), math.sin(angle), 0.0])
    z = np.array([0.0, 0.0, 1.0])
    return rotation(np.column_stack([np.cross(n, z), z, n]))


@dataclass(frozen=True, repr=False)
class Isotropic(Short):
    """Isotropic elasticity with thermal expansion.

    Attributes:
        E_GPa: Young's modulus [GPa].
        nu: Poisson's ratio [-], -0.9 to 0.4999.
        alpha_per_K: Coefficient of thermal expansion [1/K].

    Examples:
        >>> from fe_data import Isotropic
        >>> Isotropic(E_GPa=70.0, nu=0.3).stiffness.shape
        (6, 6)
    """

    E_GPa: float
    nu: float
    alpha_per_K: float = 0.0

    def __post_init__(self) -> None:
        take_bounded(self, BOUNDS_ISOTROPIC)

    @property
    def modulus_across(self) -> float:
        """Young's modulus [GPa]."""
        return self.E_GPa

    @property
    def shear(self) -> float:
        """Shear modulus μ [MPa]."""
        return 1e3 * self.E_GPa / (2 * (1 + self.nu))

    @property
    def bulk(self) -> float:
        """Bulk modulus κ [MPa]."""
        return 1e3 * self.E_GPa / (3 * (1 - 2 * self.nu))

    @property
    def stiffness(self) -> Floats:
        """Stiffness (6, 6) [MPa]: 2μ (I - 1⊗1/3) + κ 1⊗1."""
        spherical = np.outer(IDENTITY, IDENTITY)
        return 2 * self.shear * (np.eye(6) - spherical / 3) + self.bulk * spherical

    @property
    def expansion(self) -> Floats:
        """Thermal strain (6,) per kelvin in Kelvin's notation."""
        return self.alpha_per_K * IDENTITY


@dataclass(frozen=True, repr=False)
class TransverselyIsotropic(Short):
    """Transversely isotropic elasticity with thermal expansion, for example of carbon fibres.

    Attributes:
        E_L_GPa: Young's modulus along the axis [GPa].
        E_T_GPa: Young's modulus across the axis [GPa].
        nu_LT: Poisson's ratio: contraction across the axis under stress along it [-].
        nu_TT: Poisson's ratio in the plane across the axis [-]; `poisson_across` finds it from the
            shear modulus G_TT.
        G_LT_GPa: Shear modulus along the axis [GPa].
        alpha_L_per_K: Coefficient of thermal expansion along the axis [1/K].
        alpha_T_per_K: Coefficient of thermal expansion across the axis [1/K].
        axis: "z" for an axis along the fibres, or an angle from x in the plane [deg].

    Raises:
        ValueError: If a number is out of range, or the stiffness is not positive definite.

    Examples:
        >>> from fe_data import TransverselyIsotropic
        >>> AS4 = TransverselyIsotropic(225.0, 15.0, 0.2, 0.4, 15.0)
        >>> round(float(np.linalg.inv(AS4.stiffness)[2, 2] ** -1))  # E_L in MPa
        225000
    """

    E_L_GPa: float
    E_T_GPa: float
    nu_LT: float
    nu_TT: float
    G_LT_GPa: float
    alpha_L_per_K: float = 0.0
    alpha_T_per_K: float = 0.0
    axis: str | float = "z"

    def __post_init__(self) -> None:
        bounds = dict(BOUNDS_TRANSVERSE)
        if isinstance(self.axis, str):
            if self.axis != "z":
                raise ValueError(f"axis = {self.axis!r:.60}: allowed are 'z' and an angle [deg]")
            del bounds["axis"]
        take_bounded(self, bounds)
        # C is positive definite if E_L (1 - ν_TT) > 2 E_T ν_LT²
        if self.E_L_GPa * (1 - self.nu_TT) <= 2 * self.E_T_GPa * self.nu_LT**2:
            largest = math.sqrt(self.E_L_GPa * (1 - self.nu_TT) / (2 * self.E_T_GPa))
            raise ValueError(
                f"nu_LT = {self.nu_LT!r} is out of range: the stiffness is positive for |nu_LT| < "
                f"{largest:.4g} with E_L_GPa = {self.E_L_GPa:g}, E_T_GPa = {self.E_T_GPa:g} and "
                f"nu_TT = {self.nu_TT:g}"
            )

    @property
    def modulus_across(self) -> float:
        """Young's modulus across the axis [GPa]."""
        return self.E_T_GPa

    @property
    def stiffness(self) -> Floats:
        """Stiffness (6, 6) [MPa]."""
        along = self.nu_LT / self.E_L_GPa
        across = self.nu_TT / self.E_T_GPa
        compliance = np.diag([1 / self.E_T_GPa, 1 / self.E_T_GPa, 1 / self.E_L_GPa, 0, 0, 0])
        compliance[[0, 1, 2, 2], [2, 2, 0, 1]] = -along
        compliance[[0, 1], [1, 0]] = -across
        # The shear compliance in Kelvin's notation is 1 / 2G
        compliance[3, 3] = (1 + self.nu_TT) / self.E_T_GPa
        compliance[4, 4] = compliance[5, 5] = 1 / (2 * self.G_LT_GPa)
        turn = axis_rotation(self.axis)
        stiffness: Floats = 1e3 * turn @ np.linalg.inv(compliance) @ turn.T
        return stiffness

    @property
    def expansion(self) -> Floats:
        """Thermal strain (6,) per kelvin in Kelvin's notation."""
        across, along = self.alpha_T_per_K, self.alpha_L_per_K
        along_z = np.array([across, across, along, 0.0, 0.0, 0.0])
        return np.asarray(axis_rotation(self.axis) @ along_z)


Elasticity = Isotropic | TransverselyIsotropic


def poisson_across(E_T_GPa: float, G_TT_GPa: float) -> float:
    """Return Poisson's ratio across the axis, ν_TT, from the moduli across the axis.

    Args:
        E_T_GPa: Young's modulus across the axis [GPa].
        G_TT_GPa: Shear modulus in the plane across the axis [GPa].

    Returns:
        The ratio [-].

    Raises:
        ValueError: If a modulus or the ratio is out of range.

    >>> poisson_across(15.0, 6.0)
    0.25
    """
    E = require_between("E_T_GPa", E_T_GPa, *_MODULUS)
    G = require_between("G_TT_GPa", G_TT_GPa, *_MODULUS)
    # G_TT = E_T / 2(1 + ν_TT)
    ratio = E / (2 * G) - 1
    low, high = _RATIO
    if not low <= ratio <= high:
        allowed = f"[{E / (2 * (1 + high)):.4g}, {E / (2 * (1 + low)):.4g}]"
        raise ValueError(
            f"G_TT_GPa = {G:g} is out of range: allowed is {allowed} with E_T_GPa = {E:g}"
        )
    return ratio
