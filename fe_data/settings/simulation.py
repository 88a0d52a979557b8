"""The inputs and settings of a simulation, and the constants of the two phases that they give."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fe_data.arrays import number
from fe_data.schema import BOUNDS, COUNTS, LARGEST_STRAIN, LEAST_STRAIN
from fe_data.settings.checks import (
    in_percent,
    require_allowed,
    require_between,
    require_integer,
    require_kind,
)
from fe_data.settings.hardening import HARDENING_LAWS, Hardening, HardeningTable, law_of
from fe_data.settings.radii import RADII_LAWS, RadiiName
from safe_files.text import Short

# Settings with bounds in `schema.BOUNDS`; the others are counts or are checked separately.
_BOUNDED = (
    "min_spacing",
    "resolution",
    "tolerance",
    "E_m_GPa",
    "nu_m",
    "nu_f",
    "sigma_y0_MPa",
    "p_sigma_threshold_MPa",
)


def require_c(value: float, law: str) -> None:
    """Raise a ValueError if c_m is NaN or out of the bounds of a hardening law."""
    HARDENING_LAWS[law].require_between("c_m", value, HARDENING_LAWS[law].c_bounds)


def require_parameters(b: float, c: float, hardening: Hardening) -> None:
    """Raise a ValueError if b_m_MPa or c_m is invalid for the hardening law of the matrix."""
    law_of(hardening).require(b, c)


def _take_plain_numbers(values: "Inputs | VolumeFraction | Settings") -> None:
    """Convert each number to the type of its field, so that 100 and 100.0 are the same."""
    for item in dataclasses.fields(values):
        value = getattr(values, item.name)
        if item.type in (Hardening, RadiiName) or (value is None and item.default is None):
            continue
        plain: float
        if item.type is int:
            plain = require_integer(item.name, value, *COUNTS[item.name])
        else:
            plain = number(item.name, value)
        object.__setattr__(values, item.name, plain)


@dataclass(frozen=True, repr=False)
class Inputs(Short):
    """The inputs x of one RVE (paper, section 3.2), in the order of `schema.INPUTS`.

    Attributes:
        vf: Volume fraction of the fibres [-]: 0, the pure matrix, or 0.005 to 0.91.
        E_f_GPa: Young's modulus of the fibres [GPa].
        b_m_MPa: Hardening coefficient of the matrix [MPa]; 0 is perfectly plastic.
        c_m: Hardening exponent of the matrix [-], 0.01 to 1 (linear). For Voce's law it is the
            characteristic plastic strain, 0.0001 to 1. The range of the chosen law is checked at
            the start of a simulation. With a hardening table b_m_MPa must be 0 and c_m must be 1.

    Raises:
        ValueError: If an input is not a number or out of range.

    Examples:
        >>> from fe_data import Inputs
        >>> Inputs(vf=0.3, E_f_GPa=400, b_m_MPa=400, c_m=0.4).E_f_GPa
        400.0
    """

    vf: float
    E_f_GPa: float
    b_m_MPa: float
    c_m: float

    def __post_init__(self) -> None:
        _take_plain_numbers(self)
        require_allowed(np.array(dataclasses.astuple(self)))


@dataclass(frozen=True, repr=False)
class VolumeFraction(Short):
    """The only input of an RVE whose phases are given by a `Phases` object.

    Attributes:
        vf: Volume fraction of the fibres [-]: 0, the pure matrix, or 0.005 to 0.91.

    Raises:
        ValueError: If it is not a number or out of range.

    Examples:
        >>> from fe_data import VolumeFraction
        >>> VolumeFraction(0.6).vf
        0.6
    """

    vf: float

    def __post_init__(self) -> None:
        _take_plain_numbers(self)
        require_allowed(np.array([self.vf]), ["vf"])


@dataclass(frozen=True, repr=False)
class Settings(Short):
    """Mesh, material constants, loading and solver tolerance of a simulation.

    Attributes:
        n_fibres: Number of fibres.
        min_spacing: Least distance of two fibre centres, in fibre diameters [-]. None is 1.14 up to
            vf = 0.49, and falls to 1.02 at vf = 0.615, so that dense fibres stay disordered.
        resolution: Elements per fibre diameter [-]. None makes the element size 1/7.9 of the mean
            fibre distance: 2.3 per diameter at vf = 0.07, 4.3 at 0.23 and 5.6 at 0.39.
        increments: Number of equal load increments.
        strain: Final mean strain xx [-], 0.0001 to 0.5, negative in compression.
        tolerance: Relative residual at which Newton's method has converged [-].
        E_m_GPa: Young's modulus of the matrix [GPa].
        nu_m: Poisson's ratio of the matrix [-].
        nu_f: Poisson's ratio of the fibres [-].
        sigma_y0_MPa: Initial yield stress of the matrix [MPa]. With a hardening table it is the
            first stress of the table, and need not be given.
        p_sigma_threshold_MPa: Threshold of the von Mises stress [MPa]: p_sigma is the area fraction
            of the fibres above it.
        hardening: Hardening law of the matrix: "power" (a + b_m p^c_m, as in the paper), "voce",
            or a `HardeningTable`, also as a dictionary of its two attributes. See
            `fe_data/settings/hardening.py`.
        radii: Distribution of the radii of random fibres: "equal", "uniform" or "lognormal", see
            `fe_data/settings/radii.py`. The volume fraction is always exact.
        radii_cov: Coefficient of variation of the radii [-]: 0 for equal radii, otherwise up to
            0.5.

    Raises:
        ValueError: If a setting is not a number or out of range.

    Examples:
        >>> from fe_data import Settings
        >>> Settings(n_fibres=10).increments
        50
    """

    n_fibres: int = 30
    min_spacing: float | None = None
    resolution: float | None = None
    increments: int = 50
    strain: float = 0.05
    tolerance: float = 1e-5
    E_m_GPa: float = 100.0
    nu_m: float = 0.3
    nu_f: float = 0.25
    sigma_y0_MPa: float = 400.0
    p_sigma_threshold_MPa: float = 900.0
    hardening: Hardening = "power"
    radii: RadiiName = "equal"
    radii_cov: float = 0.0

    def __post_init__(self) -> None:
        _take_plain_numbers(self)
        hardening: object = self.hardening
        if isinstance(hardening, dict) and hardening.keys() == {"plastic_strain", "stress"}:
            object.__setattr__(self, "hardening", HardeningTable(**hardening))  # read from a file
        if isinstance(self.hardening, HardeningTable):
            self._take_initial_stress(self.hardening)
        for name in _BOUNDED:
            if getattr(self, name) is not None:  # `min_spacing` and `resolution` may be None
                require_between(name, getattr(self, name), *BOUNDS[name])
        if not LEAST_STRAIN <= abs(self.strain) <= LARGEST_STRAIN:
            allowed = f"[{-LARGEST_STRAIN:g}, {-LEAST_STRAIN:g}] or [{LEAST_STRAIN:g}, "
            allowed += f"{LARGEST_STRAIN:g}]{in_percent(self.strain, LARGEST_STRAIN)}"
            raise ValueError(f"strain = {self.strain!r} is out of range: allowed is {allowed}")
        require_kind("hardening", self.hardening, str, HardeningTable)
        if isinstance(self.hardening, str) and self.hardening not in HARDENING_LAWS:
            allowed = "; ".join(f"{name}, {law.formula}" for name, law in HARDENING_LAWS.items())
            raise ValueError(
                f"hardening = {self.hardening!r:.60} is unknown: allowed are {allowed}; or a table"
            )
        self._check_radii()

    def _check_radii(self) -> None:
        """Reject an unknown distribution of radii, and a coefficient out of its range."""
        require_kind("radii", self.radii, str)
        if self.radii not in RADII_LAWS:
            allowed = "; ".join(f"{name}, {law.formula}" for name, law in RADII_LAWS.items())
            raise ValueError(f"radii = {self.radii!r:.60} is unknown: allowed are {allowed}")
        largest = RADII_LAWS[self.radii].largest_cov
        if not (0.0 < self.radii_cov <= largest or self.radii_cov == largest == 0.0):
            allowed = f"above 0 and up to {largest:g}" if largest else "0"
            raise ValueError(
                f"radii_cov = {self.radii_cov!r} is out of range: allowed is {allowed} with "
                f"{self.radii!r} radii"
            )

    def _take_initial_stress(self, table: HardeningTable) -> None:
        """Set sigma_y0_MPa to the first stress of a table; reject another value."""
        first = table.stress[0]
        if self.sigma_y0_MPa not in (Settings.sigma_y0_MPa, first):
            raise ValueError(
                f"sigma_y0_MPa = {self.sigma_y0_MPa!r} is not the first stress of the "
                f"hardening table, {first!r}: leave it out"
            )
        object.__setattr__(self, "sigma_y0_MPa", first)


class PaperPhases(NamedTuple):
    """Constants of elastic fibres in an elastic matrix that yields and hardens.

    >>> PaperPhases.of(Inputs(0.25, 400.0, 300.0, 0.5), Settings()).longitudinal_modulus(0.25)
    175000.0
    """

    E_f_GPa: float
    b_m_MPa: float
    c_m: float
    E_m_GPa: float
    nu_m: float
    nu_f: float
    sigma_y0_MPa: float
    hardening: Hardening

    @classmethod
    def of(cls, inputs: Inputs, settings: Settings) -> "PaperPhases":
        """Take the constants of the phases from inputs and settings."""
        constants = {**vars(settings), **vars(inputs)}
        return cls(**{name: constants[name] for name in cls._fields})

    def longitudinal_modulus(self, vf: float) -> float:
        """Return Young's modulus along the fibres [MPa]."""
        # Rule of mixtures: along the fibres both phases have the same strain.
        return 1e3 * (vf * self.E_f_GPa + (1 - vf) * self.E_m_GPa)

    def elastic_strain(self, share: float) -> float:
        """Return a share of the yield strain of the matrix [-]."""
        return share * self.sigma_y0_MPa / (1e3 * self.E_m_GPa)
