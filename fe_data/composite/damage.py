"""Damage of a phase that yields: when its elements soften, and what breaking them costs.

A law of plasticity gives the effective stress σ_eff. The stress of an element with damage d is

    σ = (1 - d) σ_eff,    d = min(1, W / 2g),    g = G / h - σ_0² / 2E.

W is the mean over the element of the plastic work of the effective stress since its onset,

    Ẇ = σ_eff : ε̇_p    where the equivalent plastic strain p is above p_0,

so that softening does ∫ (1 - d) dW = g of work per volume, for each law, hardening and state of
stress. The elastic energy at the onset, σ_0² / 2E in uniaxial tension, is lost too. A band of
elements with the width h thus dissipates the fracture energy G per area: the crack band of Bažant &
Oh (Mater. Struct. 16 (1983) 155). h = √(2A) is the width of a band of triangles with the area A.
The stress falls linearly with the strain of the band.

A band forms only if the surroundings can break or yield. A phase that softens inside elastic ones
softens everywhere, and its strength then depends on the mesh. Elements of an interphase may be
longer than wide, or shorter. A crack along it then dissipates G times √(width / length).

After the onset a yield stress that is a curve, as of `j2`, no longer grows. Small elements soften
slowly, and would otherwise harden on and break later than large ones. Back stresses, and yield
stresses of custom laws that grow by numbers, are not stopped. They should have saturated.

All points of an element share its damage. A quadratic element could otherwise soften in one half
and unload in the other, and would dissipate less than G.
"""

from dataclasses import dataclass

from fe_data.settings import take_bounded
from safe_files.text import Short

WORK = "softening_work"  # state variable W of a point [MPa]
DAMAGE = "damage"  # state variable d of a point, that of its element
BOUNDS = {  # smallest and largest allowed values of the fields of `Damage`
    "onset": (0.0, 10.0),
    "fracture_energy_J_m2": (1e-3, 1e6),
    "fibre_diameter_um": (1e-2, 1e4),
}


@dataclass(frozen=True, repr=False)
class Damage(Short):
    """Damage of a phase with a law of plasticity.

    Attributes:
        onset: Equivalent plastic strain p_0 at which the phase begins to soften [-], 0 to 10.
        fracture_energy_J_m2: Work G to separate the phase, per area of the crack [J/m²].
        fibre_diameter_um: Mean diameter of the fibres [µm], the length to which the fracture energy
            is compared. None takes that of the interface.

    Raises:
        ValueError: If a number is out of range.

    Examples:
        >>> from fe_data import Damage, Isotropic, Material
        >>> damage = Damage(onset=0.05, fracture_energy_J_m2=20.0, fibre_diameter_um=14.0)
        >>> resin = Material(Isotropic(3.5, 0.35), "j2", {"yield_stress": 60.0}, damage=damage)
        >>> resin.stress_at_onset
        60.0
    """

    onset: float
    fracture_energy_J_m2: float
    fibre_diameter_um: float | None = None

    def __post_init__(self) -> None:
        take_bounded(self, BOUNDS)
