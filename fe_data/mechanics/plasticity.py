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
    q_trial: float, p_old: float, hardening_old: float, guess: float, law: J2Law
) -> tuple[float, float]:
    """Solve q_trial - 3 mu dp = a + h(p_old + dp): dp > 0 and the slope of h at its end [MPa]."""
    # With h = b p^c the left side minus the right is convex and decreasing in dp: a step of
    # Newton's method from anywhere ends left of the root, and further steps approach the root
    # without overshooting. The method is slow near the infinite slope at p = 0 (c < 1), where
    # `_left_of_root` replaces a step that ends far left. Near the root, Halley's method (third
    # order) needs fewer powers, and its error bound ends the iteration without another evaluation.
    mu, _, a, b, c, voce = law
    f = q_trial - a - hardening_old
    if b == 0.0:
        return f / (3.0 * mu), 0.0
    if voce:
        return _voce_increment(f, b * math.exp(-p_old / c), mu, c)
    if p_old > 0.0:  # Halley's step from there takes no power
        slope = c * hardening_old / p_old
        stiff = 3.0 * mu + slope
        dp = f / stiff
        if dp < 0.3 * p_old:
            guess = dp / (1.0 - 0.5 * (1.0 - c) * slope / (p_old * stiff) * dp)
    dp = guess if guess > 0.0 else _left_of_root(f, p_old, hardening_old, law)
    for _ in range(_MAX_ITERATIONS):
        if dp < _SMALLEST_INCREMENT:
            return 0.0, np.inf
        p = p_old + dp
        hardening = b * p**c
        excess = q_trial - 3.0 * mu * dp - a - hardening
        per_p = 1.0 / p
        slope = c * hardening * per_p
        stiff = 3.0 * mu + slope
        if abs(excess) <= _TOLERANCE * q_trial:
            return dp + excess / stiff, slope
        per_stiff = 1.0 / stiff
        before, step = dp, excess * per_stiff
        x = step * per_p
        bend = (1.0 - c) * slope * per_p * per_stiff  # second over first derivative
        if abs(bend * step) < 0.1 and abs(x) < 0.1:
            step /= 1.0 - 0.5 * bend * step
            dp += step
            x = step * per_p
            third = bend * (0.25 * bend + (2.0 - c) / 6.0 * per_p)
            left = third * abs(step * step * step) * stiff
            if left <= 0.1 * _TOLERANCE * q_trial and abs(x) < 1e-3:
                return dp, slope * (1.0 + (c - 1.0) * x * (1.0 + 0.5 * (c - 2.0) * x))
        else:
            dp += step
        if abs(dp - before) <= 1e-15 * dp:
            break
        if not 0.25 * before < dp < 4.0 * before:
            dp = max(dp, _left_of_root(f, p_old, hardening_old, law))
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
def _left_of_root(f: float, p_old: float, hardening_old: float, law: J2Law) -> float:
    """An increment below the root, at which 3 mu dp and hardening each use at most f / 2 [-]."""
    mu, _, _, b, c, _ = law
    relief = f / (6.0 * mu)
    by_hardening: float = ((hardening_old + 0.5 * f) / b) ** (1.0 / c) - p_old
    if p_old == 0.0:  # hardening_old may still be positive, see `HistoryVariables`
        return min(relief, by_hardening)
    first = f / (3.0 * mu + c * hardening_old / p_old)
    return max(min(relief, by_hardening), first)


