"""J2 plasticity with isotropic hardening at the integration points: the return mapping.

The implicit Euler step of small-strain J2 plasticity with the yield stress a + h(p) is a radial
return (Simo & Hughes, Computational Inelasticity, 1998, section 3.3). With the deviatoric trial
stress s_tr, its von Mises stress q_tr and the flow direction n = s_tr / |s_tr|,

    q_tr - 3μ Δp = a + h(p_n + Δp),         or Δp = 0 where q_tr ≤ a + h(p_n),
    s  = (1 - 3μ Δp / q_tr) s_tr,           ε_p = ε_p,n + √(3/2) Δp n,
    ds/dε = 2μ (1 - 3μ Δp / q_tr) P - 2μ (3μ / (3μ + h'(p)) - 3μ Δp / q_tr) n n

with the deviatoric projection P. The hardening h(p) is a law of `fe_data/settings/hardening.py`.
The pressure is elastic (see `problem`). In plane strain tensors have the components xx, yy, xy;
deviators also have zz = -xx - yy.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats
from fe_data.mechanics.elements import Elements
from fe_data.settings.hardening import BLOCK, SURFACE, Hardening, law_of
from fe_data.sparse.compilation import compiled, compiled_callback, inlined

_ROOT = math.sqrt(1.5)
_compiled = compiled(error_model="numpy")


# Signatures in numba of the methods `increment` and `block_increments` of a `HardeningLaw`.
_INCREMENT = "UniTuple(float64, 2)(float64, float64, float64, float64, float64, float64[::1])"
_BLOCK_INCREMENTS = "void(float64[:, ::1], float64, float64, float64[::1])"


class J2Law(NamedTuple):
    """The law of the matrix: isotropic elasticity and the yield stress, in MPa."""

    shear_modulus: float  # μ
    bulk_modulus: float  # κ
    yield_stress: float  # initial yield stress a
    parameters: Floats  # of h, see `HardeningLaw.parameters`
    increment: Callable[..., tuple[float, float]]  # `HardeningLaw.increment`, compiled
    block_increments: Callable[..., None]  # `HardeningLaw.block_increments`, compiled


def j2_law(
    mu: float, kappa: float, a: float, b: float, c: float, hardening: Hardening = "power"
) -> J2Law:
    """Make the law of the matrix, with compiled functions of the hardening law.

    Args:
        mu: Shear modulus μ [MPa].
        kappa: Bulk modulus κ [MPa].
        a: Initial yield stress [MPa].
        b: Hardening coefficient [MPa].
        c: Hardening exponent [-].
        hardening: Name of the hardening law, or a table.

    Returns:
        The law, for the return mapping.
    """
    law = law_of(hardening)
    return J2Law(
        mu,
        kappa,
        a,
        law.parameters(b, c),
        compiled_callback(_INCREMENT, law.increment),
        compiled_callback(_BLOCK_INCREMENTS, law.block_increments),
    )


class HistoryVariables(NamedTuple):
    """History variables of m elements with q integration points each."""

    plastic_strain: Floats  # (m, q, 3) xx, yy, xy [-]
    p: Floats  # (m, q) accumulated equivalent plastic strain [-]
    # (m, q) h(p) [MPa]. If an increment of p below 1e-290 is stored as zero, its hardening is still
    # stored here.
    hardening: Floats


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
    """Do the return mapping at all integration points; results are written to the last arguments.

    Args:
        u: (n,) fluctuation.
        macro_strain: (3,) macro strain xx, yy and engineering shear xy.
        elements: The m elements of the matrix, with q points.
        law: Law of the matrix.
        old: History variables at the start of the step.
        new: Receives the history variables at the end of the step.
        tangent: (m, q, 6) receives the entries 00, 01, 02, 11, 12, 22 of the in-plane ds/dε.
        force: (n,) ∫ Gᵀ s dV is added, with the strain operator G.
        integrals: (8 or more,) integrals are added of the deviatoric stress xx, yy, zz, xy and of
            the plastic strain xx, yy, xy, and the area with p > 0.
    """
    dofs, gradients, weights = elements[:3]
    # Copy a block of elements to the columns of one array. The compiler vectorises loops over its
    # rows, but not over separate arrays, which might overlap.
    rows = np.zeros((55, BLOCK))
    x = rows[:12]  # displacements of the elements
    f = rows[12:24]  # their forces
    g = rows[24:36]  # gradients of the shape functions at a point
    s = rows[36:39]  # deviatoric stress
    t = rows[39:45]  # tangent
    ep = rows[45:48]  # plastic strain
    points = rows[48:]  # argument of `HardeningLaw.block_increments`
    p = points[0]
    hardening = points[1]
    norm = points[2]
    dp = points[3]
    slope = points[4]
    for first in range(0, len(dofs), BLOCK):
        block = range(min(BLOCK, len(dofs) - first))  # the last block may have unused columns
        for e in block:
            for i in range(12):
                x[i, e] = u[dofs[first + e, i]]
        f[:] = 0.0
        for q in range(weights.shape[1]):
            _gather(gradients, old, first, block, q, g, p, hardening, ep)
            _set_trial_deviators(x, g, macro_strain, ep, law, s, norm)
            _set_increments(points, law)
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


class Changes(NamedTuple):
    """Changes of the history variables of m elements with q points, in c columns."""

    plastic_strain: Floats  # (m, q, 3, c) xx, yy, xy [-]
    p: Floats  # (m, q, c) [-]


def differentials(
    strain: Floats,
    start: HistoryVariables,
    end: HistoryVariables,
    tangent: Floats,
    law: J2Law,
    d_strain: Floats,
    d_start: Changes,
) -> tuple[Floats, Changes]:
    """Return the changes of the end of a step that follow from changes of its strain and its start.

    With n = s_tr / |s_tr| and β = h'(p) / (3μ + h'(p)), in points that yield

        ds = ds/dε (dε - dε_p,n) + √6 μ β n dp_n,    dp = (1 - β) (dp_n + √(3/2) n : ds_tr / 3μ),

    and dε_p = dev dε - ds / 2μ. Elastic points have dp = dp_n and dε_p = dε_p,n.

    Args:
        strain: (m, q, 3) strain tensor xx, yy, xy at the end of the step.
        start: History variables at the start of the step.
        end: History variables at the end of the step.
        tangent: (m, q, 6) in-plane ds/dε, see `return_map`.
        law: Law of the matrix.
        d_strain: (m, q, 3, c) changes of the strain tensor.
        d_start: Changes of the history variables at the start.

    Returns:
        Changes of the deviatoric stress xx, yy, xy (m, q, 3, c) [MPa], and of the history variables
        at the end.
    """
    mu = law.shear_modulus
    C = tangent[..., [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
    direction = _deviator(strain[..., None]) - end.plastic_strain[..., None]
    direction /= np.sqrt(_double_contraction(direction, direction) + 1e-300)[..., None, :]
    # s = 2μ β n under a strain with the deviator n, see ds/dε above
    beta = _double_contraction(direction, C @ _strain_of(direction)) / (2 * mu)
    beta = np.where(end.p > start.p, beta[..., 0], 0.0)[..., None]
    elastic = _deviator(d_strain) - d_start.plastic_strain
    d_stress = C @ _strain_of(elastic)
    d_stress += math.sqrt(6) * mu * (beta * d_start.p)[..., None, :] * direction
    d_norm = 2 * mu * _double_contraction(direction, elastic)
    yielding = (1 - beta) * (d_start.p + _ROOT * d_norm / (3 * mu))
    dp = np.where((end.p > start.p)[..., None], yielding, d_start.p)
    return d_stress, Changes(_deviator(d_strain) - d_stress / (2 * mu), dp)


def _deviator(strain: Floats) -> Floats:
    """Return the deviator xx, yy, xy of strain tensors (..., 3, c) in plane strain."""
    third = (strain[..., 0, :] + strain[..., 1, :]) / 3
    zero = np.zeros_like(third)
    return np.asarray(strain - np.stack([third, third, zero], axis=-2))


def _strain_of(deviator: Floats) -> Floats:
    """Return strain xx, yy and engineering shear xy in plane strain, of deviators (..., 3, c)."""
    xx, yy, xy = np.moveaxis(deviator, -2, 0)
    return np.stack([2 * xx + yy, xx + 2 * yy, 2 * xy], axis=-2)


def _double_contraction(a: Floats, b: Floats) -> Floats:
    """Return the contraction a : b (..., c) of deviators with components xx, yy, xy (..., 3, c)."""
    axx, ayy, axy = np.moveaxis(a, -2, 0)
    bxx, byy, bxy = np.moveaxis(b, -2, 0)
    return np.asarray(2 * (axx * bxx + ayy * byy + axy * bxy) + axx * byy + ayy * bxx)


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
    """Copy gradients and history variables at point q of a block of elements to the columns."""
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
        norm[e] = math.sqrt(square + 1e-300)  # positive, so that a direction exists


@inlined
def _set_increments(points: Floats, law: J2Law) -> None:
    """Write increments of p (zero in elastic points) and slopes of h at their ends, for a block."""
    mu = law.shear_modulus
    a = law.yield_stress
    p, hardening, norm, dp, slope = points[0], points[1], points[2], points[3], points[4]
    law.block_increments(points, mu, a, law.parameters)
    for e in range(BLOCK):
        q_trial = _ROOT * norm[e]
        if not q_trial > (a + hardening[e]) * SURFACE:  # `not >` lets NaN through
            dp[e] = 0.0
            slope[e] = np.inf
        elif not slope[e] >= 0.0:
            dp[e], slope[e] = law.increment(q_trial, p[e], hardening[e], mu, a, law.parameters)


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
    """Update trial deviators s and history variables to the end of the step; write tangent t."""
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
        hardening[e] = max(hardening[e], q_trial - 3.0 * mu * dp[e] - a)  # unchanged if elastic
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
    """Add Gᵀ s at a point to f (12, BLOCK); s is already multiplied by the weight."""
    for i in range(6):
        for e in range(BLOCK):
            gx = g[2 * i, e]
            gy = g[2 * i + 1, e]
            f[2 * i, e] += gx * s[0, e] + gy * s[2, e]
            f[2 * i + 1, e] += gy * s[1, e] + gx * s[2, e]
