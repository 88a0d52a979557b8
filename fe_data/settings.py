"""What a user may choose: inputs of a cell and settings of a simulation, validated when made."""

import dataclasses
import operator
import typing
from dataclasses import dataclass

# Bounds of the paper's input box (section 3.2): designs draw from it, single cells may leave it.
INPUT_BOUNDS = {
    "vf": (0.05, 0.40),
    "E_f_GPa": (200.0, 600.0),
    "b_m_MPa": (300.0, 500.0),
    "c_m": (0.20, 0.55),
}
INPUT_NAMES = tuple(INPUT_BOUNDS)
SMALLEST_VF = 0.005  # the thinner the fibres, the finer the mesh: 134 000 dofs there
# Fibres are condensed as dense matrices: 1 minute and 1.9 GB a cell there, 9 GB a fibre at 50.
FINEST_RESOLUTION = 25.0
OUTPUT_NAMES = ("b_eff_MPa", "c_eff", "E_eff_GPa", "nu_eff", "p_sigma")


def require_between(name: str, value: float, low: float, high: float, *, also: str = "") -> None:
    """Raise a ValueError that names the field, the value and what is allowed."""
    if not low <= value <= high:  # which not a number is not, either
        raise ValueError(
            f"{name} = {value!r} is out of range: allowed is {also}[{low:g}, {high:g}]"
        )


def _take_plain_numbers(values: "Inputs | Settings") -> None:
    """Replace the numbers of others, such as NumPy's, by Python's: 100 and 100.0 are the same."""
    for item in dataclasses.fields(values):
        value = getattr(values, item.name)
        if value is not None or item.default is not None:
            plain = _integer if item.type is int else _real
            object.__setattr__(values, item.name, plain(item.name, value))


def _integer(name: str, value: typing.SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r} must be an integer") from None


def _real(name: str, value: float) -> float:
    if isinstance(value, str):  # which float would read
        raise ValueError(f"{name} = {value!r} must be a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r} must be a number") from None


@dataclass(frozen=True)
class Inputs:
    """The four inputs x of one cell (paper, section 3.2)."""

    vf: float  # fibre volume fraction [-]; 0 is the pure matrix, the next is SMALLEST_VF
    E_f_GPa: float  # Young's modulus of the fibres [GPa]
    b_m_MPa: float  # hardening coefficient of the matrix [MPa]
    c_m: float  # hardening exponent of the matrix [-]

    def __post_init__(self):
        _take_plain_numbers(self)
        if self.vf != 0.0:
            require_between("vf", self.vf, SMALLEST_VF, 0.5, also="0 or ")
        require_between("E_f_GPa", self.E_f_GPa, 1.0, 1e5)
        require_between("b_m_MPa", self.b_m_MPa, 0.0, 1e5)
        require_between("c_m", self.c_m, 0.01, 1.0)


@dataclass(frozen=True)
class Settings:
    """Everything else that a result depends on."""

    n_fibres: int = 30
    min_spacing: float = 1.14  # least centre distance, in fibre diameters [-]
    # Elements per fibre diameter [-]. None: elements of 1/7.9 of the mean fibre distance whatever
    # the volume fraction: 2.3 per diameter at vf 0.07, 4.3 at 0.23 and 5.6 at 0.39.
    resolution: float | None = None
    increments: int = 50  # equal load increments
    strain: float = 0.05  # final mean strain eps_xx [-]
    tolerance: float = 1e-5  # relative Newton residual [-]
    E_m_GPa: float = 100.0  # matrix Young's modulus [GPa]
    nu_m: float = 0.3  # matrix Poisson ratio [-]
    nu_f: float = 0.25  # fibre Poisson ratio [-]
    a_MPa: float = 400.0  # initial yield stress of the matrix [MPa]
    fibre_stress_MPa: float = 900.0  # threshold of p_sigma [MPa]

    def __post_init__(self):
        _take_plain_numbers(self)
        for name, low, high in (
            ("n_fibres", 1, 1000),
            ("min_spacing", 1.0, 3.0),
            ("increments", 4, 10000),
            ("strain", 1e-4, 0.5),
            ("tolerance", 1e-12, 1e-3),
            ("E_m_GPa", 1e-3, 1e5),
            ("nu_m", 0.0, 0.49),
            ("nu_f", 0.0, 0.49),
            ("a_MPa", 1e-3, 1e6),
            ("fibre_stress_MPa", 1e-3, 1e6),
        ):
            require_between(name, getattr(self, name), low, high)
        if self.resolution is not None:
            require_between("resolution", self.resolution, 1.0, FINEST_RESOLUTION)

    def to_dict(self) -> dict:
        """Settings as a plain dictionary, in declaration order."""
        return dataclasses.asdict(self)
