"""All effective elastic constants of an RVE, and bounds on them.

Let K and B be the derivatives of the nodal forces by the displacements and by the mean strain. C is
the stiffness for a uniform strain. Six elastic load cases with one factorisation give the effective
stiffness

    C* = (C - Bᵀ W) / V,    W = K⁻¹ B.

Thermal expansion follows without a further solve (Levin, Mech. Solids 2 (1967) 58). With the
thermal forces h of one kelvin at zero strain, C* α* = (h_E - Wᵀ h_u) / V.

The bounds of Hill (J. Mech. Phys. Solids 12 (1964) 199) and Hashin (J. Appl. Mech. 46 (1979) 543)
are for two phases that are transversely isotropic about z. Except for the transverse shear modulus,
they are the constants of composite cylinders with one phase around the other, in both orders.
"""

import dataclasses
import warnings
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats, keep_copies
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.materials import Material
from fe_data.composite.measured import Measured
from fe_data.composite.model import FEModel
from fe_data.composite.phases import Phases, inclusions_of
from fe_data.composite.rve import composite_domain, composite_model
from fe_data.geometry.microstructure import FIBRES, Microstructure, clear_of_edges
from fe_data.settings import require_kind
from safe_files.text import Short

_ROOT_HALF = np.sqrt(0.5)
# Orthonormal basis of the space of stiffnesses that are transversely isotropic about z.
_PLANE = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]) * _ROOT_HALF
_ALONG = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
_ACROSS = np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.0]) * _ROOT_HALF
_BASIS = (
    np.outer(_PLANE, _PLANE),
    np.outer(_ALONG, _ALONG),
    (np.outer(_PLANE, _ALONG) + np.outer(_ALONG, _PLANE)) * _ROOT_HALF,
    (np.outer(_ACROSS, _ACROSS) + np.diag([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])) * _ROOT_HALF,
    np.diag([0.0, 0.0, 0.0, 0.0, 1.0, 1.0]) * _ROOT_HALF,
)


_LARGEST_MISFIT = 0.01  # of constants that do not depend on the direction across the fibres


@dataclass(frozen=True)
class Constants:
    """Constants of a material that is transversely isotropic about z.

    Attributes:
        E_L_GPa: Young's modulus along the fibres [GPa].
        E_T_GPa: Young's modulus across the fibres [GPa].
        nu_LT: Poisson's ratio: contraction across the fibres under stress along them [-].
        nu_TT: Poisson's ratio in the plane across the fibres [-].
        G_LT_GPa: Shear modulus along the fibres [GPa].
        G_TT_GPa: Shear modulus in the plane across the fibres [GPa].
        k_T_GPa: Bulk modulus in plane strain [GPa].

    Examples:
        >>> from fe_data import Isotropic
        >>> from fe_data.composite.constants import Constants
        >>> round(Constants.of(Isotropic(70.0, 0.3).stiffness).E_L_GPa, 9)
        70.0
    """

    E_L_GPa: float
    E_T_GPa: float
    nu_LT: float
    nu_TT: float
    G_LT_GPa: float
    G_TT_GPa: float
    k_T_GPa: float

    @classmethod
    def of(cls, stiffness: Floats) -> "Constants":
        """Return the constants of a transversely isotropic stiffness.

        Args:
            stiffness: Stiffness (6, 6) in Kelvin's notation [MPa].

        Returns:
            The constants.
        """
        S = np.linalg.inv(stiffness / 1e3)
        return cls(
            E_L_GPa=float(1 / S[2, 2]),
            E_T_GPa=float(1 / S[0, 0]),
            nu_LT=float(-S[0, 2] / S[2, 2]),
            nu_TT=float(-S[0, 1] / S[0, 0]),
            G_LT_GPa=float(1 / (2 * S[4, 4])),
            G_TT_GPa=float(1 / (2 * S[3, 3])),
            k_T_GPa=float(_PLANE @ stiffness @ _PLANE) / 2e3,
        )


