"""J2 plasticity with isotropic hardening at the integration points: the return mapping.

The implicit Euler step of small-strain J2 plasticity with the yield stress a + h(p) is a radial
return (Simo & Hughes, Computational Inelasticity, 1998, section 3.3). With the deviatoric trial
stress s_tr, its von Mises stress q_tr and the flow direction n = s_tr / |s_tr|,

    q_tr - 3μ Δp = a + h(p_n + Δp),         or Δp = 0 where q_tr ≤ a + h(p_n),
    s  = (1 - 3μ Δp / q_tr) s_tr,           ε_p = ε_p,n + √(3/2) Δp n,
    ds/dε = 2μ (1 - 3μ Δp / q_tr) P - 2μ (3μ / (3μ + h'(p)) - 3μ Δp / q_tr) n n

with the deviatoric projection P. The hardening h(p) is one of `fe_data/settings/hardening.py`. The
pressure is elastic (see `problem`). Plane strain: tensors have the components xx, yy, xy; deviators
have zz = -xx - yy.
"""

import math
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats, short
from fe_data.mechanics.elements import Elements
from fe_data.settings.hardening import POWER, TABLE, VOCE
from fe_data.sparse.compilation import compiled, inlined

_MAX_ITERATIONS = 60
_SMALLEST_INCREMENT = 1e-290  # smaller increments of p are stored as zero
_TOLERANCE = 1e-13  # of the yield function, relative to the trial stress
_SURFACE = 1.0 + 1e-12  # rounding does not make a point yield on which the load turns back
_ROOT = math.sqrt(1.5)
_STEPS = 6  # of Halley's method for a block
# A block of elements is copied to the columns of one array: loops over them run in vector units,
# where loops over arrays that might overlap do not.
BLOCK = 32
_NO_TABLE = np.empty((0, 3))

_compiled = compiled(error_model="numpy")


@short
class J2Law(NamedTuple):
    """The matrix: isotropic elasticity and the yield stress, in MPa but for c and p."""

    shear_modulus: float  # μ
    bulk_modulus: float  # κ
    yield_stress: float  # a, the initial one
    hardening_coefficient: float  # b
    hardening_exponent: float  # c
    hardening_law: int = POWER  # number of the law h(p, b, c)
    # (rows, 3) p, h and slope from there on, see `settings.hardening.HardeningTable.segments`
    table: Floats = _NO_TABLE


@short
class HistoryVariables(NamedTuple):
    """History variables of m elements with q integration points each."""

    plastic_strain: Floats  # (m, q, 3) xx, yy, xy [-]
    p: Floats  # (m, q) accumulated equivalent plastic strain [-]
    # (m, q) h(p) [MPa]. An increment of p below 1e-290 is stored as zero, but the stress above the
    # initial yield stress that goes with it is kept here.
    hardening: Floats


@_compiled
def plastic_increment(
    q_trial: float, p_old: float, hardening_old: float, law: J2Law
) -> tuple[float, float]:
    """Solve q_tr - 3μ Δp = a + h(p_n + Δp) at one point that yields.

    Args:
        q_trial: Von Mises stress q_tr of the trial stress [MPa].
        p_old: Accumulated plastic strain p_n at the start of the step [-].
        hardening_old: h(p_n) [MPa], see `HistoryVariables`.
        law: The matrix.

    Returns:
        The increment Δp > 0, and the slope h' at its end [MPa]; NaN under an unknown law.

    Without hardening the increment is (q_tr - a) / 3μ:

    >>> perfectly_plastic = J2Law(100.0, 0.0, 400.0, 0.0, 1.0)
    >>> plastic_increment(430.0, 0.0, 0.0, perfectly_plastic)
    (0.1, 0.0)
    """
    # As h is concave, the left side minus the right is convex and decreasing in Δp: from left of
    # the root the steps of Newton's method approach it without overshooting.
    mu, _, a, b, c, hardening_law, table = law
    f = q_trial - a - hardening_old
    if hardening_law == TABLE:
        return _table_increment(f, p_old, hardening_old, mu, table)
    if hardening_law not in (POWER, VOCE):
        return np.nan, np.nan  # `refuse_unsolved` says so
    if b == 0.0:
        return f / (3.0 * mu), 0.0
    if hardening_law == VOCE:
        return _voce_increment(f, b * math.exp(-p_old / c), mu, c)
    # Two lower bounds of the root start the iteration: an increment for which 3μ Δp and hardening
    # use at most f / 2 each, and, from p > 0, a step from zero. At p = 0 hardening_old may be
    # positive, see `HistoryVariables`.
    dp = min(f / (6.0 * mu), ((hardening_old + 0.5 * f) / b) ** (1.0 / c) - p_old)
    if p_old > 0.0:
        dp = max(dp, f / (3.0 * mu + c * hardening_old / p_old))
    for _ in range(_MAX_ITERATIONS):
        if dp < _SMALLEST_INCREMENT:
            return 0.0, np.inf
        # h = b p^c,   h' = c h / p
        hardening = b * (p_old + dp) ** c
        slope = c * hardening / (p_old + dp)
        # Δp ← Δp + (q_tr - 3μ Δp - a - h) / (3μ + h')
        excess = q_trial - 3.0 * mu * dp - a - hardening
        step = excess / (3.0 * mu + slope)
        dp += step
        if abs(excess) <= _TOLERANCE * q_trial or abs(step) <= 1e-15 * dp:
            break
    return dp, slope


