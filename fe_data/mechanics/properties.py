"""Effective properties of a volume element from its volume averages (paper, section 3.2)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from fe_data.arrays import Floats
from fe_data.errors import FitError

ELASTIC_YIELDED_FRACTION = 0.01  # increments with less yielded volume count as elastic
_POOR_FIT = 0.02  # relative residual above which a fit is reported as poor


@dataclass(frozen=True)
class EffectiveProperties:
    """Effective properties and how well they describe the averaged curves.

    Attributes:
        b_eff_MPa: Hardening coefficient [MPa].
        c_eff: Hardening exponent [-].
        E_eff_GPa: Young's modulus [GPa].
        nu_eff: Poisson's ratio [-].
        hardening_residual: Root mean square misfit of the power law over its mean stress [-].
        elastic_spread: Largest relative deviation of E from its mean over elastic increments [-].
        warning: What is poor about the fits; empty when both are good.
    """

    b_eff_MPa: float
    c_eff: float
    E_eff_GPa: float
    nu_eff: float
    hardening_residual: float
    elastic_spread: float
    warning: str


def von_mises(stress: Floats) -> Floats:
    """Von Mises stress of (..., 4) components xx, yy, zz, xy."""
    xx, yy, zz, xy = np.moveaxis(stress, -1, 0)
    mises: Floats = np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * xy**2)
    return mises


def equivalent_strain(strain: Floats) -> Floats:
    """sqrt(2/3 e : e) of (..., 4) traceless tensor components xx, yy, zz, xy."""
    xx, yy, zz, xy = np.moveaxis(strain, -1, 0)
    equivalent: Floats = np.sqrt(2 / 3 * (xx**2 + yy**2 + zz**2 + 2 * xy**2))
    return equivalent


def elastic_constants(strain: Floats, stress: Floats) -> tuple[Floats, Floats]:
    """Young's modulus and Poisson's ratio of isotropic Hooke's law in plane strain (e_zz = 0).

    (1 + nu) / E = e_xx / (s_xx - s_zz) and E e_zz = 0 = s_zz - nu (s_xx + s_yy) give both.

    Args:
        strain: (n, 4) averages xx, yy, zz, xy [-].
        stress: (n, 4) averages xx, yy, zz, xy [MPa].

    Returns:
        E [MPa] and nu [-], (n,) each.
    """
    total = strain[:, 0] + strain[:, 1]
    ratio = strain[:, 0] / (stress[:, 0] - stress[:, 2])  # (1 + nu) / E
    E = (3 * stress[:, 2] + total / ratio) / (total + 2 * ratio * stress[:, 2])
    return E, E * ratio - 1


def fit_power_law(mises: Floats, plastic: Floats, a: float) -> tuple[float, float, float]:
    """Least-squares fit of sigma = a + b p^c with b, c >= 0 to the points at or above a.

    Args:
        mises: (n,) von Mises stress of the averages [MPa].
        plastic: (n,) equivalent of the averaged plastic strain [-].
        a: Initial yield stress [MPa].

    Returns:
        b [MPa], c [-] and the root mean square misfit over the mean stress [-].

    Raises:
        FitError: If fewer than three points have a stress of at least a and a plastic strain.
    """
    used = (mises >= a) & (plastic > 0)
    if np.count_nonzero(used) < 3:
        raise FitError(
            f"only {np.count_nonzero(used)} increments reach {a:g} MPa with a plastic strain, "
            "of at least 3: no hardening curve to fit"
        )
    excess, log_p = mises[used] - a, np.log(plastic[used])

    def misfit(x: Floats) -> Floats:
        difference: Floats = x[0] * np.exp(x[1] * log_p) - excess
        return difference

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
    start = [max(b, 1e-9), c]
    tight = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    fit = least_squares(
        misfit, start, gradient, bounds=([0, 0], np.inf), x_scale=[100.0, 0.1], **tight
    )
    residual = np.sqrt(np.mean(fit.fun**2)) / np.mean(mises[used])
    return float(fit.x[0]), float(fit.x[1]), float(residual)


def effective_properties(history: dict[str, Floats], a: float) -> EffectiveProperties:
    """Effective properties from the volume averages at every increment.

    Args:
        history: strain, stress [MPa], plastic_strain (n + 1, 4) and yielded_fraction (n + 1,), see
            `load_stepping.EquilibriumPath`.
        a: Initial yield stress of the power law [MPa].

    Returns:
        The properties.

    Raises:
        FitError: If no increment is elastic, or too few are plastic.
    """
    elastic = history["yielded_fraction"] < ELASTIC_YIELDED_FRACTION
    elastic[0] = False
    if not elastic.any():
        raise FitError(
            f"no increment has less than {ELASTIC_YIELDED_FRACTION:.0%} of the volume yielded: "
            "take more or smaller increments"
        )
    E, nu = elastic_constants(history["strain"][elastic], history["stress"][elastic])
    mises, plastic = von_mises(history["stress"]), equivalent_strain(history["plastic_strain"])
    b, c, residual = fit_power_law(mises[1:], plastic[1:], a)
    spread = float(np.abs(E / E.mean() - 1).max())
    poor = []
    if residual > _POOR_FIT:
        poor.append(f"power-law misfit {residual:.1%}")
    if spread > _POOR_FIT:
        poor.append(f"E varies by {spread:.1%} over the elastic increments")
    return EffectiveProperties(
        b, c, float(E.mean()) / 1e3, float(nu.mean()), residual, spread, "; ".join(poor)
    )
