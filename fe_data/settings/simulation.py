"""The inputs and settings of a simulation, which are validated on construction."""

import dataclasses
import operator
from dataclasses import dataclass
from typing import SupportsIndex

from fe_data.arrays import Short
from fe_data.schema import INPUTS
from fe_data.settings.hardening import (
    LARGEST_STRESS,
    LAWS,
    SMALLEST_STRESS,
    UNUSED_B_AND_C,
    Hardening,
    HardeningTable,
    LawName,
)
from fe_data.settings.radii import RADII_LAWS, RadiiName

# Fibres are condensed as dense matrices: a volume element takes 1 minute and 1.9 GB at this
# resolution, and each fibre 9 GB at 50.
FINEST_RESOLUTION = 25.0
MAX_SEED = 2**63 - 1


def require_between(
    name: str, value: float, low: float, high: float, *, also: str = "", unit: str = ""
) -> None:
    """Refuse a value out of bounds or NaN; in the message `also` and `unit` enclose its range."""
    if not low <= value <= high:
        allowed = f"{also}[{low:g}, {high:g}]{unit}"
        raise ValueError(f"{name} = {value!r} is out of range: allowed is {allowed}")


def require_c(value: float, *laws: LawName) -> None:
    """Refuse a c_m that is NaN or out of the bounds of each of these hardening laws."""
    bounds = {law: LAWS[law].c_bounds for law in laws}
    if not any(low <= value <= high for low, high in bounds.values()):
        ranges = [f"[{low:g}, {high:g}] under {law!r}" for law, (low, high) in bounds.items()]
        allowed = ", ".join(ranges)
        raise ValueError(f"c_m = {value!r} is out of range: allowed is {allowed} hardening")


def require_parameters(b: float, c: float, hardening: Hardening) -> None:
    """Refuse inputs b_m_MPa and c_m that the hardening of the matrix does not take."""
    if not isinstance(hardening, HardeningTable):
        require_c(c, hardening)
    elif (b, c) != UNUSED_B_AND_C:
        raise ValueError(
            f"b_m_MPa = {b!r} and c_m = {c!r} mean nothing under a hardening table: give 0 and 1"
        )


def require_integer(name: str, value: SupportsIndex, low: int, high: int) -> int:
    """The value as Python's integer; a ValueError names the field, the value and the range."""
    refusal = f"{name} = {value!r} is out of range: allowed are integers in [{low}, {high}]"
    if isinstance(value, bool):
        raise ValueError(refusal)
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(refusal) from None
    if not low <= number <= high:
        raise ValueError(refusal)
    return number


def require_kind(name: str, value: object, *kinds: type) -> None:
    """Refuse a value of another type with a TypeError that names it."""
    if not isinstance(value, kinds):
        allowed = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} = {value!r:.60} must be of type {allowed}")


def _take_plain_numbers(values: "Inputs | Settings") -> None:
    """Replace each number by the int or float of its field, so that 100 and 100.0 are the same."""
    for item in dataclasses.fields(values):
        value = getattr(values, item.name)
        if item.type not in (Hardening, RadiiName) and (
            value is not None or item.default is not None
        ):
            integer = item.type is int
            try:
                if isinstance(value, str):  # float() accepts texts
                    raise TypeError
                plain = operator.index(value) if integer else float(value)
            except (TypeError, ValueError, OverflowError):
                kind = "an integer" if integer else "a number"
                raise ValueError(f"{item.name} = {value!r} must be {kind}") from None
            object.__setattr__(values, item.name, plain)


