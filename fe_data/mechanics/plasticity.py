"""J2 plasticity with isotropic hardening at the integration points: the return mapping.

The implicit Euler step of small-strain J2 plasticity with the yield stress a + h(p) is a radial
return (Simo & Hughes, Computational Inelasticity, 1998, section 3.3). With the deviatoric trial
stress s_tr, its von Mises stress q_tr and the flow direction n = s_tr / |s_tr|,

    q_tr - 3 mu dp = a + h(p_n + dp),         or dp = 0 where q_tr <= a + h(p_n),
    s  = (1 - 3 mu dp / q_tr) s_tr,           ep = ep_n + sqrt(3/2) dp n,
    ds/de = 2 mu (1 - 3 mu dp / q_tr) P - 2 mu (3 mu / (3 mu + h'(p)) - 3 mu dp / q_tr) n n

with the deviatoric projection P. The hardening h(p) is b p^c or, after E. Voce (J. Inst. Met. 74
(1948) 537), b (1 - exp(-p / c)). The pressure is elastic (see `problem`). Plane strain: tensors
have the components xx, yy, xy; deviators have zz = -xx - yy.
"""

import math
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats
from fe_data.mechanics.elements import Elements
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

_compiled = compiled(error_model="numpy")


class J2Law(NamedTuple):
    """The matrix: isotropic elasticity and the yield stress, all but c in MPa."""

    shear_modulus: float  # mu
    bulk_modulus: float  # kappa
    yield_stress: float  # a, the initial one
    hardening_coefficient: float  # b
    hardening_exponent: float  # c, or Voce's characteristic plastic strain
    voce: bool = False  # whether the hardening is b (1 - exp(-p / c)) instead of b p^c


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
    """Solve q_trial - 3 mu dp = a + h(p_old + dp): dp > 0 and the slope of h at its end [MPa]."""
    # With h = b p^c the left side minus the right is convex and decreasing in dp: from left of the
    # root the steps of Newton's method approach it without overshooting.
    mu, _, a, b, c, voce = law
    f = q_trial - a - hardening_old
    if b == 0.0:
        return f / (3.0 * mu), 0.0
    if voce:
        return _voce_increment(f, b * math.exp(-p_old / c), mu, c)
    # Left of it are an increment for which 3 mu dp and hardening use at most f / 2 each, and, from
    # p > 0, a step from zero. At p = 0 hardening_old may be positive, see `HistoryVariables`.
    dp = min(f / (6.0 * mu), ((hardening_old + 0.5 * f) / b) ** (1.0 / c) - p_old)
    if p_old > 0.0:
        dp = max(dp, f / (3.0 * mu + c * hardening_old / p_old))
    for _ in range(_MAX_ITERATIONS):
        if dp < _SMALLEST_INCREMENT:
            return 0.0, np.inf
        hardening = b * (p_old + dp) ** c
        slope = c * hardening / (p_old + dp)
        excess = q_trial - 3.0 * mu * dp - a - hardening
        step = excess / (3.0 * mu + slope)
        dp += step
        if abs(excess) <= _TOLERANCE * q_trial or abs(step) <= 1e-15 * dp:
            break
    return dp, slope


@_compiled
def _voce_increment(f: float, rest: float, mu: float, c: float) -> tuple[float, float]:
    """Solve f - 3 mu dp = rest (1 - exp(-dp / c)): `rest` is the hardening still to come [MPa]."""
    dp = slope = 0.0
    for _ in range(_MAX_ITERATIONS):  # convex and decreasing too: Newton's method from the left
        slope = rest / c * math.exp(-dp / c)
        step = (f - 3.0 * mu * dp + rest * math.expm1(-dp / c)) / (3.0 * mu + slope)
        dp += step
        if abs(step) <= _TOLERANCE * dp:
            break
    return dp, slope


@_compiled
def return_map(
    u: Floats, macro_strain: Floats, elements: Elements, law: J2Law, old: HistoryVariables,
    new: HistoryVariables, tangent: Floats, force: Floats, integrals: Floats,
) -> None:  # fmt: skip
    """Return mapping at all points: writes `new` and `tangent`, adds to `force` and `integrals`.

    The in-plane deviatoric `tangent` (m, q, 6) has the entries 00, 01, 02, 11, 12, 22. The
    `integrals` are those of the deviatoric stress xx, yy, zz, xy, the plastic strain xx, yy, xy,
    and 1 where p > 0.
    """
    dofs, gradients, weights = elements[:3]
    rows = np.zeros((55, BLOCK))
    x, f, g, s, t, ep = rows[:12], rows[12:24], rows[24:36], rows[36:39], rows[39:45], rows[45:48]
    p, hardening, norm, dp = rows[48], rows[49], rows[50], rows[51]
    slope, work = rows[52], rows[53:]
    for first in range(0, len(dofs), BLOCK):
        block = range(min(BLOCK, len(dofs) - first))  # the last columns of the last block are idle
        for e in block:
            for i in range(12):
                x[i, e] = u[dofs[first + e, i]]
        f[:] = 0.0
        for q in range(weights.shape[1]):
            for e in block:
                m = first + e
                for i in range(6):
                    g[2 * i, e], g[2 * i + 1, e] = gradients[m, q, i]
                p[e], hardening[e] = old.p[m, q], old.hardening[m, q]
                for i in range(3):
                    ep[i, e] = old.plastic_strain[m, q, i]
            _set_trial_deviators(x, g, macro_strain, ep, law, s, norm)
            _set_increments(norm, p, hardening, law, dp, slope, work)
            _flow(s, ep, p, hardening, norm, dp, slope, t, law)
            for e in block:
                m, w = first + e, weights[first + e, q]
                new.p[m, q], new.hardening[m, q] = p[e], hardening[e]
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
                integrals[7] += w * (p[e] > 0.0)
            for i in range(6):
                for e in range(BLOCK):
                    gx, gy = g[2 * i, e], g[2 * i + 1, e]
                    f[2 * i, e] += gx * s[0, e] + gy * s[2, e]
                    f[2 * i + 1, e] += gy * s[1, e] + gx * s[2, e]
        for e in block:
            for i in range(12):
                force[dofs[first + e, i]] += f[i, e]