def refuse_unsolved(law: J2Law) -> None:
    """Refuse a matrix whose hardening law `plastic_increment` does not solve for.

    Raises:
        ValueError: If the increment of a point that yields is NaN.
    """
    increment, _ = plastic_increment(2.0 * law.yield_stress, 0.0, 0.0, law)
    if math.isnan(increment):
        number = f"the hardening law of number {law.hardening_law}"
        raise ValueError(f"{number} has no increment in plastic_increment of the compiled solver")


@_compiled
def _voce_increment(f: float, rest: float, mu: float, c: float) -> tuple[float, float]:
    """Solve f - 3μ Δp = rest (1 - exp(-Δp / c)): `rest` is the hardening still to come [MPa]."""
    dp = 0.0
    slope = 0.0
    for _ in range(_MAX_ITERATIONS):  # Newton's method from the left
        slope = rest / c * math.exp(-dp / c)
        step = (f - 3.0 * mu * dp + rest * math.expm1(-dp / c)) / (3.0 * mu + slope)
        dp += step
        if abs(step) <= _TOLERANCE * dp:
            break
    return dp, slope


@_compiled
def _table_increment(
    f: float, p_old: float, hardening_old: float, mu: float, table: Floats
) -> tuple[float, float]:
    """Solve f - 3μ Δp = h(p_n + Δp) - h(p_n) with h linear between the rows of a table."""
    # The left side minus the right falls in Δp, whether or not h is concave: bisection finds the
    # last row where it is not negative, and the solution lies on the segment from there on.
    row = 0
    end = len(table)
    while end - row > 1:
        middle = (row + end) // 2
        gap = table[middle, 0] - p_old
        if f - 3.0 * mu * gap >= table[middle, 1] - hardening_old:
            row = middle
        else:
            end = middle
    gap = 0.0
    rise = 0.0
    if table[row, 0] > p_old:
        gap = table[row, 0] - p_old
        rise = table[row, 1] - hardening_old
    slope = table[row, 2]
    # Δp = gap + (f - 3μ gap - rise) / (3μ + h')
    return gap + (f - 3.0 * mu * gap - rise) / (3.0 * mu + slope), slope


