"""The hardening laws of the matrix: the one place that lists them.

A law is h(p, b, c), by which the yield stress a + h of the matrix exceeds the initial one a at the
accumulated plastic strain p. It has to be concave and to grow with p, so that the return mapping
has one solution and Newton's method finds it.

Settings, the command line and the reference solver ask this module. The compiled solver solves for
the increment of p in its own way for each law, in `mechanics/plasticity.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fe_data.arrays import Floats

LawName = Literal["power", "voce"]
# Numbers by which compiled functions know the laws.
POWER = 0
VOCE = 1


@dataclass(frozen=True)
class HardeningLaw:
    """A hardening law h(p, b, c).

    Attributes:
        number: Number by which compiled functions know it.
        formula: Yield stress of the matrix, for messages and the help of the command line.
        hardening: h [MPa] of p [-], b [MPa] and c [-].
        slope: dh/dp [MPa] of the same.
        c_bounds: Smallest and largest c that a simulation takes: an exponent or a strain, as the
            law has it.

    Examples:
        >>> from fe_data.settings.hardening import LAWS
        >>> LAWS["power"].hardening(0.01, 400.0, 0.5)
        40.0
    """

    number: int
    formula: str
    hardening: Callable[[Floats, float, float], Floats]
    slope: Callable[[Floats, float, float], Floats]
    c_bounds: tuple[float, float]


def _power(p: Floats, b: float, c: float) -> Floats:
    hardening: Floats = b * p**c
    return hardening


def _power_slope(p: Floats, b: float, c: float) -> Floats:
    slope: Floats = b * c * p ** (c - 1)  # infinite at p = 0
    return slope


def _voce(p: Floats, b: float, c: float) -> Floats:
    hardening: Floats = -b * np.expm1(-p / c)
    return hardening


def _voce_slope(p: Floats, b: float, c: float) -> Floats:
    slope: Floats = b / c * np.exp(-p / c)
    return slope


LAWS: dict[LawName, HardeningLaw] = {
    # The law of the paper, section 3.2.
    "power": HardeningLaw(
        number=POWER,
        formula="a + b p^c, linear for c = 1 and perfectly plastic for b = 0",
        hardening=_power,
        slope=_power_slope,
        c_bounds=(0.01, 1.0),
    ),
    # E. Voce, J. Inst. Met. 74 (1948) 537; c is the characteristic plastic strain.
    "voce": HardeningLaw(
        number=VOCE,
        formula="a + b (1 - exp(-p / c))",
        hardening=_voce,
        slope=_voce_slope,
        c_bounds=(1e-4, 1.0),
    ),
}