@dataclass(frozen=True, repr=False)
class EffectiveConstants(Short):
    """Effective constants of an RVE.

    Attributes:
        stiffness_GPa: (6, 6) effective stiffness for engineering shear strains [GPa], in the order
            xx, yy, zz, xy, xz, yz.
        expansion_per_K: (6,) mean thermal strain per kelvin, with engineering shear strains.
        constants: Constants of the nearest transversely isotropic stiffness.
        alpha_L_per_K: Coefficient of thermal expansion along the fibres [1/K].
        alpha_T_per_K: Coefficient of thermal expansion across the fibres [1/K].
        misfit: Distance of the stiffness from the nearest transversely isotropic stiffness, divided
            by the norm of the stiffness [-]. If it is large, such as for a square array, use
            `by_direction`.
        lower: Lower bounds of the constants. None if there are voids, a third phase or fibres with
            separate moduli, or if a phase is not transversely isotropic about z.
        upper: Upper bounds, or None like `lower`.

    Examples:
        >>> from fe_data import Microstructure, effective_constants, named_phases
        >>> fibre = Microstructure([[0.5, 0.5]], 0.3)
        >>> found = effective_constants(named_phases("glass_epoxy"), fibre, resolution=4)
        >>> found.lower.E_L_GPa <= found.constants.E_L_GPa <= found.upper.E_L_GPa
        True
    """

    stiffness_GPa: Floats
    expansion_per_K: Floats
    constants: Constants
    alpha_L_per_K: float
    alpha_T_per_K: float
    misfit: float
    lower: Constants | None
    upper: Constants | None

    def __post_init__(self) -> None:
        keep_copies(self)

    @property
    def by_direction(self) -> dict[str, float]:
        """Constants along x, y and the fibres (L), and E at 45 degrees from x, by name."""
        S = np.linalg.inv(self.stiffness_GPa)
        # 1 / E = mᵀ S m with m = (cos² t, sin² t, 0, cos t sin t, 0, 0)
        m = np.array([0.5, 0.5, 0.0, 0.5, 0.0, 0.0])
        moduli = {
            "E_x_GPa": 1 / S[0, 0],
            "E_y_GPa": 1 / S[1, 1],
            "E_45_GPa": 1 / (m @ S @ m),
            "nu_xy": -S[0, 1] / S[0, 0],
            "nu_Lx": -S[0, 2] / S[2, 2],
            "nu_Ly": -S[1, 2] / S[2, 2],
            "G_xy_GPa": 1 / S[3, 3],
            "G_Lx_GPa": 1 / S[4, 4],
            "G_Ly_GPa": 1 / S[5, 5],
        }
        return {name: float(value) for name, value in moduli.items()}

    def table(self, measured: Measured | None = None) -> str:
        """Return the constants and their bounds as lines of text.

        Thermal expansion is left out if no phase expands. If the misfit is above 1 %, the constants
        by direction follow.

        Args:
            measured: Values of a ply, for another column; strengths follow at the end.

        Returns:
            The lines.
        """
        lines = ["constant            value" + ("     bounds" if self.lower else "")]
        for item in dataclasses.fields(Constants):
            line = f"{item.name:12s}{getattr(self.constants, item.name):13.5g}"
            if self.lower is not None and self.upper is not None:
                low, high = (getattr(limits, item.name) for limits in (self.lower, self.upper))
                line += f"     {low:.5g} to {high:.5g}"
            lines.append(line)
        if self.expansion_per_K.any():
            lines.append(f"{'alpha_L_per_K':12s}{self.alpha_L_per_K:12.4g}")
            lines.append(f"{'alpha_T_per_K':12s}{self.alpha_T_per_K:12.4g}")
        lines.append(f"{'misfit':12s}{self.misfit:13.2e}     from transverse isotropy")
        if self.misfit > _LARGEST_MISFIT:
            lines.append("The misfit is above 1 %: T is a mean over directions. By direction:")
            lines += [f"{name:12s}{value:13.5g}" for name, value in self.by_direction.items()]
        return "\n".join(lines if measured is None else _with_measured(lines, measured))


