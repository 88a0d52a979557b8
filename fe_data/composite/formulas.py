"""Closed formulas for the effective constants and the failure of composites with aligned fibres.

Both phases are transversely isotropic about z, with the volume fraction v of the fibres, w = 1 - v.
The formulas are for comparison with RVEs and measurements:

- Composite cylinders: R. Hill, J. Mech. Phys. Solids 12 (1964) 199; Z. Hashin, J. Appl. Mech. 46
  (1979) 543. The transverse shear modulus is the bound of Hashin and Shtrikman.
- J. C. Halpin & J. L. Kardos, Polym. Eng. Sci. 16 (1976) 344, with ξ = 2 for E_T and 1 for G_LT.
- C. C. Chamis, SAMPE Quarterly 15 (1984) 14.

Thermal expansion along the fibres follows from a balance of stresses (R. A. Schapery, J. Compos.
Mater. 2 (1968) 380), except for composite cylinders, where V. M. Levin's relation (Mech. Solids 2
(1967) 58) is exact for given elastic constants.

The criterion for fracture between the fibres is that of A. Puck & H. Schürmann, Compos. Sci.
Technol. 58 (1998) 1045.
"""

import math
from collections.abc import Callable

import numpy as np

from fe_data.arrays import Floats
from fe_data.composite.constants import Constants, constants_of, cylinders
from fe_data.composite.elasticity import Elasticity, TransverselyIsotropic
from fe_data.composite.phases import Phases
from fe_data.settings import require_between, require_kind

Formula = Callable[[Phases, float], dict[str, float]]


def composite_cylinders(phases: Phases, vf: float) -> dict[str, float]:
    """Compute the constants of cylinders of matrix, each around a fibre.

    Args:
        phases: Materials; only the elasticity of matrix and fibres is used.
        vf: Volume fraction v of the fibres [-].

    Returns:
        Constants by name, as in `Constants`, and `alpha_L_per_K` and `alpha_T_per_K`.

    Raises:
        ValueError: If `vf` is not between 0 and 1, or a phase is not transversely isotropic about
            z.

    Examples:
        >>> from fe_data import named_phases
        >>> from fe_data.composite.formulas import composite_cylinders
        >>> round(composite_cylinders(named_phases("glass_epoxy"), 0.6)["E_L_GPa"], 2)
        45.76
    """
    matrix, fibres = _constants_of(phases, vf)
    constants = cylinders(matrix, fibres, vf)
    along, k, G = (constants[name] for name in ("E_L_GPa", "k_T_GPa", "G_TT_GPa"))
    # 4 / E_T = 1 / G_TT + m / k_T,   ν_TT = (k_T - m G_TT) / (k_T + m G_TT)
    m = 1 + 4 * k * constants["nu_LT"] ** 2 / along
    constants["E_T_GPa"] = 4 / (1 / G + m / k)
    constants["nu_TT"] = (k - m * G) / (k + m * G)
    names = ("E_L_GPa", "E_T_GPa", "nu_LT", "nu_TT", "G_LT_GPa")
    effective = TransverselyIsotropic(*(constants[name] for name in names))
    expansion = _levin(phases, vf, effective)
    return constants | {"alpha_L_per_K": float(expansion[2]), "alpha_T_per_K": float(expansion[0])}


