"""J2 plasticity along strain paths: the return mapping of many points at once.

The implicit Euler step of small-strain J2 plasticity in plane strain, with the yield stress
a + b p^c (Simo & Hughes, Computational Inelasticity, 1998, section 3.3). With the deviatoric trial
stress s_tr = 2μ (e - ε_p,n), its von Mises stress q and the direction d = s_tr / q,

    q - 3μ Δp = a + b (p_n + Δp)^c,         or Δp = 0 if q ≤ a + b p_n^c,
    s = s_tr - 3μ Δp d,       ε_p = ε_p,n + 3/2 Δp d,       p = p_n + Δp.

Deviators have the components xx, yy, xy, and zz = -xx - yy: q² = 3 (s_xx² + s_yy² + s_xx s_yy +
s_xy²).
"""

from typing import NamedTuple

import torch
from torch import Tensor

_ITERATIONS = 30
_TOLERANCE = 1e-14  # of the yield function, relative to its terms
_SURFACE = 1.0 + 1e-12  # tolerance, so that rounding does not make an unloading point yield


class Matrix(NamedTuple):
    """Material constants of the matrix: numbers, or tensors that broadcast against (points,)."""

    shear_modulus: Tensor | float  # μ [MPa]
    yield_stress: Tensor | float  # a [MPa], initial yield stress
    hardening_coefficient: Tensor | float  # b [MPa]
    hardening_exponent: Tensor | float  # c in (0, 1]


class History(NamedTuple):
    """History variables of points."""

    plastic_strain: Tensor  # (points, 3) components xx, yy, xy of the tensor [-]
    p: Tensor  # (points,) accumulated equivalent plastic strain [-]

    @classmethod
    def at_rest(cls, points: int) -> "History":
        """Return the history of points that have never yielded."""
        return cls(torch.zeros(points, 3, dtype=torch.float64), torch.zeros(points).double())


class _Step(NamedTuple):
    """Intermediate results of a step, from which its gradients follow."""

    direction: Tensor  # (points, 3) d
    q: Tensor  # (points,) von Mises stress of the trial stress
    increment: Tensor  # (points,) Δp
    compliance: Tensor  # (points,) ∂Δp/∂q = 1 / (3μ + h'), zero if the point does not yield


def advance(deviator: Tensor, old: History, matrix: Matrix) -> tuple[Tensor, History, _Step]:
    """Compute one step of all points.

    Args:
        deviator: (points, 3) deviatoric strain xx, yy, xy at the end of the step [-].
        old: History variables at the start of the step.
        matrix: Material constants, tensors (points,).

    Returns:
        The deviatoric stress (points, 3) [MPa] and the history at the end of the step, and the
        intermediate results for gradients.
    """
    mu, a, b, c = (torch.as_tensor(values, dtype=torch.float64) for values in matrix)
    trial = 2.0 * mu[..., None] * (deviator - old.plastic_strain)
    q = mises(trial) + 1e-150  # avoids division by zero
    d = trial / q[:, None]
    yields = q > (a + b * old.p**c) * _SURFACE
    u = _hardened(q - a + 3.0 * mu * old.p, old.p**c, 3.0 * mu, b, c)
    p = torch.where(yields, torch.maximum(u ** (1.0 / c), old.p), old.p)
    increment = p - old.p
    # 1 / (3μ + h') with h' = b du/dp:   p'(u) / (3μ p'(u) + b)
    slope = u ** (1.0 / c - 1.0) / c
    compliance = torch.where(yields, slope / (3.0 * mu * slope + b).clamp_min(1e-300), 0.0)
    stress = trial - (3.0 * mu * increment)[:, None] * d
    plastic_strain = old.plastic_strain + (1.5 * increment)[:, None] * d
    return stress, History(plastic_strain, p), _Step(d, q, increment, compliance)


def mises(deviator: Tensor) -> Tensor:
    """Return the von Mises stress (...) of deviators (..., 3)."""
    xx, yy, xy = deviator.unbind(-1)
    # q² = 3/2 s : s with s_zz = -s_xx - s_yy
    squares = 3.0 * (xx * xx + yy * yy + xx * yy + xy * xy)
    return squares.rsqrt().reciprocal()  # the last bit of torch.sqrt depends on the processor


def _hardened(excess: Tensor, old: Tensor, stiff: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Solve b u + 3μ u^(1/c) = excess for u = p^c of points that yield, for which u > `old`."""
    # In u the left side is convex and has no infinite slope at rest. A Newton step from the left
    # therefore ends right of the solution, from where steps approach it without overshooting.
    excess = excess.clamp_min(0.0)
    # Neither term exceeds their sum, which gives two upper bounds. The Newton step from the old
    # value gives a third one.
    u = torch.minimum((excess / stiff) ** c, excess / b.clamp_min(1e-300))
    power = old ** (1.0 / c - 1.0)
    slope = b + stiff * power / c
    first = old + (excess - b * old - stiff * power * old) / slope.clamp_min(1e-300)
    u = torch.minimum(u, torch.where(first > old, first, u))
    for _ in range(_ITERATIONS):
        power = u ** (1.0 / c - 1.0)
        rest = b * u + stiff * power * u - excess
        u = (u - rest / (b + stiff * power / c).clamp_min(1e-300)).clamp_min(0.0)
        if bool((rest.abs() <= _TOLERANCE * excess).all()):
            break
    return u
