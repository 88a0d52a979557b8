"""Families of Gaussian processes, forms of the noise, and their hyperpriors.

Inputs are scaled to [0, 1] by the range of the data, and the output to a variance of one. A family
is a sum of stationary parts and a linear trend,

    k(x, x') = Σ_p k0_p φ_p(|(z - z') / L_p|) + 12 v (z - ½)·(z' - ½) + o²,

of inputs z = w(u; λ) (I + C) that may be warped and mixed, see `bnn.Warped`; v may be zero. Beyond
the data the functions bend by an unknown amount, and `prescribed.BEYOND` ranges farther their slope
is another one, see `bnn.Linear`. A prescribed covariance replaces the trend and the constant o. It
is that of a mean, or of a kernel whose open parameters are part of η.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bnn._validation import Array, Ints
from bnn.gp.kernel import Stationary

# Log-normal hyperpriors: medians, and standard deviations of logarithms. The two medians are those
# of the first stationary part and of a second, rougher one.
VARIANCE_MEDIANS = (1.0, 0.1)
LENGTHSCALE_MEDIANS = (1.0, 0.5)
VARIANCE_DEVIATION = 2.0
LENGTHSCALE_DEVIATION = 1.5
SPARSE_DEVIATION = 2.5  # of length scales if there are few data per input
TREND = 10.0  # median of v; v is the variance of slopes if y and inputs have unit deviation
TREND_DEVIATION = 2.0
NOISE = np.exp(-4.0)  # median of the variance of the noise, relative to that of the output
NOISE_DEVIATION = 2.0
# The same of noise that is small, or none at all as of a deterministic simulator.
SMALL_NOISE = 1e-6
SMALL_DEVIATION = 4.0
SMALL_ODDS = 3.0  # prior odds of usual to small noise
# Normal hyperpriors around zero.
WARP_DEVIATION = 1.0
MIXING_DEVIATION = 0.3
SLOPE_DEVIATION = 0.25  # of log σ, per standard deviation of an input
OFFSET = 3.0  # o, the standard deviation of the constant
UNIFORM = 12.0  # 1 / variance of a uniform input in [0, 1]
# Bounds of the search.
LIMITS = {
    "variance": (1e-4, 1e3),
    "lengthscale": (0.02, 50.0),
    "trend": (1e-6, 1e2),
    "noise": (1e-8, 1.0),
}
WARPS = 6.0
MIXING = 2.0
SLOPES = 2.0


@dataclass(frozen=True)
class Family:
    """A form of the kernel.

    Attributes:
        kinds: Classes of the stationary parts.
        trend: Whether there is a linear trend, v > 0. Beyond the data it continues, while the
            stationary parts return to the mean. This suits few data; with many data it is
            overconfident.
        warped: Whether each input has a warp λ_i.
        mixed: Whether inputs are mixed by a matrix C.
        sparse: Whether the hyperprior of length scales is for few data per input. For n inputs the
            medians are √n times as large, because distances grow with √n. The deviation is larger,
            because some of many inputs have no effect.
        most: Largest share of the family in an average over families. The data do not determine the
            function inside a gap. The family with the highest evidence may be wrong there. A limit
            leaves some weight to the other families.
        flat: Whether there is no hyperprior, so that the density is only the evidence.

    Source: Hvarfner, Hellsten & Nardi (2024), ICML 41, for medians that grow with √n.
    """

    kinds: tuple[type[Stationary], ...]
    trend: bool = False
    warped: bool = False
    mixed: bool = False
    sparse: bool = False
    most: float = 1.0
    flat: bool = False


@dataclass(frozen=True)
class NoiseForm:
    """Variances of the noise of the data of one output, s_i² + r_i σ² exp(2 β·b_i).

    Attributes:
        fixed: s², (N,): the known part, which is the whole noise if there is no unknown part.
        relative: r, (N,), of the unknown part.
        basis: b, (N, p), of the unknown part, with p = 0 for constant noise; None if there is no
            unknown part.
        small: Whether the hyperprior of σ² is that of small noise.
    """

    fixed: Array
    relative: Array
    basis: Array | None = None
    small: bool = False

    @classmethod
    def of_variances(cls, variances: Array) -> Self:
        """Return the form of known noise with these variances, (N,)."""
        return cls(variances, np.zeros_like(variances))

    @classmethod
    def constant(cls, relative: Array, fixed: Array | None = None) -> Self:
        """Return the form of unknown constant noise; `fixed` is None for zeros."""
        fixed = np.zeros_like(relative) if fixed is None else fixed
        return cls(fixed, relative, np.zeros((len(relative), 0)))

    def thinned(self, rows: Ints) -> Self:
        """Return the form for some of the data."""
        basis = None if self.basis is None else self.basis[rows]
        return replace(self, fixed=self.fixed[rows], relative=self.relative[rows], basis=basis)