def halpin_tsai(phases: Phases, vf: float) -> dict[str, float]:
    """Compute constants by the formulas of Halpin and Tsai, and expansions by those of Schapery.

    Args:
        phases: Materials; only the elasticity of matrix and fibres is used.
        vf: Volume fraction v of the fibres [-].

    Returns:
        `E_L_GPa`, `E_T_GPa`, `nu_LT`, `G_LT_GPa`, `alpha_L_per_K` and `alpha_T_per_K`.

    Raises:
        ValueError: If `vf` is not between 0 and 1, or a phase is not transversely isotropic about
            z.

    Examples:
        >>> from fe_data import named_phases
        >>> from fe_data.composite.formulas import halpin_tsai
        >>> round(halpin_tsai(named_phases("glass_epoxy"), 0.6)["E_T_GPa"], 2)
        14.47
    """
    matrix, fibres = _constants_of(phases, vf)
    nu = _mixed(matrix.nu_LT, fibres.nu_LT, vf)
    along = _expansion_along(phases, vf)
    # α_T = v (1 + ν_f) α_f + w (1 + ν_m) α_m - ν_LT α_L
    of_matrix, of_fibres = (
        alpha_T + constants.nu_LT * alpha_L
        for constants, (alpha_L, alpha_T) in zip((matrix, fibres), _expansions(phases), strict=True)
    )
    return {
        "E_L_GPa": _mixed(matrix.E_L_GPa, fibres.E_L_GPa, vf),
        "E_T_GPa": _halpin_tsai(matrix.E_T_GPa, fibres.E_T_GPa, vf, 2.0),
        "nu_LT": nu,
        "G_LT_GPa": _halpin_tsai(matrix.G_LT_GPa, fibres.G_LT_GPa, vf, 1.0),
        "alpha_L_per_K": along,
        "alpha_T_per_K": _mixed(of_matrix, of_fibres, vf) - nu * along,
    }


def chamis(phases: Phases, vf: float) -> dict[str, float]:
    """Compute constants and expansions by the formulas of Chamis.

    Args:
        phases: Materials; only the elasticity of matrix and fibres is used.
        vf: Volume fraction v of the fibres [-].

    Returns:
        `E_L_GPa`, `E_T_GPa`, `nu_LT`, `nu_TT`, `G_LT_GPa`, `G_TT_GPa`, `alpha_L_per_K` and
        `alpha_T_per_K`.

    Raises:
        ValueError: If `vf` is not between 0 and 1, or a phase is not transversely isotropic about
            z.

    Examples:
        >>> from fe_data import named_phases
        >>> from fe_data.composite.formulas import chamis
        >>> round(chamis(named_phases("glass_epoxy"), 0.6)["E_T_GPa"], 2)
        12.86
    """
    matrix, fibres = _constants_of(phases, vf)
    root = math.sqrt(vf)

    def across(of_matrix: float, of_fibres: float) -> float:
        # M = M_m / (1 - √v (1 - M_m / M_f))
        return of_matrix / (1 - root * (1 - of_matrix / of_fibres))

    E_L = _mixed(matrix.E_L_GPa, fibres.E_L_GPa, vf)
    E_T = across(matrix.E_T_GPa, fibres.E_T_GPa)
    G_TT = across(matrix.G_TT_GPa, fibres.G_TT_GPa)
    (_, alpha_m), (_, alpha_f) = _expansions(phases)
    # α_T = √v α_f + (1 - √v) (1 + v ν_m E_f / E_L) α_m
    raised = 1 + vf * matrix.nu_LT * fibres.E_L_GPa / E_L
    return {
        "E_L_GPa": E_L,
        "E_T_GPa": E_T,
        "nu_LT": _mixed(matrix.nu_LT, fibres.nu_LT, vf),
        "nu_TT": E_T / (2 * G_TT) - 1,
        "G_LT_GPa": across(matrix.G_LT_GPa, fibres.G_LT_GPa),
        "G_TT_GPa": G_TT,
        "alpha_L_per_K": _expansion_along(phases, vf),
        "alpha_T_per_K": root * alpha_f + (1 - root) * raised * alpha_m,
    }


