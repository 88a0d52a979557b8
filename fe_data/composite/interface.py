"""Cohesive interfaces between fibres and matrix: when they open, and what it costs.

The traction t of an interface depends on its opening δ = u_outside - u_fibre. Its components are
the normal δ_n and the shear δ_s (Camanho, Dávila & de Moura, J. Compos. Mater. 37 (2003) 1415):

    t = (1 - d) K δ,    with K δ_n instead of (1 - d) K δ_n in compression.

Let δ_m = √(<δ_n>² + δ_s²), and B = δ_s² / δ_m² the share of shear. Damage d begins at δ_0. There
the squared strength is interpolated between N² and S² (Turon, Camanho, Costa & Dávila, Mech. Mater.
38 (2006) 1072; linear in B as in diffcohesive). Damage is complete at δ_f, with the work G_c in
between (Benzeggagh & Kenane, Compos. Sci. Technol. 56 (1996) 439):

    K δ_0 = √((1 - B) N² + B S²),    G_c = G_I + (G_II - G_I) B^η,
    δ_f = 2 G_c / (K δ_0),    d = δ_f (δ_m - δ_0) / (δ_m (δ_f - δ_0)).

Damage never decreases, so that unloading goes to the origin. If the largest δ_m were the history, d
could decrease when the mode changes, and a debonded interface would carry shear again.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats
from fe_data.composite.elasticity import ROOT2
from fe_data.loading import ALL_AXES, Loading
from fe_data.settings import require_kind, take_bounded
from safe_files.text import Short

BOUNDS = {  # smallest and largest allowed values of the fields of `Interface`
    "normal_strength_MPa": (1e-3, 1e5),
    "shear_strength_MPa": (1e-3, 1e5),
    "toughness_I_J_m2": (1e-3, 1e6),
    "toughness_II_J_m2": (1e-3, 1e6),
    "fibre_diameter_um": (1e-2, 1e4),
    "exponent": (1.0, 10.0),
    "stiffness_N_mm3": (1e2, 1e14),
}
# The default interface is as compliant as a layer of matrix of this thickness, in fibre diameters.
_LAYER = 1e-3
# Component of the mean strain, its final value, and the number of increments. All other components
# are free, so that the mean stress is uniaxial, or a pure shear.
_LOADINGS = {
    "transverse_tension": ("xx", 0.03, 150),
    "transverse_compression": ("xx", -0.06, 150),
    "longitudinal_shear": ("xz", 0.05, 250),
    "transverse_shear": ("xy", 0.03, 150),
}
STRENGTHS = tuple(_LOADINGS)
_MIXES = np.linspace(0.0, 1.0, 101)  # shares B of shear for which a law is checked


@dataclass(frozen=True, repr=False)
class Interface(Short):
    """Cohesive law of the interface between the fibres and what surrounds them.

    Attributes:
        normal_strength_MPa: Largest normal traction N [MPa].
        shear_strength_MPa: Largest shear traction S [MPa].
        toughness_I_J_m2: Work G_I to separate it by opening, mode I [J/m²].
        toughness_II_J_m2: Work G_II to separate it by sliding, mode II [J/m²].
        fibre_diameter_um: Mean diameter of the fibres [µm], the length to which the toughness is
            compared.
        exponent: Exponent η of Benzeggagh and Kenane, from 1 to 10 [-].
        stiffness_N_mm3: Initial stiffness K [N/mm³]. None is 1000 E_m / (fibre diameter), with
            Young's modulus E_m of the matrix. The intact interface is then as compliant as a layer
            of matrix of a thousandth of the diameter.

    Raises:
        ValueError: If a number is out of range.

    Examples:
        >>> from fe_data import Interface
        >>> Interface(50.0, 75.0, 2.0, 6.0, fibre_diameter_um=7.0).exponent
        1.45
    """

    normal_strength_MPa: float
    shear_strength_MPa: float
    toughness_I_J_m2: float
    toughness_II_J_m2: float
    fibre_diameter_um: float
    exponent: float = 1.45
    stiffness_N_mm3: float | None = None

    def __post_init__(self) -> None:
        take_bounded(self, BOUNDS)

    def stiffness(self, matrix_modulus_GPa: float) -> float:
        """Return the initial stiffness in a matrix.

        Args:
            matrix_modulus_GPa: Young's modulus of the matrix [GPa].

        Returns:
            Initial stiffness K [N/mm³].

        Examples:
            >>> from fe_data import Interface
            >>> Interface(50.0, 75.0, 2.0, 6.0, fibre_diameter_um=7.0).stiffness(3.5)
            500000000.0
        """
        if self.stiffness_N_mm3 is not None:
            return self.stiffness_N_mm3
        return 1e3 * matrix_modulus_GPa / (_LAYER * 1e-3 * self.fibre_diameter_um)

    def require_stable(self, matrix_modulus_GPa: float) -> None:
        """Reject a toughness that is too small for strength and stiffness.

        Args:
            matrix_modulus_GPa: Young's modulus of the matrix [GPa].

        Raises:
            ValueError: If the interface would be separated before its strength is reached.
        """
        K = self.stiffness(matrix_modulus_GPa)
        # G_c > t_0² / 2K, as the area of the triangle up to the strength t_0
        for mode, strength in (("I", "normal"), ("II", "shear")):
            limit = getattr(self, f"{strength}_strength_MPa")
            least = 1e3 * limit**2 / (2 * K)
            name = f"toughness_{mode}_J_m2"
            value = getattr(self, name)
            if value <= least:
                raise ValueError(
                    f"{name} = {value:g} is too small: with {strength}_strength_MPa = {limit:g} "
                    f"and a stiffness of {K:.3g} N/mm³ it must be above {least:.3g}"
                )
        law = CohesiveLaw.of(self, matrix_modulus_GPa, 1.0)
        onset, final = law.openings(_MIXES)[:2]
        if not (onset < final).all():
            share = _MIXES[np.argmax(onset >= final)]
            raise ValueError(
                f"exponent = {self.exponent:g} is too large: with a share {share:g} of shear the "
                "interface would be separated before its strength is reached"
            )


class Tractions(NamedTuple):
    """Tractions at p points of interfaces, with c components: normal, then shear."""

    traction: Floats  # (p, c) [MPa]
    damage: Floats  # (p,) d, from 0 to 1
    dissipated: Floats  # (p,) work since the start of the step that is not stored [MPa]
    tangent: Floats  # (p, c, c) derivative of the traction by the opening [MPa]


@dataclass(frozen=True, repr=False)
class CohesiveLaw(Short):
    """The law for openings relative to a length L, such as the side of an RVE.

    Attributes:
        stiffness: K L [MPa].
        normal: Normal strength N [MPa].
        shear: Shear strength S [MPa].
        toughness_I: G_I / L [MPa].
        toughness_II: G_II / L [MPa].
        exponent: Exponent η of Benzeggagh and Kenane.
    """

    stiffness: float
    normal: float
    shear: float
    toughness_I: float
    toughness_II: float
    exponent: float

    @classmethod
    def of(cls, interface: Interface, matrix_modulus_GPa: float, length: float) -> "CohesiveLaw":
        """Make the law for openings relative to a length [mm]."""
        # 1 J/m² = 1e-3 N/mm
        return cls(
            interface.stiffness(matrix_modulus_GPa) * length,
            interface.normal_strength_MPa,
            interface.shear_strength_MPa,
            1e-3 * interface.toughness_I_J_m2 / length,
            1e-3 * interface.toughness_II_J_m2 / length,
            interface.exponent,
        )

    @property
    def softening(self) -> float:
        """Decrease of the normal traction per relative opening in mode I, N / δ_f [MPa]."""
        return self.normal**2 / (2 * self.toughness_I)

    def openings(self, share: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return the openings of a mode, and their derivatives.

        Args:
            share: (p,) share B of shear.

        Returns:
            δ_0 and δ_f, their derivatives by B, and G_c [MPa], each (p,).
        """
        # t² = (1 - B) N² + B S²,   δ_0 = t / K,   ∂δ_0/∂B = (S² - N²) / 2 K t
        strength = np.sqrt((1 - share) * self.normal**2 + share * self.shear**2)
        onset = strength / self.stiffness
        d_onset = (self.shear**2 - self.normal**2) / (2 * self.stiffness * strength)
        difference = self.toughness_II - self.toughness_I
        # G_c = G_I + (G_II - G_I) B^η,   δ_f = 2 G_c / (K δ_0)
        work = self.toughness_I + difference * share**self.exponent
        d_work = difference * self.exponent * share ** (self.exponent - 1)
        final = 2 * work / (self.stiffness * onset)
        return onset, final, d_onset, final * (d_work / work - d_onset / onset), work

    def evaluate(self, opening: Floats, damage: Floats) -> Tractions:
        """Evaluate the law.

        Args:
            opening: (p, c) relative opening, the normal component first.
            damage: (p,) damage at the start of the step.

        Returns:
            Tractions at the end of the step, with their consistent tangent.
        """
        positive = opening.copy()
        positive[:, 0] = np.maximum(opening[:, 0], 0.0)
        size = np.sqrt((positive**2).sum(axis=1))
        safe = np.where(size > 0, size, 1.0)
        share = np.minimum((positive[:, 1:] ** 2).sum(axis=1) / safe**2, 1.0)
        onset, final, d_onset, d_final, work = self.openings(share)
        width = final - onset
        # d = δ_f (δ_m - δ_0) / (δ_m (δ_f - δ_0))
        trial = np.clip(final * (size - onset) / (safe * width), 0.0, 1.0)
        grows = trial > damage
        new = np.where(grows, trial, damage)
        # (1 - d) of shear and of tension, 1 of compression
        intact = np.repeat(1 - new[:, None], opening.shape[1], axis=1)
        intact[:, 0] = np.where(opening[:, 0] < 0, 1.0, intact[:, 0])
        traction = self.stiffness * intact * opening
        tangent = self.stiffness * intact[:, :, None] * np.eye(opening.shape[1])
        by_size = np.where(grows & (size < final), final * onset / (safe**2 * width), 0.0)
        by_onset = -final * (final - size) / (safe * width**2)
        by_final = -onset * (size - onset) / (safe * width**2)
        by_share = np.where(by_size > 0, by_onset * d_onset + by_final * d_final, 0.0)
        # ∂δ_m/∂δ = δ⁺ / δ_m,   ∂B/∂δ_n = -2 B δ_n / δ_m²,   ∂B/∂δ_s = 2 (1 - B) δ_s / δ_m²
        direction = positive / safe[:, None]
        d_share = 2 * direction * ((1 - share) / safe)[:, None]
        d_share[:, 0] = -2 * direction[:, 0] * share / safe
        slope = by_size[:, None] * direction + by_share[:, None] * d_share
        tangent -= self.stiffness * positive[:, :, None] * slope[:, None, :]
        # G_c (s(d) - s(d_old)) with s = (δ - δ_0) / (δ_f - δ_0) at the opening δ of a damage d
        dissipated = np.zeros(len(size))
        for sign, d in ((1.0, new), (-1.0, damage)):
            # δ = δ_0 δ_f / (δ_f - d (δ_f - δ_0)),   s = d δ_0 / (δ_f - d (δ_f - δ_0))
            dissipated += sign * work * d * onset / (final - d * width)
        return Tractions(traction, new, dissipated, tangent)


