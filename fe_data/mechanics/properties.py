"""Elastic moduli, and effective properties from volume averages (paper, section 3.2)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from fe_data.arrays import Floats
from fe_data.errors import FitError

ELASTIC_YIELDED_FRACTION = 0.01  # increments with less yielded volume count as elastic
_POOR_FIT = 0.02  # relative deviation above which a fit is reported as poor
# With a smaller exponent, or a smaller coefficient over a, a curve does not harden.
_LEAST_EXPONENT, _LEAST_HARDENING = 1e-3, 1e-6


class Moduli(NamedTuple):
    """Shear modulus mu and bulk modulus kappa of an isotropic material, in the same unit."""

    shear: float
    bulk: float


@dataclass(frozen=True)
class EffectiveProperties:
    """Effective properties and how well they describe the averaged curves."""

    b_eff_MPa: float  # hardening coefficient
    c_eff: float  # hardening exponent
    E_eff_GPa: float
    nu_eff: float
    hardening_residual: float  # root mean square misfit of the power law over its mean stress
    elastic_spread: float  # largest relative deviation of E from its mean over elastic increments
    warning: str  # what is poor about the fits; empty when both are good


def moduli(E: float, nu: float) -> Moduli:
    """Shear and bulk modulus, in the unit of Young's modulus E, for Poisson's ratio nu."""
    return Moduli(E / (2 * (1 + nu)), E / (3 * (1 - 2 * nu)))


def von_mises(stress: Floats) -> Floats:
    """Von Mises stress of (..., 4) components xx, yy, zz, xy."""
    xx, yy, zz, xy = np.moveaxis(stress, -1, 0)
    mises: Floats = np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * xy**2)
    return mises


def equivalent_strain(strain: Floats) -> Floats:
    """sqrt(2/3 e : e) of (..., 4) traceless tensor components xx, yy, zz, xy."""
    xx, yy, zz, xy = np.moveaxis(strain, -1, 0)
    return np.asarray(np.sqrt(2 / 3 * (xx**2 + yy**2 + zz**2 + 2 * xy**2)))


def elastic_constants(strain: Floats, stress: Floats) -> tuple[Floats, Floats]:
    """E [MPa] and nu (n,) of isotropic Hooke's law in plane strain, from averages (n, 4)."""
    # (1 + nu) / E = e_xx / (s_xx - s_zz) and E e_zz = 0 = s_zz - nu (s_xx + s_yy) give both.
    total = strain[:, 0] + strain[:, 1]
    ratio = strain[:, 0] / (stress[:, 0] - stress[:, 2])  # (1 + nu) / E
    E = (3 * stress[:, 2] + total / ratio) / (total + 2 * ratio * stress[:, 2])
    return E, E * ratio - 1


def fit_power_law(mises: Floats, plastic: Floats, a: float) -> tuple[float, float, float]:
    """Least-squares b, c >= 0 of sigma = a + b p^c at or above a, and the misfit over the mean."""
    used = (mises >= a) & (plastic > 0)
    if (count := np.count_nonzero(used)) < 3:
        raise FitError(
            f"only {count} increments reach {a:g} MPa with a plastic strain, of at least 3: "
            "no hardening curve to fit"
        )
    excess, log_p = mises[used] - a, np.log(plastic[used])

    def gradient(x: Floats) -> Floats:
        power = np.exp(x[1] * log_p)
        return np.column_stack([power, x[0] * power * log_p])

    # For a given exponent the best coefficient is known: start at the best of a grid.
    trials = []
    for c in np.linspace(0.01, 1.0, 34):
        power = np.exp(c * log_p)
        b = max(excess @ power / (power @ power), 0.0)
        trials.append((np.sum((b * power - excess) ** 2), b, c))
    _, b, c = min(trials)
    fit = least_squares(
        lambda x: x[0] * np.exp(x[1] * log_p) - excess, [max(b, 1e-9), c], gradient,
        bounds=([0, 0], np.inf), x_scale=[100.0, 0.1], xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    residual = np.sqrt(np.mean(fit.fun**2)) / np.mean(mises[used])
    return float(fit.x[0]), float(fit.x[1]), float(residual)


def elastic_increments(history: dict[str, Floats]) -> NDArray[np.bool_]:
    """Which increments of a history count as elastic, (increments + 1,)."""
    elastic: NDArray[np.bool_] = history["yielded_fraction"] < ELASTIC_YIELDED_FRACTION
    elastic[0] = False  # at rest
    return elastic


def effective_properties(
    history: dict[str, Floats], a: float, elastic_history: dict[str, Floats]
) -> EffectiveProperties:
    """Effective properties from the yield stress a and two histories: of the curve and of E, nu."""
    elastic = elastic_increments(elastic_history)
    E, nu = elastic_constants(*(elastic_history[name][elastic] for name in ("strain", "stress")))
    mises, plastic = von_mises(history["stress"]), equivalent_strain(history["plastic_strain"])
    b, c, residual = fit_power_law(mises[1:], plastic[1:], a)
    spread = float(np.abs(E / E.mean() - 1).max())
    poor = []
    if residual > _POOR_FIT:
        poor.append(f"power-law misfit {residual:.1%}")
    if spread > _POOR_FIT:
        poor.append(f"E varies by {spread:.1%} over the elastic increments")
    if c < _LEAST_EXPONENT or b < _LEAST_HARDENING * a:
        poor.append("the averaged curve does not harden, c_eff means nothing")
    return EffectiveProperties(
        b, c, float(E.mean()) / 1e3, float(nu.mean()), residual, spread, "; ".join(poor)
    )