@_compiled
def return_map(
    u: Floats, macro_strain: Floats, elements: Elements, law: J2Law, old: HistoryVariables,
    new: HistoryVariables, increment: Floats, tangent: Floats, force: Floats, integrals: Floats,
) -> None:  # fmt: skip
    """Return mapping at all points: writes `new` and `tangent`, adds to `force` and `integrals`.

    `increment` (m, q) is the last increment of p, where the iteration starts; the in-plane
    deviatoric `tangent` (m, q, 6) has the entries 00, 01, 02, 11, 12, 22. The `integrals` are those
    of the deviatoric stress xx, yy, zz, xy, the plastic strain xx, yy, xy, and 1 where p > 0.
    """
    dofs, gradients, weights = elements[:3]
    (ep_old, p_old, hardening_old), (ep, p, hardening) = old, new
    mu = law.shear_modulus
    x, f = np.empty(12), np.empty(12)
    for m in range(dofs.shape[0]):
        for i in range(12):
            x[i] = u[dofs[m, i]]
        f[:] = 0.0
        for q in range(weights.shape[1]):
            exx, eyy, gxy = _strain(gradients[m, q], x, macro_strain)
            third = (exx + eyy) / 3.0
            sxx = 2.0 * mu * (exx - third - ep_old[m, q, 0])
            syy = 2.0 * mu * (eyy - third - ep_old[m, q, 1])
            sxy = 2.0 * mu * (0.5 * gxy - ep_old[m, q, 2])
            dp, hardening[m, q], scale, drop, nxx, nyy, nxy = _radial_return(
                sxx, syy, sxy, p_old[m, q], hardening_old[m, q], increment[m, q], law
            )
            if dp > 0.0:
                increment[m, q] = dp
            p[m, q] = p_old[m, q] + dp
            ep[m, q, 0] = ep_old[m, q, 0] + _ROOT * dp * nxx
            ep[m, q, 1] = ep_old[m, q, 1] + _ROOT * dp * nyy
            ep[m, q, 2] = ep_old[m, q, 2] + _ROOT * dp * nxy
            _set_tangent(tangent[m, q], 2.0 * mu * scale, 2.0 * mu * drop, nxx, nyy, nxy)
            w = weights[m, q]
            sxx, syy, sxy = w * scale * sxx, w * scale * syy, w * scale * sxy
            _add_deviator(gradients[m, q], sxx, syy, sxy, f, integrals)
            for i in range(3):
                integrals[4 + i] += w * ep[m, q, i]
            if p[m, q] > 0.0:
                integrals[7] += w
        for i in range(12):
            force[dofs[m, i]] += f[i]


@inlined
def _strain(gradients: Floats, x: Floats, macro_strain: Floats) -> tuple[float, float, float]:
    """Strain xx, yy, engineering xy at a point with the shape functions' gradients (6, 2)."""
    exx, eyy, gxy = macro_strain[0], macro_strain[1], macro_strain[2]
    for i in range(6):
        gx, gy = gradients[i, 0], gradients[i, 1]
        exx += gx * x[2 * i]
        eyy += gy * x[2 * i + 1]
        gxy += gy * x[2 * i] + gx * x[2 * i + 1]
    return exx, eyy, gxy


@inlined
def _add_deviator(
    gradients: Floats, sxx: float, syy: float, sxy: float, f: Floats, integrals: Floats
) -> None:
    """Add a weighted deviatoric stress xx, yy, xy to the force f (12,) and to the integrals."""
    for i in range(6):
        gx, gy = gradients[i, 0], gradients[i, 1]
        f[2 * i] += gx * sxx + gy * sxy
        f[2 * i + 1] += gy * syy + gx * sxy
    integrals[0] += sxx
    integrals[1] += syy
    integrals[2] -= sxx + syy
    integrals[3] += sxy


@_compiled
def _radial_return(
    sxx: float, syy: float, sxy: float, p_old: float, hardening_old: float, guess: float, law: J2Law
) -> tuple[float, float, float, float, float, float, float]:
    """dp, h(p), 1 - 3 mu dp / q_tr, the factor of -2 mu n n, and n, for a trial deviator."""
    norm = math.sqrt(2.0 * (sxx * sxx + syy * syy + sxx * syy + sxy * sxy))
    q_trial = _ROOT * norm
    mu, a = law.shear_modulus, law.yield_stress
    if not q_trial > (a + hardening_old) * _SURFACE:  # `not >` lets NaN through
        return 0.0, hardening_old, 1.0, 0.0, 0.0, 0.0, 0.0
    dp, slope = plastic_increment(q_trial, p_old, hardening_old, guess, law)
    scale = 1.0 - 3.0 * mu * dp / q_trial
    drop = 3.0 * mu / (3.0 * mu + slope) - (1.0 - scale)
    return dp, q_trial - 3.0 * mu * dp - a, scale, drop, sxx / norm, syy / norm, sxy / norm


@inlined
def _set_tangent(
    tangent: Floats, elastic: float, plastic: float, nxx: float, nyy: float, nxy: float
) -> None:
    """Set 00, 01, 02, 11, 12, 22 of elastic P - plastic n n, for engineering shear."""
    tangent[0] = elastic * (2.0 / 3.0) - plastic * nxx * nxx
    tangent[1] = -elastic / 3.0 - plastic * nxx * nyy
    tangent[2] = -plastic * nxx * nxy
    tangent[3] = elastic * (2.0 / 3.0) - plastic * nyy * nyy
    tangent[4] = -plastic * nyy * nxy
    tangent[5] = elastic * 0.5 - plastic * nxy * nxy