@dataclass(frozen=True, repr=False)
class Strength(Short):
    """The largest mean stress of a path, and what has broken at its end.

    Attributes:
        strength_MPa: Component of the mean stress with the largest size, at the peak of the norm of
            the mean stress [MPa]; positive.
        strain_at_strength: The same component of the mean strain tensor, as a size [-].
        is_reached: Whether the stress fell by 1 % after the peak; otherwise the path was too short.
        debonded_fraction: Length fraction of the interfaces without traction at the end [-].
        damaged_fraction: Length fraction of the interfaces that soften or have debonded [-].
        dissipated_J_m2: Work that interfaces and softening phases have dissipated at the end, per
            area of a section through the RVE [J/m²].
        viscous_share: Work of the viscous tractions and stresses outside snaps, over the dissipated
            work at the end [-].
        snap_share: Elastic energy that snaps released and fracture did not use, over the dissipated
            work at the end [-].
        energy_error: Difference between the work of the mean stress and its parts, over this work.
        damaged_area: Area fraction of the RVE that is damaged at the end [-].
        broken_area: Area fraction that carries no stress any more [-].
    """

    strength_MPa: float
    strain_at_strength: float
    is_reached: bool
    debonded_fraction: float
    damaged_fraction: float
    dissipated_J_m2: float
    viscous_share: float
    snap_share: float
    energy_error: float
    damaged_area: float = 0.0
    broken_area: float = 0.0


