"""J2 plasticity with isotropic hardening at the integration points, in NumPy.

The matrix yields if its von Mises stress reaches σ_y(p) = a + h(p). The hardening h is a law of
`fe_data/settings/hardening.py`. The implicit Euler step from (ε_p,n, p_n) to the strain ε is a
radial return (Simo & Hughes, Computational Inelasticity, 1998, section 3.3):

    s_tr = 2μ (dev ε - ε_p,n),    q_tr = √(3/2) |s_tr|,    n = s_tr / |s_tr|,
    q_tr - 3μ Δp = a + h(p_n + Δp),
    s = (1 - 3μ Δp / q_tr) s_tr,    ε_p = ε_p,n + √(3/2) Δp n,    p = p_n + Δp,
    ds/dε = 2μ (1 - 3μ Δp / q_tr) dev - 2μ (3μ / (3μ + h'(p)) - 3μ Δp / q_tr) n n

Strains have the components xx, yy, zz and 2 xy (engineering shear). Stresses and plastic strains
have the components xx, yy, zz and xy.
"""

from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats
from fe_data.settings.hardening import Hardening, law_of

IDENTITY = np.array([1.0, 1.0, 1.0, 0.0])
DEVIATORIC = np.diag([1.0, 1.0, 1.0, 0.5]) - np.outer(IDENTITY, IDENTITY) / 3  # acts on a strain


class Law(NamedTuple):
    """Yield stress a + h(p); a and b in MPa.

    >>> linear = Law(yield_stress=400.0, hardening_coefficient=300.0, hardening_exponent=1.0)
    >>> linear.hardening(np.array([0.0, 0.01])), linear.slope(np.array([0.0, 0.01]))
    (array([0., 3.]), array([300., 300.]))
    """

    yield_stress: float
    hardening_coefficient: float
    hardening_exponent: float
    hardening_law: Hardening = "power"

    def hardening(self, p: Floats) -> Floats:
        """Return h(p) [MPa]."""
        a, b, c, name = self
        return law_of(name).hardening(p, a, b, c)

    def slope(self, p: Floats) -> Floats:
        """Return h'(p) [MPa]; for a power law it is infinite at p = 0."""
        a, b, c, name = self
        with np.errstate(divide="ignore", invalid="ignore"):
            return law_of(name).slope(p, a, b, c)


class History(NamedTuple):
    """Plastic strain (..., 4) and accumulated plastic strain p (...) of points [-]."""

    plastic_strain: Floats
    p: Floats


def return_map(
    strain: Floats, old: History, mu: Floats, can_yield: Floats, law: Law
) -> tuple[Floats, Floats, History]:
    """Do an implicit Euler step at many points.

    Args:
        strain: (..., 4) strain xx, yy, zz, 2 xy at the end of the step [-].
        old: History at the start of the step.
        mu: (...) shear modulus [MPa].
        can_yield: (...) mask of points in the matrix.
        law: Yield stress of the matrix.

    Returns:
        Deviatoric stress (..., 4) [MPa], its tangent (..., 4, 4) [MPa], and the history at the end
        of the step.

    Without hardening the stress stays at √(3/2) |s| = a:

    >>> shear = np.array([[0.0, 0.0, 0.0, 0.02]])
    >>> rest = History(np.zeros((1, 4)), np.zeros(1))
    >>> law = Law(300.0, 0.0, 1.0)
    >>> stress, _, new = return_map(shear, rest, np.array([4e4]), np.array([True]), law)
    >>> print((np.sqrt(3) * stress[0, 3]).round(6))
    300.0
    """
    # s_tr = 2μ (dev ε - ε_p,n),   q_tr = √(3/2) |s_tr|,   n = s_tr / |s_tr|
    trial = 2 * mu[..., None] * (strain @ DEVIATORIC - old.plastic_strain)
    norm = np.sqrt(trial**2 @ [1, 1, 1, 2]) + 1e-300  # positive, so that n exists without stress
    q = np.sqrt(1.5) * norm
    n = trial / norm[..., None]
    # q_tr - 3μ Δp = a + h(p_n + Δp) if the trial stress is beyond the yield surface. The margin
    # prevents yielding by rounding when the load reverses.
    surface = (law.yield_stress + law.hardening(old.p)) * (1 + 1e-12)
    yields = can_yield & (q > surface)
    dp = np.zeros_like(norm)
    mu_yielding = np.broadcast_to(mu, q.shape)[yields]
    dp[yields] = plastic_increment(q[yields], old.p[yields], mu_yielding, law)
    # ε_p = ε_p,n + √(3/2) Δp n,   p = p_n + Δp
    new = History(old.plastic_strain + np.sqrt(1.5) * dp[..., None] * n, old.p + dp)
    # s = (1 - 3μ Δp / q_tr) s_tr
    relief = 3 * mu * dp / q
    stress = (1 - relief)[..., None] * trial
    # ds/dε = 2μ (1 - 3μ Δp / q_tr) dev - 2μ (3μ / (3μ + h') - 3μ Δp / q_tr) n n
    drop = np.where(yields, 3 * mu / (3 * mu + law.slope(new.p)) - relief, 0.0)
    tangent = (1 - relief)[..., None, None] * DEVIATORIC
    tangent -= drop[..., None, None] * n[..., :, None] * n[..., None, :]
    return stress, 2 * mu[..., None, None] * tangent, new


def plastic_increment(q: Floats, p_old: Floats, mu: Floats, law: Law) -> Floats:
    """Solve q - 3μ Δp = a + h(p_old + Δp) for Δp > 0, by Newton's method between bounds."""
    low = np.zeros_like(q)
    high = (q - law.yield_stress - law.hardening(p_old)) / (3 * mu)  # solution without hardening
    dp = high
    for _ in range(100):
        p = p_old + dp
        residual = q - 3 * mu * dp - law.yield_stress - law.hardening(p)
        if np.all(np.abs(residual) <= 1e-15 * q):
            break
        low = np.where(residual > 0, dp, low)
        high = np.where(residual < 0, dp, high)
        # Δp ← Δp + residual / (3μ + h'). If h is concave, a step ends at the root or below it, and
        # the first step may end below zero. Otherwise bisection is used if steps leave the bounds.
        dp = np.maximum(dp + residual / (3 * mu + law.slope(p)), 1e-3 * dp)
        dp = np.where((low <= dp) & (dp <= high), dp, (low + high) / 2)
    return dp