def puck(
    tension: float, compression: float, shear: float, slopes: tuple[float, float] = (0.3, 0.25)
) -> Floats:
    """Compute the failure envelope of transverse stress and longitudinal shear.

    Args:
        tension: Strength Y_T in transverse tension [MPa].
        compression: Strength Y_C in transverse compression [MPa].
        shear: Strength S in longitudinal shear [MPa].
        slopes: Slopes -dτ/dσ at σ = 0 in tension and compression, by default those that Puck
            recommends for glass fibres [-].

    Returns:
        Transverse stresses σ and shear stresses τ, (2, n) [MPa].

    Examples:
        >>> from fe_data.composite.formulas import puck
        >>> puck(35.0, 114.0, 72.0)[:, [0, -1]].round(9).tolist()
        [[35.0, -114.0], [0.0, 0.0]]
    """
    p, q = slopes
    stress = np.linspace(tension, -compression, 201)
    pulled, pressed = np.maximum(stress, 0.0), np.minimum(stress, 0.0) / compression
    # A: √((τ/S)² + (1 - p Y_T/S)² (σ/Y_T)²) + p σ/S = 1
    across = (1 - p * tension / shear) * pulled / tension
    A = np.sqrt(np.maximum((1 - p * pulled / shear) ** 2 - across**2, 0.0))
    # B: √(τ² + (q σ)²) + q σ = S
    B = np.sqrt(1 - 2 * q * pressed * compression / shear)
    # C: ((τ / (1 + r) S)² + (σ/Y_C)²) Y_C / (-σ) = 1 beyond σ = -Y_C / (1 + r)
    r = math.sqrt(1 + 2 * q * compression / shear)
    C = (1 + r) * np.sqrt(-pressed - pressed**2)
    parts = [stress > 0, -pressed <= 1 / (1 + r)]
    return np.array([stress, shear * np.select(parts, [A, B], C)])


FORMULAS: dict[str, Formula] = {
    "composite cylinders": composite_cylinders,
    "Halpin–Tsai": halpin_tsai,
    "Chamis": chamis,
}


def _constants_of(phases: Phases, vf: float) -> tuple[Constants, Constants]:
    """Return the constants of matrix and fibres."""
    require_kind("phases", phases, Phases)
    require_between("vf", vf, 0.0, 1.0)
    matrix, fibres = constants_of(phases.matrix), constants_of(phases.fibres)
    if matrix is None or fibres is None:
        name = "matrix" if matrix is None else "fibres"
        raise ValueError(f"{name} must be transversely isotropic about z: set axis to z")
    return matrix, fibres


def _mixed(of_matrix: float, of_fibres: float, vf: float) -> float:
    """Apply the rule of mixtures."""
    return (1 - vf) * of_matrix + vf * of_fibres


def _halpin_tsai(of_matrix: float, of_fibres: float, vf: float, xi: float) -> float:
    """Return the modulus M_m (1 + ξ η v) / (1 - η v),   η = (M_f - M_m) / (M_f + ξ M_m)."""
    eta = (of_fibres - of_matrix) / (of_fibres + xi * of_matrix)
    return of_matrix * (1 + xi * eta * vf) / (1 - eta * vf)


def _expansions(phases: Phases) -> list[tuple[float, float]]:
    """Return the expansions along and across the fibres of matrix and fibres [1/K]."""
    both = [material.elasticity.expansion for material in (phases.matrix, phases.fibres)]
    return [(float(expansion[2]), float(expansion[0])) for expansion in both]


def _expansion_along(phases: Phases, vf: float) -> float:
    """Return the expansion along the fibres, α_L = (w E_m α_m + v E_f α_f) / (w E_m + v E_f)."""
    matrix, fibres = _constants_of(phases, vf)
    weights = (1 - vf) * matrix.E_L_GPa, vf * fibres.E_L_GPa
    (of_matrix, _), (of_fibres, _) = _expansions(phases)
    return (weights[0] * of_matrix + weights[1] * of_fibres) / sum(weights)


def _levin(phases: Phases, vf: float, effective: Elasticity) -> Floats:
    """Return the expansion (6,) of a composite of two phases with an effective stiffness."""
    matrix, fibres = phases.matrix.elasticity, phases.fibres.elasticity
    mixed = (1 - vf) * matrix.expansion + vf * fibres.expansion
    difference = fibres.expansion - matrix.expansion
    if not difference.any():
        return mixed
    S, S_m, S_f = (np.linalg.inv(phase.stiffness) for phase in (effective, matrix, fibres))
    # α* = <α> + (S* - <S>) (S_f - S_m)⁻¹ (α_f - α_m)
    mean = (1 - vf) * S_m + vf * S_f
    return np.asarray(mixed + (S - mean) @ np.linalg.lstsq(S_f - S_m, difference, rcond=None)[0])