@inlined
def _set_trial_deviators(
    x: Floats, g: Floats, macro_strain: Floats, ep: Floats, law: J2Law, s: Floats, norm: Floats
) -> None:
    """Write trial deviators xx, yy, xy to s (3, BLOCK) and their norms to `norm` (BLOCK,)."""
    mu = law.shear_modulus
    for i in range(3):
        s[i] = macro_strain[i]
    for i in range(6):
        for e in range(BLOCK):
            gx, gy, ux, uy = g[2 * i, e], g[2 * i + 1, e], x[2 * i, e], x[2 * i + 1, e]
            s[0, e] += gx * ux
            s[1, e] += gy * uy
            s[2, e] += gy * ux + gx * uy
    for e in range(BLOCK):
        third = (s[0, e] + s[1, e]) / 3.0
        sxx = 2.0 * mu * (s[0, e] - third - ep[0, e])
        syy = 2.0 * mu * (s[1, e] - third - ep[1, e])
        sxy = 2.0 * mu * (0.5 * s[2, e] - ep[2, e])
        s[0, e], s[1, e], s[2, e] = sxx, syy, sxy
        square = 2.0 * (sxx * sxx + syy * syy + sxx * syy + sxy * sxy)
        norm[e] = math.sqrt(square + 1e-300)  # zero would have no direction


@inlined
def _set_increments(
    norm: Floats, p: Floats, hardening: Floats, law: J2Law, dp: Floats, slope: Floats, work: Floats
) -> None:
    """Write increments of p, zero and more, and the slope of h at their ends, all (BLOCK,)."""
    # Halley's method (third order) from zero, where the power is known, until the estimated error
    # is small. `plastic_increment` gets what yields for the first time or follows another law.
    mu, _, a, b, c, voce = law
    start, h = work[0], work[1]
    for e in range(BLOCK):
        start[e] = 0.0
        h[e] = hardening[e]
        slope[e] = -1.0
    for _ in range(0 if voce else _STEPS):
        unfinished = 0
        for e in range(BLOCK):
            q_trial, end = _ROOT * norm[e], p[e] + start[e]
            slope_here = c * h[e] / end
            stiff = 3.0 * mu + slope_here
            bend = (1.0 - c) * slope_here / (end * stiff)  # second over first derivative
            step = (q_trial - 3.0 * mu * start[e] - a - h[e]) / stiff
            step /= max(0.5, 1.0 - 0.5 * bend * step)
            x = step / end
            third = bend * (0.25 * bend + (2.0 - c) / 6.0 / end)
            left = third * abs(step * step * step) * stiff  # of the yield function, estimated
            done = (left <= 0.1 * _TOLERANCE * q_trial) & (abs(x) < 1e-3)
            unfinished += (not done) & (p[e] > 0.0) & (q_trial > (a + hardening[e]) * _SURFACE)
            dp[e] = start[e] + step
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
            dp[e], slope[e] = 0.0, np.inf
        elif not slope[e] >= 0.0:
            dp[e], slope[e] = plastic_increment(q_trial, p[e], hardening[e], law)


@inlined
def _flow(
    s: Floats, ep: Floats, p: Floats, hardening: Floats, norm: Floats, dp: Floats, slope: Floats,
    t: Floats, law: J2Law,
) -> None:  # fmt: skip
    """Turn trial deviators s and history variables into those at the end; write the tangent t."""
    mu, a = law.shear_modulus, law.yield_stress
    for e in range(BLOCK):
        q_trial, flow = _ROOT * norm[e], _ROOT * dp[e]
        relief = 3.0 * mu * dp[e] / q_trial
        drop = 2.0 * mu * (3.0 * mu / (3.0 * mu + slope[e]) - relief)
        scale, elastic = 1.0 - relief, 2.0 * mu * (1.0 - relief)
        nxx, nyy, nxy = s[0, e] / norm[e], s[1, e] / norm[e], s[2, e] / norm[e]
        t[0, e] = elastic * (2.0 / 3.0) - drop * nxx * nxx
        t[1, e] = -elastic / 3.0 - drop * nxx * nyy
        t[2, e] = -drop * nxx * nxy
        t[3, e] = elastic * (2.0 / 3.0) - drop * nyy * nyy
        t[4, e] = -drop * nyy * nxy
        t[5, e] = elastic * 0.5 - drop * nxy * nxy
        p[e] += dp[e]
        hardening[e] = max(hardening[e], q_trial - 3.0 * mu * dp[e] - a)  # elastic: kept
        ep[0, e] += flow * nxx
        ep[1, e] += flow * nyy
        ep[2, e] += flow * nxy
        s[0, e] *= scale
        s[1, e] *= scale
        s[2, e] *= scale