@_compiled
def return_map(
    u: Floats,
    macro_strain: Floats,
    elements: Elements,
    law: J2Law,
    old: HistoryVariables,
    new: HistoryVariables,
    tangent: Floats,
    force: Floats,
    integrals: Floats,
) -> None:
    """Return mapping at all integration points.

    Args:
        u: (n,) fluctuation.
        macro_strain: (3,) xx, yy, engineering xy.
        elements: The m elements of the matrix, with q points.
        law: The matrix.
        old: History variables at the start of the step.
        new: Written: those at the end.
        tangent: Written: (m, q, 6) entries 00, 01, 02, 11, 12, 22 of the in-plane ds/dε.
        force: Added to: (n,) ∫ Gᵀ s dV, with the strain operator G.
        integrals: Added to: integrals of the deviatoric stress xx, yy, zz, xy and of the plastic
            strain xx, yy, xy, and the area where p > 0.
    """
    dofs, gradients, weights = elements[:3]
    rows = np.zeros((55, BLOCK))
    x = rows[:12]  # displacements of the elements
    f = rows[12:24]  # their forces
    g = rows[24:36]  # gradients of the shape functions at a point
    s = rows[36:39]  # deviatoric stress
    t = rows[39:45]  # tangent
    ep = rows[45:48]  # plastic strain
    p = rows[48]
    hardening = rows[49]
    norm = rows[50]
    dp = rows[51]
    slope = rows[52]
    work = rows[53:]
    for first in range(0, len(dofs), BLOCK):
        block = range(min(BLOCK, len(dofs) - first))  # the last columns of the last block are idle
        for e in block:
            for i in range(12):
                x[i, e] = u[dofs[first + e, i]]
        f[:] = 0.0
        for q in range(weights.shape[1]):
            _gather(gradients, old, first, block, q, g, p, hardening, ep)
            _set_trial_deviators(x, g, macro_strain, ep, law, s, norm)
            _set_increments(norm, p, hardening, law, dp, slope, work)
            _flow(s, ep, p, hardening, norm, dp, slope, t, law)
            for e in block:
                m = first + e
                w = weights[m, q]
                new.p[m, q] = p[e]
                new.hardening[m, q] = hardening[e]
                for i in range(3):
                    s[i, e] *= w
                    new.plastic_strain[m, q, i] = ep[i, e]
                    integrals[4 + i] += w * ep[i, e]
                for i in range(6):
                    tangent[m, q, i] = t[i, e]
                integrals[0] += s[0, e]
                integrals[1] += s[1, e]
                integrals[2] -= s[0, e] + s[1, e]
                integrals[3] += s[2, e]
                if p[e] > 0.0:
                    integrals[7] += w
            _add_forces(g, s, f)
        for e in block:
            for i in range(12):
                force[dofs[first + e, i]] += f[i, e]


@inlined
def _gather(
    gradients: Floats,
    old: HistoryVariables,
    first: int,
    block: range,
    q: int,
    g: Floats,
    p: Floats,
    hardening: Floats,
    ep: Floats,
) -> None:
    """Copy gradients and history variables at point q of a block of elements to its columns."""
    for e in block:
        m = first + e
        for i in range(6):
            g[2 * i, e] = gradients[m, q, i, 0]
            g[2 * i + 1, e] = gradients[m, q, i, 1]
        p[e] = old.p[m, q]
        hardening[e] = old.hardening[m, q]
        for i in range(3):
            ep[i, e] = old.plastic_strain[m, q, i]


@inlined
def _set_trial_deviators(
    x: Floats, g: Floats, macro_strain: Floats, ep: Floats, law: J2Law, s: Floats, norm: Floats
) -> None:
    """Write trial deviators xx, yy, xy to s (3, BLOCK) and their norms to `norm` (BLOCK,)."""
    mu = law.shear_modulus
    # ε = E + G u
    for i in range(3):
        s[i] = macro_strain[i]
    for i in range(6):
        for e in range(BLOCK):
            gx = g[2 * i, e]
            gy = g[2 * i + 1, e]
            ux = x[2 * i, e]
            uy = x[2 * i + 1, e]
            s[0, e] += gx * ux
            s[1, e] += gy * uy
            s[2, e] += gy * ux + gx * uy
    # s_tr = 2μ (dev ε - ε_p,n),   |s_tr|² = s_xx² + s_yy² + (s_xx + s_yy)² + 2 s_xy²
    for e in range(BLOCK):
        third = (s[0, e] + s[1, e]) / 3.0
        sxx = 2.0 * mu * (s[0, e] - third - ep[0, e])
        syy = 2.0 * mu * (s[1, e] - third - ep[1, e])
        sxy = 2.0 * mu * (0.5 * s[2, e] - ep[2, e])
        s[0, e] = sxx
        s[1, e] = syy
        s[2, e] = sxy
        square = 2.0 * (sxx * sxx + syy * syy + sxx * syy + sxy * sxy)
        norm[e] = math.sqrt(square + 1e-300)  # zero would have no direction