def envelope_loading(angle: float) -> Loading:
    """Return the loading of a point of an envelope of transverse stress and longitudinal shear.

    Args:
        angle: Angle from transverse tension to longitudinal shear, 0 to 180 for compression [deg].

    Returns:
        The loading: all mean stresses but xx and xz are zero, and xz / xx is the tangent of the
        angle.

    Raises:
        ValueError: If the angle is out of range.

    Examples:
        >>> from fe_data.composite.interface import envelope_loading
        >>> envelope_loading(90.0).shear_angle
        90.0
    """
    s, c = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    tension, compression, shear = (_LOADINGS[name][1] for name in STRENGTHS[:3])
    across = tension if c > 0 else -compression
    # As in the loadings of the single strengths at 0, 90 and 180 degrees, in Kelvin's notation
    strain = across * c**2 + ROOT2 * shear * s**2
    increments = _LOADINGS[STRENGTHS[2]][2]
    return Loading((strain, *[None] * 5), increments=increments, shear_angle=angle)


def strength_loading(name: str) -> Loading:
    """Return the loading from which a strength is found, in generalised plane strain.

    Args:
        name: One of `STRENGTHS`.

    Returns:
        The loading.

    Raises:
        ValueError: If the name is unknown.

    Examples:
        >>> from fe_data.composite.interface import strength_loading
        >>> strength_loading("transverse_tension").strain
        ((0.03, None, None, None, None, None),)
    """
    require_kind("strength", name, str)
    if name not in _LOADINGS:
        allowed = ", ".join(STRENGTHS)
        raise ValueError(f"strength = {name!r:.60} is unknown: allowed are {allowed}")
    axes, final, increments = _LOADINGS[name]
    strain = [final if component == axes else None for component in ALL_AXES]
    return Loading(tuple(strain), increments=increments)