def _with_measured(lines: list[str], measured: Measured) -> list[str]:
    """Add a column of measured values to the lines of a table, and lines of other values."""
    values = dict(measured)
    title, *others = lines
    beside = [len(line) for line in others if line.split()[0] in values]
    width = max(beside, default=len(title)) + 3
    table = [f"{title:{width}s}measured at v_f {measured.vf:g}"]
    for line in others:
        value = values.pop(line.split()[0], None)
        table.append(line if value is None else f"{line:{width}s}{value:.5g}")
    strengths = [f"measured {name} {value:g}" for name, value in values.items()]
    return table + strengths


def effective_constants(
    phases: Phases,
    microstructure: Microstructure,
    *,
    resolution: float | None = None,
) -> EffectiveConstants:
    """Find all effective elastic constants of an RVE.

    Args:
        phases: Materials, of which only the elasticity is used.
        microstructure: Fibres and voids; voids are holes.
        resolution: Elements per fibre diameter [-]; None is 1.5 times the default of `Settings`.

    Returns:
        The constants. They have bounds if there are two phases and no voids.

    Raises:
        ValueError: If the resolution is out of range.

    If the microstructure cannot be meshed, a `MeshError` is raised. If only some phases expand, a
    `UserWarning` has the names of the others, whose coefficient may be forgotten.

    Examples:
        >>> from fe_data import Microstructure, effective_constants, named_phases
        >>> fibre = Microstructure([[0.5, 0.5]], 0.3)
        >>> found = effective_constants(named_phases("paper"), fibre, resolution=4)
        >>> round(found.constants.E_L_GPa / (0.2827 * 400 + 0.7173 * 100), 2)  # rule of mixtures
        1.0
    """
    require_kind("phases", phases, Phases)
    require_kind("microstructure", microstructure, Microstructure)
    if rigid := phases.without_expansion(inclusions_of(microstructure)):
        what = f"alpha_per_K of {' and '.join(rigid)} is zero, while other phases expand"
        warnings.warn(f"{what}: add it to the material if it is missing", stacklevel=2)
    with threadpool_limits(limits=1):
        microstructure = clear_of_edges(microstructure)
        domain = composite_domain(phases, microstructure, resolution, elastic=True)
        model = composite_model(phases, microstructure, domain, out_of_plane=True, elastic=True)
        stiffness, expansion = homogenised(model)
    nearest = transversely_isotropic(stiffness)
    lower = upper = None
    one_kind = set(microstructure.phases) <= {FIBRES} and microstructure.E_GPa is None
    if one_kind and not microstructure.interphase:
        lower, upper = bounds(phases, microstructure.volume_fraction)
    return EffectiveConstants(
        stiffness_GPa=stiffness / np.outer(TO_KELVIN, TO_KELVIN) / 1e3,
        expansion_per_K=expansion * TO_KELVIN,
        constants=Constants.of(nearest),
        alpha_L_per_K=float(expansion[2]),
        alpha_T_per_K=float(expansion[:2].mean()),
        misfit=float(np.linalg.norm(stiffness - nearest) / np.linalg.norm(stiffness)),
        lower=lower,
        upper=upper,
    )


def homogenised(model: FEModel) -> tuple[Floats, Floats]:
    """Return the effective stiffness and thermal expansion of an elastic RVE.

    Args:
        model: Discrete equations with `out_of_plane=True` and `elastic=True`.

    Returns:
        Stiffness (6, 6) [MPa] and thermal strain (6,) per kelvin, in Kelvin's notation.
    """
    system = model.system
    # W = K⁻¹ B
    W = system.solve_columns(system.border)
    stiffness = (system.macro - system.border.T @ W) / model.area
    stress = (model.thermal[model.n :] - W.T @ model.thermal[: model.n]) / model.area
    return stiffness, np.linalg.solve(stiffness, stress)


def transversely_isotropic(stiffness: Floats) -> Floats:
    """Return the nearest stiffness that is transversely isotropic about z.

    Args:
        stiffness: (6, 6) in Kelvin's notation, so that its Frobenius norm is that of the tensor.

    Returns:
        The projection (6, 6).
    """
    return np.asarray(sum((stiffness * basis).sum() * basis for basis in _BASIS))


