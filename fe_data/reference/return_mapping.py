"""J2 plasticity with isotropic hardening at the integration points, in NumPy.

The matrix yields where its von Mises stress reaches sigma_y(p) = a + h(p), with the hardening
h = b p^c (paper, section 3.2) or b (1 - exp(-p / c)) (E. Voce, J. Inst. Met. 74 (1948) 537). The
implicit Euler step from (ep_n, p_n) to the strain e is a radial return (Simo & Hughes,
Computational Inelasticity, 1998, section 3.3):

    s_tr = 2 mu (dev e - ep_n),    q_tr = sqrt(3/2) |s_tr|,    n = s_tr / |s_tr|,
    q_tr - 3 mu dp = a + h(p_n + dp),
    s = (1 - 3 mu dp / q_tr) s_tr,    ep = ep_n + sqrt(3/2) dp n,    p = p_n + dp,
    ds/de = 2 mu (1 - 3 mu dp / q_tr) dev - 2 mu (3 mu / (3 mu + h'(p)) - 3 mu dp / q_tr) n n

In plane strain deviators have zz = -xx - yy; strains are given as xx, yy and the engineering shear
strain 2 xy, stresses and plastic strains as xx, yy, xy.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import wrightomega

from fe_data.arrays import Floats

# Deviator xx, yy, xy of a strain xx, yy, 2 xy.
DEVIATORIC = np.array([[2 / 3, -1 / 3, 0.0], [-1 / 3, 2 / 3, 0.0], [0.0, 0.0, 1 / 2]])


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
    """Plastic strain xx, yy, xy (n, 3) and accumulated plastic strain p (n,) of n points [-]."""

    plastic_strain: Floats
    p: Floats


def return_map(
    strain: Floats, old: History, mu: Floats, can_yield: Floats, law: Law
) -> tuple[Floats, Floats, History]:
    """Deviatoric stress (n, 3) and tangent (n, 3, 3) [MPa], and the history, at strains (n, 3)."""
    trial = 2 * mu[:, None] * (strain @ DEVIATORIC - old.plastic_strain)
    xx, yy, xy = trial.T
    norm = np.sqrt(2 * (xx**2 + yy**2 + xx * yy + xy**2)) + 1e-300  # at rest too there is an n
    q, n, dp = np.sqrt(1.5) * norm, trial / norm[:, None], np.zeros_like(norm)
    surface = (law.yield_stress + law.hardening(old.p)) * (1 + 1e-12)  # turning back is elastic
    k = can_yield & (q > surface)
    dp[k] = plastic_increment(q[k], old.p[k], mu[k], law)
    new = History(old.plastic_strain + np.sqrt(1.5) * dp[:, None] * n, old.p + dp)
    relief = 3 * mu * dp / q
    drop = np.where(k, 3 * mu / (3 * mu + law.slope(new.p)) - relief, 0.0)
    tangent = (1 - relief)[:, None, None] * DEVIATORIC
    tangent -= drop[:, None, None] * n[:, :, None] * n[:, None, :]
    return (1 - relief)[:, None] * trial, 2 * mu[:, None, None] * tangent, new


def plastic_increment(q: Floats, p_old: Floats, mu: Floats, law: Law) -> Floats:
    """Increments dp > 0 with q - 3 mu dp = a + h(p_old + dp)."""
    a, b, c, voce = law
    if voce and b > 0:  # the Wright omega function solves w + log(w) = z
        start = (q - a - b) / (3 * mu)  # the increment at the largest hardening, below the root
        z = np.log(b / (3 * mu * c)) - p_old / c - start / c
        return np.asarray(start + c * wrightomega(z))
    # Newton's method for the hardening y = b p^c, since the slope by p is infinite at p = 0. The
    # function is decreasing and concave in y: from above it falls to the root, never beyond.
    p = p_old + (q - a - b * p_old**c) / (3 * mu)  # without hardening, else an upper bound
    y = np.minimum(q - a, b * p**c)
    for _ in range(100 if b > 0 else 0):
        p = (y / b) ** (1 / c)
        step = (q - 3 * mu * (p - p_old) - a - y) / (3 * mu * p / (c * y) + 1)
        y += step
        if np.all(np.abs(step) <= 1e-15 * q):
            break
    # The relief of the stress has more digits of dp, except of one that hardly relieves it.
    return np.where(p > 1e-6, (q - a - y) / (3 * mu), p - p_old)