@dataclass(frozen=True, repr=False)
class Inputs(Short):
    """The inputs x of one volume element (paper, section 3.2), in the order of `schema.INPUTS`.

    Attributes:
        vf: Volume fraction of the fibres [-]: 0, the pure matrix, or 0.005 to 0.5.
        E_f_GPa: Young's modulus of the fibres [GPa].
        b_m_MPa: Hardening coefficient of the matrix [MPa]; 0 is perfectly plastic.
        c_m: Hardening exponent of the matrix [-], 0.01 to 1, which is linear; under Voce's law the
            characteristic plastic strain, 0.0001 to 1; c_m outside the law's range is refused when
            the cell is simulated. Under a hardening table b_m_MPa is 0 and c_m is 1.

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
        for quantity in INPUTS:
            value = getattr(self, quantity.name)
            if quantity.allowed is None:
                require_c(value, *LAWS)
            elif quantity.name != "vf":
                require_between(quantity.name, value, *quantity.allowed)
            elif value != 0.0:
                require_between(quantity.name, value, *quantity.allowed, also="0 or ")


@dataclass(frozen=True, repr=False)
class Settings(Short):
    """Everything else that a result depends on.

    Attributes:
        n_fibres: Number of fibres.
        min_spacing: Least distance of two fibre centres, in fibre diameters [-].
        resolution: Elements per fibre diameter [-]. None takes elements of 1/7.9 of the mean fibre
            distance: 2.3 per diameter at vf = 0.07, 4.3 at 0.23 and 5.6 at 0.39.
        increments: Number of equal load increments.
        strain: Final mean strain xx [-], 0.0001 to 0.5, negative in compression.
        tolerance: Relative residual at which Newton's method has converged [-].
        E_m_GPa: Young's modulus of the matrix [GPa].
        nu_m: Poisson's ratio of the matrix [-].
        nu_f: Poisson's ratio of the fibres [-].
        a_MPa: Initial yield stress of the matrix [MPa]; under a hardening table its first stress,
            which it becomes if it is left out.
        fibre_stress_MPa: Von Mises stress above which p_sigma counts the area of fibres [MPa].
        hardening: Law of the yield stress of the matrix at the accumulated plastic strain p:
            "power" is a + b_m p^c_m, as in the paper; `fe_data/settings/hardening.py`
            lists all laws. Or a `HardeningTable`, also as the dictionary that files hold.
        radii: Distribution of the radii of random fibres: "equal", "uniform" or "lognormal";
            `fe_data/settings/radii.py` lists all laws. Whatever it is, the volume fraction is
            exact.
        radii_cov: Coefficient of variation of that distribution [-]: 0 for equal radii, else above
            0 and up to 0.5.

    Raises:
        ValueError: If a setting is not a number or out of range.

    Examples:
        >>> from fe_data import Settings
        >>> Settings(n_fibres=10).increments
        50
    """

    n_fibres: int = 30
    min_spacing: float = 1.14
    resolution: float | None = None
    increments: int = 50
    strain: float = 0.05
    tolerance: float = 1e-5
    E_m_GPa: float = 100.0
    nu_m: float = 0.3
    nu_f: float = 0.25
    a_MPa: float = 400.0
    fibre_stress_MPa: float = 900.0
    hardening: Hardening = "power"
    radii: RadiiName = "equal"
    radii_cov: float = 0.0

    def __post_init__(self) -> None:
        _take_plain_numbers(self)
        given: object = self.hardening
        if isinstance(given, dict) and given.keys() == {"plastic_strain", "stress"}:
            object.__setattr__(self, "hardening", HardeningTable(**given))  # as files hold it
        if isinstance(self.hardening, HardeningTable):
            self._take_initial_stress(self.hardening)
        for name, low, high in (
            ("n_fibres", 1, 1000),
            ("min_spacing", 1.0, 3.0),
            ("increments", 4, 10000),
            ("tolerance", 1e-12, 1e-3),
            ("E_m_GPa", 1e-3, 1e5),
            ("nu_m", 0.0, 0.49),
            ("nu_f", 0.0, 0.49),
            ("a_MPa", SMALLEST_STRESS, LARGEST_STRESS),
            ("fibre_stress_MPa", 1e-3, 1e6),
        ):
            require_between(name, getattr(self, name), low, high)
        if not -0.5 <= self.strain <= -1e-4:
            require_between("strain", self.strain, 1e-4, 0.5, also="[-0.5, -0.0001] or ")
        if self.resolution is not None:
            require_between("resolution", self.resolution, 1.0, FINEST_RESOLUTION)
        require_kind("hardening", self.hardening, str, HardeningTable)
        if isinstance(self.hardening, str) and self.hardening not in LAWS:
            allowed = "; ".join(f"{name}, {law.formula}" for name, law in LAWS.items())
            raise ValueError(
                f"hardening = {self.hardening!r:.60} is unknown: allowed are {allowed}; or a table"
            )
        self._check_radii()

    def _check_radii(self) -> None:
        """Refuse an unknown distribution of radii, and a coefficient that it does not take."""
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
        """Make a_MPa the first stress of a table; another one that was given is refused."""
        first = table.stress[0]
        if self.a_MPa not in (Settings.a_MPa, first):
            raise ValueError(
                f"a_MPa = {self.a_MPa!r} is not the first stress of the hardening table, "
                f"{first!r}: leave it out"
            )
        object.__setattr__(self, "a_MPa", first)
