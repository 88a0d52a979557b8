"""J2 plasticity with isotropic hardening at the integration points, in NumPy.

The matrix yields where its von Mises stress reaches sigma_y(p) = a + h(p), with the hardening
h = b p^c (paper, section 3.2) or b (1 - exp(-p / c)) (E. Voce, J. Inst. Met. 74 (1948) 537). The
implicit Euler step from (ep_n, p_n) to the strain e is a radial return (Simo & Hughes,
Computational Inelasticity, 1998, section 3.3):

    s_tr = 2 mu (dev e - ep_n),    q_tr = sqrt(3/2) |s_tr|,    n = s_tr / |s_tr|,
    q_tr - 3 mu dp = a + h(p_n + dp),
    s = (1 - 3 mu dp / q_tr) s_tr,    ep = ep_n + sqrt(3/2) dp n,    p = p_n + dp,
    ds/de = 2 mu (1 - 3 mu dp / q_tr) dev - 2 mu (3 mu / (3 mu + h'(p)) - 3 mu dp / q_tr) n n

Strains have the components xx, yy, zz and 2 xy (engineering shear), stresses and plastic strains
xx, yy, zz and xy.
"""

from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats

IDENTITY = np.array([1.0, 1.0, 1.0, 0.0])
DEVIATORIC = np.diag([1.0, 1.0, 1.0, 0.5]) - np.outer(IDENTITY, IDENTITY) / 3  # of a strain


class Law(NamedTuple):
    """Yield stress a + h(p); a and b in MPa."""

    yield_stress: float
    hardening_coefficient: float
    hardening_exponent: float
    voce: bool = False  # whether h = b (1 - exp(-p / c)), with the characteristic strain c

    def hardening(self, p: Floats) -> Floats:
        """h(p) [MPa]."""
        _, b, c, voce = self
        return -b * np.expm1(-p / c) if voce else b * p**c

    def slope(self, p: Floats) -> Floats:
        """h'(p) [MPa], infinite at p = 0 under a power law."""
        _, b, c, voce = self
        with np.errstate(divide="ignore", invalid="ignore"):
            return b / c * np.exp(-p / c) if voce else b * c * p ** (c - 1)


class History(NamedTuple):
    """Plastic strain (..., 4) and accumulated plastic strain p (...) of points [-]."""

    plastic_strain: Floats
    p: Floats


def return_map(
    strain: Floats, old: History, mu: Floats, can_yield: Floats, law: Law
) -> tuple[Floats, Floats, History]:
    """Deviatoric stress (..., 4), tangent (..., 4, 4) [MPa] and history at strains (..., 4)."""
    trial = 2 * mu[..., None] * (strain @ DEVIATORIC - old.plastic_strain)
    norm = np.sqrt(trial**2 @ [1, 1, 1, 2]) + 1e-300  # at rest too there is an n
    q, n, dp = np.sqrt(1.5) * norm, trial / norm[..., None], np.zeros_like(norm)
    surface = (law.yield_stress + law.hardening(old.p)) * (1 + 1e-12)  # turning back is elastic
    k = can_yield & (q > surface)
    dp[k] = plastic_increment(q[k], old.p[k], np.broadcast_to(mu, q.shape)[k], law)
    new = History(old.plastic_strain + np.sqrt(1.5) * dp[..., None] * n, old.p + dp)
    relief = 3 * mu * dp / q
    drop = np.where(k, 3 * mu / (3 * mu + law.slope(new.p)) - relief, 0.0)
    tangent = (1 - relief)[..., None, None] * DEVIATORIC
    tangent -= drop[..., None, None] * n[..., :, None] * n[..., None, :]
    return (1 - relief)[..., None] * trial, 2 * mu[..., None, None] * tangent, new


def plastic_increment(q: Floats, p_old: Floats, mu: Floats, law: Law) -> Floats:
    """Increments dp > 0 with q - 3 mu dp = a + h(p_old + dp), by Newton's method."""
    dp = (q - law.yield_stress - law.hardening(p_old)) / (3 * mu)  # if nothing hardens further
    for _ in range(100):
        p = p_old + dp
        residual = q - 3 * mu * dp - law.yield_stress - law.hardening(p)
        if np.all(np.abs(residual) <= 1e-15 * q):
            break
        # As h is concave, a step ends at the root or below it: the first one maybe below zero.
        dp = np.maximum(dp + residual / (3 * mu + law.slope(p)), 1e-3 * dp)
    return dp