@inlined
def _set_increments(
    norm: Floats, p: Floats, hardening: Floats, law: J2Law, dp: Floats, slope: Floats, work: Floats
) -> None:
    """Write increments of p, zero and more, and the slope of h at their ends, all (BLOCK,)."""
    # Halley's method (third order) from zero, where the power is known, until the estimated error
    # is small. `plastic_increment` gets what yields for the first time or follows another law.
    # With F(Δp) = q_tr - 3μ Δp - a - h(p_n + Δp), `stiff` = -F' = 3μ + h' and `bend` = -F'' / F',
    #     Δp ← Δp - F/F' / (1 - F F'' / (2 F'²)),        h'' = (c - 1) h' / p
    mu, _, a, b, c, hardening_law, _ = law
    start = work[0]
    h = work[1]
    for e in range(BLOCK):
        start[e] = 0.0
        h[e] = hardening[e]
        slope[e] = -1.0
    for _ in range(_STEPS if hardening_law == POWER else 0):
        unfinished = 0
        for e in range(BLOCK):
            q_trial = _ROOT * norm[e]
            end = p[e] + start[e]
            slope_here = c * h[e] / end
            stiff = 3.0 * mu + slope_here
            bend = (1.0 - c) * slope_here / (end * stiff)
            step = (q_trial - 3.0 * mu * start[e] - a - h[e]) / stiff
            step /= max(0.5, 1.0 - 0.5 * bend * step)
            x = step / end
            third = bend * (0.25 * bend + (2.0 - c) / 6.0 / end)
            left = third * abs(step * step * step) * stiff  # of the yield function, estimated
            done = (left <= 0.1 * _TOLERANCE * q_trial) & (abs(x) < 1e-3)
            yields = (p[e] > 0.0) & (q_trial > (a + hardening[e]) * _SURFACE)
            unfinished += 1 if (not done) & yields else 0
            dp[e] = start[e] + step
            # h'(p + Δp) to second order in x
            change = 1.0 + (c - 1.0) * x * (1.0 + 0.5 * (c - 2.0) * x)
            slope[e] = slope_here * change if done else -1.0
        if unfinished == 0:
            break
        for e in range(BLOCK):
            start[e] = max(dp[e], -0.5 * p[e])
            h[e] = b * (p[e] + start[e]) ** c
    for e in range(BLOCK):
        q_trial = _ROOT * norm[e]
        if not q_trial > (a + hardening[e]) * _SURFACE:  # `not >` lets NaN through
            dp[e] = 0.0
            slope[e] = np.inf
        elif not slope[e] >= 0.0:
            dp[e], slope[e] = plastic_increment(q_trial, p[e], hardening[e], law)


@inlined
def _flow(
    s: Floats,
    ep: Floats,
    p: Floats,
    hardening: Floats,
    norm: Floats,
    dp: Floats,
    slope: Floats,
    t: Floats,
    law: J2Law,
) -> None:
    """Turn trial deviators s and history variables into those at the end; write the tangent t."""
    mu = law.shear_modulus
    a = law.yield_stress
    for e in range(BLOCK):
        q_trial = _ROOT * norm[e]
        relief = 3.0 * mu * dp[e] / q_trial
        scale = 1.0 - relief
        # n = s_tr / |s_tr|
        nxx = s[0, e] / norm[e]
        nyy = s[1, e] / norm[e]
        nxy = s[2, e] / norm[e]
        # ds/dε = 2μ (1 - 3μ Δp / q_tr) P - 2μ (3μ / (3μ + h') - 3μ Δp / q_tr) n n
        elastic = 2.0 * mu * (1.0 - relief)
        drop = 2.0 * mu * (3.0 * mu / (3.0 * mu + slope[e]) - relief)
        t[0, e] = elastic * (2.0 / 3.0) - drop * nxx * nxx
        t[1, e] = -elastic / 3.0 - drop * nxx * nyy
        t[2, e] = -drop * nxx * nxy
        t[3, e] = elastic * (2.0 / 3.0) - drop * nyy * nyy
        t[4, e] = -drop * nyy * nxy
        t[5, e] = elastic * 0.5 - drop * nxy * nxy
        # p = p_n + Δp,   h = q_tr - 3μ Δp - a,   ε_p = ε_p,n + √(3/2) Δp n
        p[e] += dp[e]
        hardening[e] = max(hardening[e], q_trial - 3.0 * mu * dp[e] - a)  # elastic: kept
        flow = _ROOT * dp[e]
        ep[0, e] += flow * nxx
        ep[1, e] += flow * nyy
        ep[2, e] += flow * nxy
        # s = (1 - 3μ Δp / q_tr) s_tr
        s[0, e] *= scale
        s[1, e] *= scale
        s[2, e] *= scale


@inlined
def _add_forces(g: Floats, s: Floats, f: Floats) -> None:
    """Add Gᵀ s of a point, whose stress is already times its weight, to f (12, BLOCK)."""
    for i in range(6):
        for e in range(BLOCK):
            gx = g[2 * i, e]
            gy = g[2 * i + 1, e]
            f[2 * i, e] += gx * s[0, e] + gy * s[2, e]
            f[2 * i + 1, e] += gy * s[1, e] + gx * s[2, e]
