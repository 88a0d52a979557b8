"""The distributions of the radii of random fibres.

A distribution draws radii of mean 1. They are then scaled by a common factor, so that the volume
fraction is exact. A distribution therefore has only one parameter: the coefficient of variation,
which is the standard deviation of the radii divided by their mean.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fe_data.arrays import Floats

RadiiName = Literal["equal", "uniform", "lognormal"]


@dataclass(frozen=True)
class RadiiLaw:
    """A distribution of radii.

    Attributes:
        formula: Distribution of a radius of mean 1 at the coefficient of variation C, for messages
            and the help of the command line.
        draw: Function of a generator, n and C, which returns radii (n,) from this distribution.
        largest_cov: Largest allowed C.

    Examples:
        >>> import numpy as np
        >>> from fe_data.settings.radii import RADII_LAWS
        >>> radii = RADII_LAWS["uniform"].draw(np.random.default_rng(0), 10_000, 0.3)
        >>> print((radii.std() / radii.mean()).round(2))
        0.3
    """

    formula: str
    draw: Callable[[np.random.Generator, int, float], Floats]
    largest_cov: float


def _uniform(rng: np.random.Generator, n: int, cov: float) -> Floats:
    half = math.sqrt(3) * cov  # the standard deviation of a uniform law is half its width / sqrt(3)
    return rng.uniform(1 - half, 1 + half, n)


def _lognormal(rng: np.random.Generator, n: int, cov: float) -> Floats:
    variance = math.log1p(cov**2)  # of the logarithm
    return rng.lognormal(-variance / 2, math.sqrt(variance), n)


RADII_LAWS: dict[RadiiName, RadiiLaw] = {
    # The law of the paper, section 3.2.
    "equal": RadiiLaw("1 for all fibres, C = 0", lambda _, n, __: np.ones(n), 0.0),
    "uniform": RadiiLaw("uniform in 1 - sqrt(3) C ... 1 + sqrt(3) C", _uniform, 0.5),
    "lognormal": RadiiLaw("lognormal of mean 1 and standard deviation C", _lognormal, 0.5),
}
