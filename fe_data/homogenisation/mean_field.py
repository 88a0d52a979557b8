"""Effective properties without a mesh: secant homogenisation of aligned cylinders in plane strain.

The matrix is replaced by a linear one with the secant shear modulus at the root mean square of its
equivalent strain (modified secant method: P. Suquet, C. R. Acad. Sci. Paris 320 (1995) 563;
P. Ponte Castañeda & P. Suquet, Adv. Appl. Mech. 34 (1998) 171). So that it does not yield at once,
that strain is lognormal about its mean square, and the secant modulus that of the mean energy; the
spread is a multiple of √v_f, as fluctuations about few fibres are. The linear composite is that of
Hashin and Shtrikman with a reference medium between the matrix (lower bound for stiff fibres:
Z. Hashin, J. Appl. Mech. 32 (1965) 546) and the composite itself (self-consistent: R. Hill,
J. Mech. Phys. Solids 13 (1965) 189).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, roots_hermitenorm

from fe_data.arrays import Floats, numbers
from fe_data.errors import FitError
from fe_data.mechanics.properties import elastic_constants, equivalent_strain, moduli, von_mises
from fe_data.schema import INPUT_NAMES
from fe_data.settings import Inputs, Settings, require_between, require_kind

# How p_sigma follows from the root mean square of the fibres' stress: reference medium, threshold
# over `fibre_stress_MPa`, and spread of its logarithm. Fitted to the 20 means of noise.csv, as is
# the default of `fluctuation`, with b_eff and c_eff.
_FIBRE_REFERENCE, _FIBRE_THRESHOLD, _FIBRE_SPREAD = 0.4, 1.42, 0.144
_ITERATIONS, _NEWTON_STEPS = 12, 6  # of medium and fit; of a plastic strain
_LEAST, _LARGEST, _POINTS = 0.2, 20.0, 80  # of strains in the matrix, over the first and last ones
_NODES, _WEIGHTS = roots_hermitenorm(9)
_BOUNDS = (0, 1), (1e-3, 1e3), (0, 1)  # of reference, hardening and fluctuation
_STEP = 1e-20j  # imaginary: derivatives have no rounding error
# Outputs that mean fields have a model for.
MODELLED = ("b_eff_MPa", "c_eff", "E_eff_GPa", "nu_eff", "p_sigma")
Numbers = NDArray[Any]  # real, or complex for a derivative


def mean_field(
    inputs: ArrayLike,
    settings: Settings | None = None,
    *,
    reference: ArrayLike = 0.0,
    hardening: ArrayLike = 1.0,
    fluctuation: ArrayLike = 0.6,
    outputs: Sequence[str] = MODELLED,
) -> Floats:
    """Effective properties of cells with very many fibres, by mean fields: many cells at once.

    Four numbers of it are fitted to simulated cells: the default of `fluctuation`, and three that
    tell how `p_sigma` follows from the root mean square of the stress in the fibres.

    Args:
        inputs: Inputs (..., n_in) in the order and units of `schema.INPUTS`.
        settings: Phases, load and increments; mesh and arrangement play no role.
        reference: Reference medium in [0, 1], 0 the matrix and 1 the composite itself; like the two
            others broadcast against (...).
        hardening: Factor on b_m, in [0.001, 1000].
        fluctuation: Spread of the logarithm of the matrix' strain over √v_f, in [0, 1]; 0 is the
            modified secant method itself.
        outputs: Names of the outputs that are wanted.

    Returns:
        Outputs (..., len(outputs)) in the order of these names, in the units of the schema.

    Raises:
        ValueError: An input or another number is out of range, shapes do not match, or there is no
            model of an output, which the message names.
        FitError: Fewer than 3 increments of a curve are plastic.
    """
    settings = Settings() if settings is None else settings
    require_kind("settings", settings, Settings)
    if settings.hardening != "power":
        raise ValueError(
            f"settings.hardening = {settings.hardening!r}: mean_field takes 'power' alone"
        )
    for name in outputs:
        if name not in MODELLED:
            allowed = ", ".join(MODELLED)
            raise ValueError(
                f"outputs: mean fields have no model of {name!r:.60}, but of {allowed}"
            )
    X = numbers("inputs", inputs)
    if X.ndim == 0 or X.shape[-1] != len(INPUT_NAMES):
        raise ValueError(f"inputs of shape {X.shape} must have {len(INPUT_NAMES)} columns")
    for row in X.reshape(-1, len(INPUT_NAMES)):
        Inputs(*row.tolist())
    given = {"reference": reference, "hardening": hardening, "fluctuation": fluctuation}
    others = {name: numbers(name, values) for name, values in given.items()}
    for (name, values), bounds in zip(others.items(), _BOUNDS, strict=True):
        for value in values.ravel().tolist():
            require_between(name, value, *bounds)
    try:
        columns = np.broadcast_arrays(*np.moveaxis(X, -1, 0), *others.values())
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in others.items())
        raise ValueError(f"shapes do not match: inputs {X.shape}, {shapes}") from None
    vf, E_f, b, c, t, factor, fluctuation = (column[..., None] for column in columns)
    matrix, unit = moduli(1e3 * settings.E_m_GPa, settings.nu_m), moduli(1e3, settings.nu_f)
    phases = matrix.bulk, matrix.shear, unit.bulk * E_f, unit.shear * E_f
    cells = _Cells(settings, vf, *phases, factor * b, c, t, fluctuation * np.sqrt(vf))
    E, nu = cells.elastic_constants()
    G_s, reached = cells.increments()
    b_eff, c_eff = cells.power_law(G_s, reached)
    p = cells.share_above_threshold(G_s[..., -1:], reached[..., -1:])
    columns_by_name = {
        "b_eff_MPa": b_eff,
        "c_eff": c_eff,
        "E_eff_GPa": E / 1e3,
        "nu_eff": nu,
        "p_sigma": p,
    }
    return np.stack([columns_by_name[name] for name in outputs], axis=-1)


@dataclass(frozen=True)
class _Cells:
    """Cells of all inputs; arrays (..., 1) against points of curves in the last axis, in MPa."""

    settings: Settings
    vf: Floats
    K_m: float  # bulk and shear moduli
    G_m: float
    K_f: Floats
    G_f: Floats
    b: Floats  # of the matrix, times its factor
    c: Floats
    reference: Floats | float
    spread: Floats  # of the logarithm of the matrix' strain

    def mean(self, pair: tuple[Numbers, Numbers]) -> Numbers:
        """Volume average of a quantity of matrix and fibres."""
        return np.asarray((1 - self.vf) * pair[0] + self.vf * pair[1])

    def concentration(self, moduli: tuple[Numbers, Numbers], medium: Numbers) -> Any:
        """Strains of matrix and fibres over that of the composite."""
        weights = 1 / (moduli[0] + medium), 1 / (moduli[1] + medium)
        total = self.mean(weights)
        return weights[0] / total, weights[1] / total

    def linear(self, G_m: Numbers, G_f: Numbers) -> tuple[Numbers, Numbers, Any, Any]:
        """In-plane k and G of the linear composite; dilatations and shears of the phases."""
        bulk, shear = (self.K_m + G_m / 3, self.K_f + G_f / 3), (G_m, G_f)
        k, G = bulk[0], G_m
        for _ in range(_ITERATIONS if np.any(self.reference) else 1):
            k_r, G_r = bulk[0] + self.reference * (k - bulk[0]), G_m + self.reference * (G - G_m)
            dilatations = self.concentration(bulk, G_r)
            shears = self.concentration(shear, G_r * k_r / (k_r + 2 * G_r))
            k = self.mean((bulk[0] * dilatations[0], bulk[1] * dilatations[1]))
            G = self.mean((G_m * shears[0], G_f * shears[1]))
        return k, G, dilatations, shears

    def shape(self, k: Numbers, G: Numbers) -> tuple[Numbers, Numbers]:
        """Dilatation and shear of the composite under mean strain xx = 1, without stress yy."""
        lateral = (G - k) / (k + G)
        return 1 + lateral, (1 - lateral) / 2

    def rms_strain(self, G_m: Floats, fibres: bool = False) -> Floats:
        """Root mean square of a phase's equivalent strain under mean strain xx = 1."""
        # Its square is the derivative of the composite's energy by the phase's shear modulus.
        dilatation, shear = self.shape(*self.linear(G_m, self.G_f)[:2])
        step_m, step_f = (0, _STEP) if fibres else (_STEP, 0)
        k, G = (each.imag / _STEP.imag for each in self.linear(G_m + step_m, self.G_f + step_f)[:2])
        slope = k * dilatation**2 / 2 + 2 * G * shear**2
        with np.errstate(divide="ignore", invalid="ignore"):  # no fibres
            return np.sqrt(slope / (1.5 * (self.vf if fibres else 1 - self.vf)))

    def averages(self, G_m: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean strain, stress and plastic strain under mean strain xx = 1, (..., points, 4)."""
        k, G, dilatations, shears = self.linear(G_m, self.G_f)
        dilatation, shear = self.shape(k, G)
        zero, volume, own = np.zeros_like(k), dilatation * dilatations[0], shear * shears[0]
        lame = self.K_m - 2 / 3 * G_m, self.K_f - 2 / 3 * self.G_f
        zz = self.mean((lame[0] * volume, lame[1] * dilatation * dilatations[1]))
        stress = [k * dilatation + 2 * G * shear, zero, zz, zero]
        deviator = [volume / 6 + own, volume / 6 - own, -volume / 3, zero]
        plastic = ((1 - self.vf) * (1 - G_m / self.G_m) * each for each in deviator)
        strain = [zero + 1, dilatation - 1, zero, zero]
        return tuple(np.stack([*each], axis=-1) for each in (strain, stress, plastic))

    def elastic_constants(self) -> tuple[Floats, Floats]:
        """E [MPa] and nu, (...)."""
        strain, stress, _ = self.averages(self.G_m + 0 * self.vf)
        E, nu = elastic_constants(strain.reshape(-1, 4), stress.reshape(-1, 4))
        return E.reshape(self.vf.shape[:-1]), nu.reshape(self.vf.shape[:-1])

    def mises(self, strain: Floats) -> Floats:
        """Von Mises stress of the matrix at equivalent strains, (...)."""
        excess = np.maximum(3 * self.G_m * strain - self.settings.a_MPa, 0)  # of b u + 3 G u^(1/c)
        with np.errstate(divide="ignore"):
            u = np.minimum(excess / self.b, (excess / (3 * self.G_m)) ** self.c)
        for _ in range(_NEWTON_STEPS):  # Newton's method from above on a convex function
            plastic = 3 * self.G_m * np.maximum(u, 1e-300) ** (1 / self.c)
            slope = self.b + plastic / (self.c * np.maximum(u, 1e-300))
            u = u - (self.b * u + plastic - excess) / slope
        return np.minimum(3 * self.G_m * strain, self.settings.a_MPa + self.b * u)

    def secant(self, strain: Floats) -> tuple[Floats, Floats]:
        """Secant shear modulus at the matrix' root mean square strains, and the mean strain xx."""
        total = np.zeros_like(strain)
        for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
            factor = np.exp(self.spread * node - self.spread**2)  # of mean square 1
            total = total + weight * factor * self.mises(factor * strain)
        G_s = total / (3 * strain)
        return G_s, strain / self.rms_strain(G_s)

    def increments(self) -> tuple[Floats, Floats]:
        """Secant modulus of the matrix and mean strain xx of each increment."""
        count, last = self.settings.increments, self.settings.strain
        steps = last * np.arange(1, count + 1) / count
        grid = np.geomspace(_LEAST * last / count, _LARGEST * last, _POINTS)
        _, strain = self.secant(grid + 0 * self.vf)
        found = np.empty((*strain.shape[:-1], count))
        for row in np.ndindex(strain.shape[:-1]):
            found[row] = np.interp(np.log(steps), np.log(strain[row]), np.log(grid))
        return self.secant(np.exp(found))

    def power_law(self, G_s: Floats, reached: Floats) -> tuple[Floats, Floats]:
        """Least-squares b_eff and c_eff of the averaged curve, as `fit_power_law` finds them."""
        _, stress, plastic = (reached[..., None] * each for each in self.averages(G_s))
        excess, p = von_mises(stress) - self.settings.a_MPa, equivalent_strain(plastic)
        used = (excess >= 0) & (p > 0)
        if (used.sum(axis=-1) < 3).any():
            raise FitError("fewer than 3 increments are plastic: no hardening curve to fit")
        log_p, c = np.log(np.where(used, p, 1)), self.c + 0 * self.vf
        for _ in range(_ITERATIONS):
            power = np.where(used, np.exp(c * log_p), 0)
            b = (excess * power).sum(-1, keepdims=True) / (power**2).sum(-1, keepdims=True)
            J = np.stack([power, b * power * log_p], axis=-1)
            normal = np.einsum("...pi,...pj->...ij", J, J)
            right = np.einsum("...pi,...p->...i", J, excess - b * power)
            c = c + np.linalg.solve(normal, right[..., None])[..., 1, :]
        return b[..., 0], c[..., 0]

    def share_above_threshold(self, G_s: Floats, reached: Floats) -> Floats:
        """p_sigma at one increment, (...)."""
        medium = replace(self, reference=_FIBRE_REFERENCE)
        stress = 3 * self.G_f * reached * medium.rms_strain(G_s, fibres=True)
        threshold = _FIBRE_THRESHOLD * self.settings.fibre_stress_MPa
        share = ndtr(np.log(stress / threshold) / _FIBRE_SPREAD)
        return np.where(self.vf > 0, share, 0)[..., 0]
