"""Measured constants and strengths of a ply, which a file of phases may list beside its phases."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from fe_data.settings import require_between, require_kind
from safe_files.text import Short

BOUNDS = {  # of a measured value, by the unit at the end of its name
    "GPa": (1e-6, 1e5),
    "MPa": (1e-3, 1e6),
    "K": (-1e-3, 1e-3),
    "": (-1.0, 1.0),
}


def bounds_of(name: str) -> tuple[float, float]:
    """Return the smallest and the largest allowed value of a constant or strength."""
    return BOUNDS[name.rpartition("_")[2] if name[:2] != "nu" else ""]


@dataclass(frozen=True, repr=False)
class Measured(Short):
    """Measured values of a ply; None if a value was not measured.

    The names of constants are those of `Constants`. Strengths are stresses in uniaxial tests and in
    a shear test; compression counts as positive.

    Attributes:
        vf: Volume fraction of the fibres [-].
        source: Where the values are from.
        E_L_GPa: Young's modulus along the fibres [GPa].
        E_T_GPa: Young's modulus across the fibres [GPa].
        nu_LT: Poisson's ratio: contraction across the fibres under stress along them [-].
        nu_TT: Poisson's ratio in the plane across the fibres [-].
        G_LT_GPa: Shear modulus along the fibres [GPa].
        alpha_L_per_K: Coefficient of thermal expansion along the fibres [1/K].
        alpha_T_per_K: Coefficient of thermal expansion across the fibres [1/K].
        longitudinal_tension_MPa: Strength in tension along the fibres [MPa].
        longitudinal_compression_MPa: Strength in compression along the fibres [MPa].
        transverse_tension_MPa: Strength in tension across the fibres [MPa].
        transverse_compression_MPa: Strength in compression across the fibres [MPa].
        longitudinal_shear_MPa: Strength in shear along the fibres [MPa].

    Raises:
        ValueError: If a number is out of range.

    Examples:
        >>> from fe_data import named_phases
        >>> named_phases("glass_epoxy").measured.E_T_GPa
        16.2
    """

    vf: float
    source: str = ""
    E_L_GPa: float | None = None
    E_T_GPa: float | None = None
    nu_LT: float | None = None
    nu_TT: float | None = None
    G_LT_GPa: float | None = None
    alpha_L_per_K: float | None = None
    alpha_T_per_K: float | None = None
    longitudinal_tension_MPa: float | None = None
    longitudinal_compression_MPa: float | None = None
    transverse_tension_MPa: float | None = None
    transverse_compression_MPa: float | None = None
    longitudinal_shear_MPa: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vf", require_between("vf", self.vf, 0.0, 1.0))
        require_kind("source", self.source, str)
        for name, value in self:
            object.__setattr__(self, name, require_between(name, value, *bounds_of(name)))

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Yield name and value of all constants and strengths that were measured."""
        for item in dataclasses.fields(self)[2:]:
            value = getattr(self, item.name)
            if value is not None:
                yield item.name, value

    def get(self, name: str) -> float | None:
        """Return a measured value.

        Args:
            name: Name of a constant or strength.

        Returns:
            The value; None if it was not measured.
        """
        return dict(self).get(name)
