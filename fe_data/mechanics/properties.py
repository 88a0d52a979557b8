"""Elastic moduli, and effective properties from volume averages (paper, section 3.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from fe_data.arrays import Floats
from fe_data.errors import FitError

ELASTIC_YIELDED_FRACTION = 0.01  # increments with a smaller yielded volume count as elastic
_POOR_FIT = 0.02  # a larger relative deviation of a fit causes a warning
# A larger relative difference between E_eff and the modulus across the fibres causes a warning.
# With inputs and settings of the paper it is at most 3.2 % (docs/rve_model.md).
_MISLEADING_MODULUS = 0.035
# A larger relative change of b without the last half of the increments causes a warning that b and
# c are extrapolated, because b is the hardening at a plastic strain of 1.
_UNSTABLE = 0.2
# A curve with a smaller exponent, or a smaller ratio b / a, does not harden.
_LEAST_EXPONENT = 1e-3
_LEAST_HARDENING = 1e-6


class Moduli(NamedTuple):
    """Shear modulus μ and bulk modulus κ of an isotropic material, in the same unit."""

    shear: float
    bulk: float


@dataclass(frozen=True)
class EffectiveProperties:
    """Effective properties and how well they describe the averaged curves.

    No power law is fitted to a curve with fewer than three increments above the initial yield
    stress. Then b_eff_MPa, c_eff and hardening_residual are NaN, and the warning says why.
    """

    b_eff_MPa: float  # hardening coefficient
    c_eff: float  # hardening exponent
    E_eff_GPa: float
    nu_eff: float
    hardening_residual: float  # root mean square residual of the power law / mean stress
    elastic_spread: float  # largest relative deviation of E from its mean over elastic increments
    elastic_misfit: float  # error of the stress yy by isotropic Hooke's law / stress xx
    transverse_modulus_GPa: float  # Young's modulus across the fibres, for comparison with E_eff
    warning: str  # what is poor about the fits; empty if they are good

    @property
    def is_fitted(self) -> bool:
        """Whether a power law could be fitted to the curve."""
        return not math.isnan(self.b_eff_MPa)


def moduli(E: float, nu: float) -> Moduli:
    """Return the shear and bulk modulus of an isotropic material.

    Args:
        E: Young's modulus, in any unit.
        nu: Poisson's ratio [-].

    Returns:
        Both moduli, in the unit of E.

    >>> moduli(150.0, 0.25)
    Moduli(shear=60.0, bulk=100.0)
    """
    # μ = E / 2(1 + ν),   κ = E / 3(1 - 2ν)
    return Moduli(E / (2 * (1 + nu)), E / (3 * (1 - 2 * nu)))


def von_mises(stress: Floats) -> Floats:
    """Return the von Mises stress √(3/2 s : s), with the deviator s.

    Args:
        stress: (..., 4) components xx, yy, zz, xy, or (..., 6) with xz and yz.

    Returns:
        The von Mises stress (...), in the same unit.

    >>> print(von_mises(np.array([400.0, 0.0, 0.0, 0.0])))
    400.0
    """
    xx, yy, zz, xy, *along = np.moveaxis(stress, -1, 0)
    shear = xy**2
    for component in along:
        shear = shear + component**2
    mises: Floats = np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * shear)
    return mises


def overstressed_fraction(
    stresses: Sequence[Floats], weights: Sequence[Floats], threshold: float
) -> float:
    """Return p_sigma: area fraction of the fibres with a von Mises stress above a threshold.

    Args:
        stresses: Stress of the fibres [MPa], arrays (m, q, 4) or (m, q, 6).
        weights: Integration weights of the fibres, arrays (m, q).
        threshold: Threshold [MPa].

    Returns:
        The fraction [-], 0 if there are no fibres.

    >>> stress = np.array([[[900.0, 0.0, 0.0, 0.0], [100.0, 0.0, 0.0, 0.0]]])
    >>> overstressed_fraction([stress], [np.array([[0.03, 0.01]])], 500.0)
    0.75
    """
    if not stresses:
        return 0.0
    mises = np.concatenate([von_mises(stress).ravel() for stress in stresses])
    areas = np.concatenate([weight.ravel() for weight in weights])
    return float(areas[mises > threshold].sum() / areas.sum()) if areas.size else 0.0


def equivalent_strain(strain: Floats) -> Floats:
    """Return the equivalent strain √(2/3 ε : ε).

    Args:
        strain: (..., 4) components xx, yy, zz, xy of a tensor, or (..., 6) with xz and yz.

    Returns:
        The equivalent strain (...).

    >>> print(equivalent_strain(np.array([0.02, -0.01, -0.01, 0.0])))
    0.02
    """
    xx, yy, zz, xy, *along = np.moveaxis(strain, -1, 0)
    shear = xy**2
    for component in along:
        shear = shear + component**2
    return np.asarray(np.sqrt(2 / 3 * (xx**2 + yy**2 + zz**2 + 2 * shear)))


def elastic_constants(strain: Floats, stress: Floats) -> tuple[Floats, Floats]:
    """Return the constants of isotropic Hooke's law in plane strain.

    Args:
        strain: (n, 4) mean strains xx, yy, zz, xy [-].
        stress: (n, 4) mean stresses [MPa].

    Returns:
        Young's modulus (n,) [MPa] and Poisson's ratio (n,).

    >>> strain = np.array([[1e-3, 0.0, 0.0, 0.0]])
    >>> stress = np.array([[120.0, 40.0, 40.0, 0.0]])  # λ = μ = 40 GPa
    >>> elastic_constants(strain, stress)
    (array([100000.]), array([0.25]))
    """
    # As ε_zz = 0, 2μ = (σ_xx - σ_zz) / ε_xx and λ = σ_zz / (ε_xx + ε_yy), without σ_yy. Then
    #     E = μ (3λ + 2μ) / (λ + μ),   ν = E / 2μ - 1
    total = strain[:, 0] + strain[:, 1]
    ratio = strain[:, 0] / (stress[:, 0] - stress[:, 2])  # 1 / 2μ
    E = (3 * stress[:, 2] + total / ratio) / (total + 2 * ratio * stress[:, 2])
    return E, E * ratio - 1


def hooke_misfit(strain: Floats, stress: Floats) -> Floats:
    """Return the error of the stress yy by Hooke's law with the constants of `elastic_constants`.

    A composite of aligned fibres is stiffer along the fibres than across them, so an isotropic law
    cannot describe all averages.

    Args:
        strain: (n, 4) mean strains xx, yy, zz, xy [-].
        stress: (n, 4) mean stresses, in any unit.

    Returns:
        Absolute error of the stress yy divided by the stress xx (n,) [-].

    >>> strain = np.array([[1e-3, 0.0, 0.0, 0.0]])
    >>> hooke_misfit(strain, np.array([[120.0, 40.0, 40.0, 0.0]]))  # λ = μ = 40 GPa
    array([0.])
    >>> hooke_misfit(strain, np.array([[120.0, 40.0, 52.0, 0.0]]))
    array([0.1])
    """
    # σ_yy = λ (ε_xx + ε_yy) + 2μ ε_yy = σ_zz + (σ_xx - σ_zz) ε_yy / ε_xx
    xx, yy, zz, _ = stress.T
    predicted = zz + (xx - zz) * strain[:, 1] / strain[:, 0]
    return np.asarray(np.abs((predicted - yy) / xx))


def transverse_modulus(strain: Floats, stress: Floats, axial: float) -> Floats:
    """Return Young's modulus across aligned fibres, from averages under stress xx in plane strain.

    Args:
        strain: (n, 4) mean strains xx, yy, zz, xy [-].
        stress: (n, 4) mean stresses; yy and xy must be zero.
        axial: Young's modulus along the fibres, in the unit of the stress.

    Returns:
        The modulus (n,), in the unit of the stress.

    >>> strain = np.array([[0.9, -0.4, 0.0, 0.0]])
    >>> transverse_modulus(strain, np.array([[100.0, 0.0, 30.0, 0.0]]), axial=90.0)
    array([100.])
    """
    # ε_zz = 0 = (σ_zz - ν_L σ_xx) / E_L,   ε_xx = σ_xx / E_T - ν_L σ_zz / E_L. Then
    #     1 / E_T = ε_xx / σ_xx + (σ_zz / σ_xx)² / E_L
    xx, _, zz, _ = stress.T
    return np.asarray(1 / (strain[:, 0] / xx + (zz / xx) ** 2 / axial))


def fit_power_law(mises: Floats, plastic: Floats, a: float) -> tuple[float, float, float]:
    """Fit σ = a + b p^c by least squares.

    Args:
        mises: (n,) von Mises stress σ of the mean stress [MPa].
        plastic: (n,) equivalent p of the mean plastic strain [-].
        a: Initial yield stress [MPa]. Points below it, or without plastic strain, are not used.

    Returns:
        b ≥ 0 [MPa], c ≥ 0 [-], and the root mean square residual divided by the mean stress.

    Raises:
        FitError: If fewer than three points can be used, or a is infinite.

    >>> p = np.linspace(0.001, 0.05, 50)
    >>> b, c, misfit = fit_power_law(400 + 500 * p**0.3, p, 400.0)
    >>> print(f"{b:.3f} {c:.5f}")
    500.000 0.30000
    """
    used = (mises >= a) & (plastic > 0)
    count = np.count_nonzero(used)
    if a == np.inf:
        raise FitError("the law of the matrix has no initial yield stress: no power law is fitted")
    if count < 3:
        reached = ("no increment reaches", "only 1 increment reaches", "only 2 increments reach")
        raise FitError(
            f"{reached[count]} {a:g} MPa with a plastic strain: at least 3 are needed to fit the "
            "hardening curve"
        )
    excess = mises[used] - a
    log_p = np.log(plastic[used])

    def residual(x: Floats) -> Floats:
        return np.asarray(x[0] * np.exp(x[1] * log_p) - excess)

    def jacobian(x: Floats) -> Floats:
        power = np.exp(x[1] * log_p)
        return np.column_stack([power, x[0] * power * log_p])

    b, c = _best_on_a_grid(excess, log_p)
    fit = least_squares(
        residual,
        [max(b, 1e-9), c],
        jacobian,
        bounds=([0, 0], np.inf),
        x_scale=[100.0, 0.1],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    misfit = np.sqrt(np.mean(fit.fun**2)) / np.mean(mises[used])
    return float(fit.x[0]), float(fit.x[1]), float(misfit)


def _best_on_a_grid(excess: Floats, log_p: Floats) -> tuple[float, float]:
    """Return the best of some exponents c with its best b, as initial guess of the fit."""
    trials = []
    for c in np.linspace(0.01, 1.0, 34):
        power = np.exp(c * log_p)
        # b = (σ - a)ᵀ p^c / |p^c|²
        b = max(excess @ power / (power @ power), 0.0)
        trials.append((np.sum((b * power - excess) ** 2), b, c))
    _, b, c = min(trials)
    return b, c


def _extrapolation(mises: Floats, plastic: Floats, a: float, b: float) -> list[str]:
    """Return a warning if the first half of the curve has a different b, else an empty list."""
    half = len(mises) // 2
    until = f"they are extrapolated from plastic strains up to {plastic.max():.2g}"
    warning = f"b_eff and c_eff are unreliable, use the curve: {until}"
    try:
        ratio = fit_power_law(mises[:half], plastic[:half], a)[0] / b
    except FitError:
        return [f"{warning}; the first half of the increments is too elastic to fit"]
    if abs(ratio - 1) <= _UNSTABLE:
        return []
    return [
        f"{warning}; a fit to the first half of the increments has {ratio:.3g} times this b_eff"
    ]


def elastic_increments(history: dict[str, Floats]) -> NDArray[np.bool_]:
    """Return the mask (increments + 1,) of the elastic increments of a history."""
    elastic: NDArray[np.bool_] = history["yielded_fraction"] < ELASTIC_YIELDED_FRACTION
    elastic[0] = False  # the initial state, without stress
    return elastic


def _poor_modulus(E: float, across: float, misfit: float) -> list[str]:
    """Return a warning if E_eff is not the modulus `across` the fibres along x, or fits poorly."""
    difference = E / across - 1
    modulus = f"the modulus along x, across the fibres, {across / 1e3:.4g} GPa"
    use = modulus
    reasons = []
    if abs(difference) > _MISLEADING_MODULUS:
        side = "above" if difference > 0 else "below"
        reasons.append(f"E_eff is {abs(difference):.1%} {side} {modulus}")
        use = "that modulus"
    if misfit > _POOR_FIT:
        reasons.append(f"the fit of E_eff errs in the stress yy by {misfit:.1%} of xx")
    return [f"{' and '.join(reasons)}: use {use}"] if reasons else []


def effective_properties(
    history: dict[str, Floats], a: float, elastic_history: dict[str, Floats], axial: float
) -> EffectiveProperties:
    """Find the effective properties of averaged curves (paper, section 3.2).

    Args:
        history: Averages for the fit of the power law, see `EquilibriumPath`.
        a: Initial yield stress of the matrix [MPa].
        elastic_history: Averages for E and nu: the same history, or one of a separate elastic path.
        axial: Young's modulus of the RVE along the fibres [MPa].

    Returns:
        The properties, and a warning if they describe the curves poorly or if no power law can be
        fitted to them.
    """
    elastic = elastic_increments(elastic_history)
    elastic_strain = elastic_history["strain"][elastic]
    elastic_stress = elastic_history["stress"][elastic]
    E, nu = elastic_constants(elastic_strain, elastic_stress)
    mises = von_mises(history["stress"])
    plastic = equivalent_strain(history["plastic_strain"])
    spread = float(np.abs(E / E.mean() - 1).max())
    poor = []
    try:
        b, c, residual = fit_power_law(mises[1:], plastic[1:], a)
    except FitError as error:
        b = c = residual = math.nan
        poor.append(str(error))
    misfit = float(hooke_misfit(elastic_strain, elastic_stress).mean())
    across = float(transverse_modulus(elastic_strain, elastic_stress, axial).mean())
    poor += _poor_modulus(float(E.mean()), across, misfit)
    if residual > _POOR_FIT:
        poor.append(f"power-law misfit {residual:.1%}")
    if spread > _POOR_FIT:
        poor.append(f"E varies by {spread:.1%} over the elastic increments")
    if c < _LEAST_EXPONENT or b < _LEAST_HARDENING * a:
        poor.append("the averaged curve does not harden, so c_eff has no meaning")
    elif not math.isnan(b):
        poor += _extrapolation(mises[1:], plastic[1:], a, b)
    return EffectiveProperties(
        b_eff_MPa=b,
        c_eff=c,
        E_eff_GPa=float(E.mean()) / 1e3,
        nu_eff=float(nu.mean()),
        hardening_residual=residual,
        elastic_spread=spread,
        elastic_misfit=misfit,
        transverse_modulus_GPa=across / 1e3,
        warning="; ".join(poor),
    )
