"""Effective properties of a cell from its volume-averaged curves (paper, section 3.2)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from fe_data.errors import FitError

ELASTIC_YIELDED_FRACTION = 0.01  # increments with less yielded volume count as elastic
_POOR_FIT = 0.02  # relative residual above which a fit is reported as poor


@dataclass(frozen=True)
class Effective:
    """Effective properties and how well they describe the averaged curves."""

    b_eff_MPa: float
    c_eff: float
    E_eff_GPa: float
    nu_eff: float
    hardening_residual: float  # root mean square misfit of the power law over its mean stress [-]
    elastic_spread: float  # largest deviation of E over the elastic increments [-]
    warning: str  # empty when both fits are good


def von_mises(stress: np.ndarray) -> np.ndarray:
    """Von Mises stress of (..., 4) components xx, yy, zz, xy."""
    xx, yy, zz, xy = np.moveaxis(stress, -1, 0)
    return np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * xy**2)


def equivalent_strain(strain: np.ndarray) -> np.ndarray:
    """sqrt(2/3 e : e) of (..., 4) traceless tensor components xx, yy, zz, xy."""
    xx, yy, zz, xy = np.moveaxis(strain, -1, 0)
    return np.sqrt(2 / 3 * (xx**2 + yy**2 + zz**2 + 2 * xy**2))


def elastic_constants(strain: np.ndarray, stress: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Young's modulus and Poisson ratio of isotropic Hooke's law in plane strain.

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


def fit_power_law(mises: np.ndarray, plastic: np.ndarray, a: float) -> tuple[float, float, float]:
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

    def misfit(x):
        return x[0] * np.exp(x[1] * log_p) - excess

    def gradient(x):
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


def extract(history: dict[str, np.ndarray], a: float) -> Effective:
    """Effective properties from the averages at every increment.

    Args:
        history: strain, stress [MPa], plastic_strain (n + 1, 4) and yielded_fraction (n + 1,); the
            first row is the unloaded state.
        a: Initial yield stress of the power law [MPa].

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
    return Effective(
        b, c, float(E.mean()) / 1e3, float(nu.mean()), residual, spread, "; ".join(poor)
    )