def constants_of(material: Material) -> Constants | None:
    """Return the constants of a phase; None if it is not transversely isotropic about z."""
    stiffness = material.elasticity.stiffness
    nearest = transversely_isotropic(stiffness)
    if np.allclose(stiffness, nearest, rtol=0, atol=1e-9 * np.abs(stiffness).max()):
        return Constants.of(nearest)
    return None


def bounds(phases: Phases, vf: float) -> tuple[Constants | None, Constants | None]:
    """Return the bounds of the constants at a volume fraction.

    Args:
        phases: Materials.
        vf: Volume fraction of the fibres [-].

    Returns:
        Lower and upper bounds; None if a phase is not transversely isotropic about z.
    """
    matrix, fibres = (constants_of(phase) for phase in (phases.matrix, phases.fibres))
    if matrix is None or fibres is None:
        return None, None
    mixtures = [cylinders(matrix, fibres, vf), cylinders(fibres, matrix, 1 - vf)]
    names = ("E_L_GPa", "nu_LT", "G_LT_GPa", "G_TT_GPa", "k_T_GPa")
    low = {name: min(one[name] for one in mixtures) for name in names}
    high = {name: max(one[name] for one in mixtures) for name in names}
    for one, ratio, modulus in ((low, high["nu_LT"], low), (high, low["nu_LT"], high)):
        # 4 / E_T = 1 / G_TT + 1 / k_T + 4 ν_LT² / E_L
        along = 4 * ratio**2 / modulus["E_L_GPa"]
        one["E_T_GPa"] = 4 / (1 / one["G_TT_GPa"] + 1 / one["k_T_GPa"] + along)
    for one, k, G, other in ((low, low, high, high), (high, high, low, low)):
        # ν_TT = (k_T - m G_TT) / (k_T + m G_TT),   m = 1 + 4 k_T ν_LT² / E_L
        m = 1 + 4 * k["k_T_GPa"] * other["nu_LT"] ** 2 / one["E_L_GPa"]
        one["nu_TT"] = (k["k_T_GPa"] - m * G["G_TT_GPa"]) / (k["k_T_GPa"] + m * G["G_TT_GPa"])
    return Constants(**low), Constants(**high)


def cylinders(outer: Constants, inner: Constants, v: float) -> dict[str, float]:
    """Return the constants of composite cylinders with a volume fraction v of the inner phase.

    The transverse shear modulus is the bound of Hashin and Shtrikman with the outer phase as
    reference.

    Returns:
        Constants by name.
    """
    w = 1 - v
    k1, k2 = outer.k_T_GPa, inner.k_T_GPa
    G1, G2 = outer.G_TT_GPa, inner.G_TT_GPa
    mixed = v * w / (w / k2 + v / k1 + 1 / G1)
    difference = inner.nu_LT - outer.nu_LT
    axial = outer.G_LT_GPa, inner.G_LT_GPa
    return {
        "E_L_GPa": w * outer.E_L_GPa + v * inner.E_L_GPa + 4 * difference**2 * mixed,
        "nu_LT": w * outer.nu_LT + v * inner.nu_LT + difference * (1 / k1 - 1 / k2) * mixed,
        "k_T_GPa": _between(k1, k2, v, 1 / (k1 + G1)),
        "G_LT_GPa": _between(*axial, v, 1 / (2 * axial[0])),
        "G_TT_GPa": _between(G1, G2, v, (k1 + 2 * G1) / (2 * G1 * (k1 + G1))),
    }


def _between(outer: float, inner: float, v: float, compliance: float) -> float:
    """Return m₁ + v / (1 / (m₂ - m₁) + (1 - v) s), where s is the compliance of an inclusion."""
    # The form v (m₂ - m₁) / (1 + (1 - v) s (m₂ - m₁)) is finite if both moduli are equal.
    difference = inner - outer
    return outer + v * difference / (1 + (1 - v) * compliance * difference)
