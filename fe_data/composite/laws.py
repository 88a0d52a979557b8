"""Constitutive laws at one material point, in PyTorch.

A law is a function of the strain at the end of a step, the state at its start, and the material. It
returns the stress and the state at the end of the step. It is written for one point;
`MaterialPoints` evaluates it at many points by `torch.func.vmap`, and differentiates it for the
consistent tangent. Strain and stress are vectors in Kelvin's notation, so that `a @ b` is the
double contraction. The thermal strain is already subtracted from the strain.

To add a law, decorate a function with `law`. Its name is then valid in `Material` and in files of
phases.
"""

import math
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import torch
from torch import Tensor

from fe_data.composite.implicit import root
from fe_data.composite.law_checks import State, require_sizes
from fe_data.composite.law_registry import CURVE, LawEntry, initial_stress, is_shipped, register
from fe_data.settings import require_kind
from fe_data.settings.hardening import SURFACE

Update = Callable[[Tensor, State, Any], tuple[Tensor, State]]

IDENTITY = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
_TINY = 1e-30  # added under a square root, whose derivative at zero would be infinite
_LEAST_RECOVERY = 1e-20  # takes the place of γ = 0, by which the formulas would divide
_PLASTIC = {"plastic_strain": 6, "p": 0}


def law(
    name: str,
    *,
    parameters: Mapping[str, Any],
    state: Mapping[str, int],
    isotropic: bool = True,
    defaults: Mapping[str, float] | None = None,
    first_yield: Callable[[Mapping[str, Any], bool], float] | None = None,
) -> Callable[[Update], Update]:
    """Return the decorator that registers a law.

    Args:
        name: Name of the law in a `Material` and in files of phases.
        parameters: Smallest and largest value of each parameter. Use CURVE for a yield stress that
            depends on a plastic strain; the law receives it as a function.
        state: Size of each state variable: 0 for a number, 6 for a tensor. All start at zero. The
            volume averages of a simulation include `plastic_strain`, and the yielded fraction
            counts points with `p` > 0.
        isotropic: Whether the law needs isotropic elasticity: `material.shear`, `material.bulk`.
        defaults: Default values of parameters.
        first_yield: Function of the parameters and of a boolean (tension instead of compression)
            that returns the initial yield stress in a uniaxial test [MPa]. Without it an RVE with
            this matrix has no b_eff and c_eff.

    Returns:
        The decorator of an update function (strain, state, material) -> (stress, state). The
        material has all parameters, `stiffness`, and the duration `dt` of the step [s].

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `fe_data` itself has a law with this name, or a size is not 0 or 6.

    Examples:
        Viscoplasticity of Perzyna; a matrix of it carries more if the RVE is loaded faster.

        >>> import torch
        >>> from fe_data import Isotropic, Loading, Material, Microstructure, Phases
        >>> from fe_data import law, solve_composite
        >>> from fe_data.composite.laws import deviator, pressure_stress, von_mises
        >>> @law(
        ...     "bingham",
        ...     parameters={"yield_stress_MPa": (0.001, 1e6), "viscosity_MPa_s": (0.0, 1e12)},
        ...     state={"plastic_strain": 6, "p": 0},
        ... )
        ... def bingham(strain, state, material):
        ...     trial = 2 * material.shear * (deviator(strain) - state["plastic_strain"])
        ...     q = von_mises(trial)
        ...     resistance = 3 * material.shear + material.viscosity_MPa_s / material.dt
        ...     dp = torch.relu(q - material.yield_stress_MPa) / resistance
        ...     flow = 1.5 * trial / q
        ...     stress = pressure_stress(strain, material) + trial - 2 * material.shear * dp * flow
        ...     plastic_strain = state["plastic_strain"] + dp * flow
        ...     return stress, {"plastic_strain": plastic_strain, "p": state["p"] + dp}
        >>> creeping = {"yield_stress_MPa": 20.0, "viscosity_MPa_s": 1e4}
        >>> resin = Material(Isotropic(3.0, 0.35), law="bingham", parameters=creeping)
        >>> phases = Phases(matrix=resin, fibres=Material(Isotropic(74.0, 0.2)))
        >>> one_fibre = Microstructure([[0.5, 0.5]], 0.35)
        >>> for seconds in (1.0, 100.0):
        ...     pull = Loading((0.02, None, None), increments=10, time=seconds)
        ...     rve = solve_composite(phases, one_fibre, pull, resolution=3)
        ...     print(seconds, rve.history["stress"][-1, 0] > 100)  # mean stress xx [MPa]
        1.0 True
        100.0 False
    """
    require_kind("name", name, str)
    require_kind("parameters", parameters, Mapping)
    require_kind("state", state, Mapping)
    require_kind("isotropic", isotropic, bool)
    require_kind("defaults", defaults, Mapping, NoneType)
    if first_yield is not None and not callable(first_yield):
        raise TypeError(f"first_yield = {first_yield!r:.60} must be a function or None")
    require_sizes(name, state)

    def add(update: Update) -> Update:
        if is_shipped(name) and update.__module__ != __name__:
            raise ValueError(f"law {name!r} is one of fe_data's: give yours another name")
        fields = dict(parameters), dict(defaults or {}), isotropic, dict(state)
        register(LawEntry(name, *fields, update, first_yield))
        return update

    return add


def trace(strain: Tensor) -> Tensor:
    """Return the trace of a tensor."""
    return strain[0] + strain[1] + strain[2]


def deviator(tensor: Tensor) -> Tensor:
    """Return the deviator of a tensor."""
    return tensor - trace(tensor) / 3 * IDENTITY


def square_root(x: Tensor) -> Tensor:
    """Return the square root of a positive tensor, with the same last bit on every processor."""
    return x.rsqrt().reciprocal()  # the last bit of torch.sqrt depends on the processor


def von_mises(deviator: Tensor) -> Tensor:
    """Return the von Mises stress √(3/2 s : s) of a deviator."""
    return square_root(1.5 * (deviator @ deviator) + _TINY)


def pressure_stress(strain: Tensor, material: Any) -> Tensor:
    """Return the spherical part of the stress, κ tr(ε) 1."""
    stress: Tensor = material.bulk * trace(strain) * IDENTITY
    return stress


def _yield_stress(parameters: Mapping[str, Any], _: bool) -> float:
    """Return the initial yield stress of laws with the same stress in tension and compression."""
    return initial_stress(parameters["yield_stress"])


def _on_the_cone(parameters: Mapping[str, Any], tension: bool) -> float:
    """Return the initial uniaxial yield stress on the cone of Drucker and Prager."""
    # q + m tan β = (1 - tan β / 3) σ_c, with m = ± q / 3
    slope = math.tan(math.radians(parameters["friction_angle_deg"])) / 3
    compression = initial_stress(parameters["compression"])
    return compression * (1 - slope) / (1 + slope) if tension else compression


def _on_the_paraboloid(parameters: Mapping[str, Any], tension: bool) -> float:
    """Return the initial uniaxial yield stress on the paraboloid."""
    return initial_stress(parameters["tension" if tension else "compression"])


@law("j2", parameters={"yield_stress": CURVE}, state=_PLASTIC, first_yield=_yield_stress)
def j2(strain: Tensor, state: State, material: Any) -> tuple[Tensor, State]:
    """Apply von Mises plasticity with isotropic hardening, the law of the matrix in the paper.

    Implicit Euler step: q_tr - 3μ Δp = σ_y(p_n + Δp), Simo & Hughes (1998), section 3.3.

    Returns:
        Stress and state at the end of the step.
    """
    mu = material.shear
    trial = 2 * mu * (deviator(strain) - state["plastic_strain"])
    q = von_mises(trial)
    excess = q - material.yield_stress(state["p"])
    yields = q > material.yield_stress(state["p"]) * SURFACE

    def residual(dp: Tensor, q: Tensor, p: Tensor) -> Tensor:
        excess: Tensor = q - 3 * mu * dp - material.yield_stress(p + dp)
        return excess

    dp = root(residual, excess / (3 * mu), q, state["p"], where=yields)
    flow = 1.5 * trial / q
    stress = pressure_stress(strain, material) + trial - 2 * mu * dp * flow
    return stress, {"plastic_strain": state["plastic_strain"] + dp * flow, "p": state["p"] + dp}


@law(
    "chaboche",
    parameters={
        "yield_stress": CURVE,
        "C1_MPa": (0.0, 1e7),
        "gamma1": (0.0, 1e6),
        "C2_MPa": (0.0, 1e7),
        "gamma2": (0.0, 1e6),
    },
    defaults={"C2_MPa": 0.0, "gamma2": 0.0},
    state={**_PLASTIC, "back_stress1": 6, "back_stress2": 6},
    first_yield=_yield_stress,
)
def chaboche(strain: Tensor, state: State, material: Any) -> tuple[Tensor, State]:
    """Apply kinematic hardening of Armstrong and Frederick, with one or two back stresses.

    The back stresses follow dX_i = 2/3 C_i dε_p - γ_i X_i dp (Chaboche, Int. J. Plasticity 5 (1989)
    247). The flow direction N = 3/2 (s - X) / q is that at the end of the step, and for constant N
    the back stresses are exact. With θ_i = exp(-γ_i Δp) and h_i = (1 - θ_i) / γ_i,

        X_i = θ_i X_i,n + 2/3 C_i h_i N,
        q(s_tr - Σ θ_i X_i,n) = σ_y(p_n + Δp) + 3μ Δp + Σ C_i h_i.

    Uniaxial cycles therefore have no error of the increments.

    Returns:
        Stress and state at the end of the step.
    """
    mu = material.shear
    terms = (
        (material.C1_MPa, max(material.gamma1, _LEAST_RECOVERY)),
        (material.C2_MPa, max(material.gamma2, _LEAST_RECOVERY)),
    )
    backs = (state["back_stress1"], state["back_stress2"])
    trial = 2 * mu * (deviator(strain) - state["plastic_strain"])

    def remaining(dp: Tensor) -> list[Tensor]:
        return [torch.exp(-gamma * dp) for _, gamma in terms]

    def growth(dp: Tensor) -> list[Tensor]:
        # h = (1 - θ) / γ, which is Δp for the smallest γ
        return [-torch.expm1(-gamma * dp) / gamma for _, gamma in terms]

    def residual(dp: Tensor, trial: Tensor, x1: Tensor, x2: Tensor, p: Tensor) -> Tensor:
        t1, t2 = remaining(dp)
        h1, h2 = growth(dp)
        hardening = 3 * mu * dp + material.C1_MPa * h1 + material.C2_MPa * h2
        relative = von_mises(trial - t1 * x1 - t2 * x2)
        excess: Tensor = relative - material.yield_stress(p + dp) - hardening
        return excess

    start = von_mises(trial - backs[0] - backs[1])
    excess = start - material.yield_stress(state["p"])
    yields = start > material.yield_stress(state["p"]) * SURFACE
    guess = excess / (3 * mu + material.C1_MPa + material.C2_MPa)
    dp = root(residual, guess, trial, *backs, state["p"], where=yields)
    theta = remaining(dp)
    relative = trial - theta[0] * backs[0] - theta[1] * backs[1]
    flow = 1.5 * relative / von_mises(relative)
    new = {"plastic_strain": state["plastic_strain"] + dp * flow, "p": state["p"] + dp}
    back_stresses = zip(theta, backs, growth(dp), terms, strict=True)
    for number, (share, x, h, (C, _)) in enumerate(back_stresses, start=1):
        new[f"back_stress{number}"] = share * x + 2 / 3 * C * h * flow
    return pressure_stress(strain, material) + trial - 2 * mu * dp * flow, new


@law(
    "drucker_prager",
    parameters={
        "compression": CURVE,
        "friction_angle_deg": (1.0, 70.0),
        "dilation_angle_deg": (0.1, 70.0),
    },
    state=_PLASTIC,
    first_yield=_on_the_cone,
)
def drucker_prager(strain: Tensor, state: State, material: Any) -> tuple[Tensor, State]:
    """Apply Drucker and Prager's cone, which is associated if both angles are equal.

    With the mean stress m = tr(σ)/3, and the friction angle β and the dilation angle ψ in the plane
    of m and q,

        q + m tan β = d(p),    d = (1 - tan β / 3) σ_c(p),    Δε_p = Δγ (3/2 s/q + tan ψ / 3 1).

    Here σ_c(p) is the strength in uniaxial compression, and p the plastic strain along such a test,
    Δp = Δγ (1 - tan ψ / 3). If the return to the cone would reverse the deviator, the stress
    returns to the apex. (de Souza Neto, Perić & Owen, Computational Methods for Plasticity (2008),
    section 8.3.)

    Returns:
        Stress and state at the end of the step.
    """
    mu, kappa = material.shear, material.bulk
    friction = math.tan(math.radians(material.friction_angle_deg))
    dilation = math.tan(math.radians(material.dilation_angle_deg))
    elastic = strain - state["plastic_strain"]
    trial = 2 * mu * deviator(elastic)
    q = von_mises(trial)
    m = kappa * trace(elastic)
    rate = 1 - dilation / 3  # of p

    def cohesion(p: Tensor) -> Tensor:
        d: Tensor = (1 - friction / 3) * material.compression(p)
        return d

    def apex(dg: Tensor, m: Tensor, p: Tensor) -> Tensor:
        excess: Tensor = (m - kappa * dilation * dg) * friction - cohesion(p + rate * dg)
        return excess

    def cone(dg: Tensor, q: Tensor, m: Tensor, p: Tensor) -> Tensor:
        excess: Tensor = q - 3 * mu * dg + apex(dg, m, p)
        return excess

    limit = cohesion(state["p"])
    excess = q + m * friction - limit
    yields = excess > (SURFACE - 1) * (q + m.abs() + limit)
    guess = excess / (3 * mu + kappa * dilation * friction)
    dg = root(cone, guess, q, m, state["p"], where=yields)
    at_apex = yields & (3 * mu * dg > q)
    guess = (m * friction - limit) / (kappa * dilation * friction)
    dg = torch.where(at_apex, root(apex, guess, m, state["p"], where=at_apex), dg)
    share = torch.where(at_apex, 0.0, 1 - 3 * mu * dg / q)
    m = m - kappa * dilation * dg
    # Δε_p = (s_tr - s) / 2μ + Δγ tan ψ / 3 1
    plastic = (1 - share) * trial / (2 * mu) + dg * dilation / 3 * IDENTITY
    new = {"plastic_strain": state["plastic_strain"] + plastic, "p": state["p"] + rate * dg}
    return share * trial + m * IDENTITY, new


@law(
    "paraboloidal",
    parameters={"tension": CURVE, "compression": CURVE, "plastic_poisson_ratio": (0.0, 0.49)},
    state=_PLASTIC,
    first_yield=_on_the_paraboloid,
)
def paraboloidal(strain: Tensor, state: State, material: Any) -> tuple[Tensor, State]:
    """Apply the paraboloidal yield surface of polymers, with tensile and compressive strength.

    Surface: 6 J_2 + 2 I_1 (σ_c - σ_t) - 2 σ_c σ_t = 0 (Tschoegl, J. Polym. Sci. C 32 (1971) 239).
    Flow is not associated. The flow potential q² + α m², α = 9/2 (1 - 2ν_p) / (1 + ν_p), gives the
    plastic Poisson's ratio ν_p in uniaxial tests (Melro et al., Int. J. Solids Struct. 50 (2013)
    1897):

        Δε_p = Δγ (3 s + 2α/9 I_1 1),    Δp = √(Δε_p : Δε_p / (1 + 2 ν_p²)),
        s = s_tr / (1 + 6μ Δγ),    m = m_tr / (1 + 2κα Δγ).

    p is the plastic strain along a uniaxial test. The unknown is x = 6μ Δγ.

    If ν_p is below 1/2, compression compacts the material, so the law softens in confined
    compression. Ligaments between close fibres may then have no stable equilibrium. An RVE of six
    fibres at v_f = 0.6 could be compressed across the fibres by 2.5 % with ν_p = 0.3. With
    ν_p = 0.4 it was more than 4 %.

    Returns:
        Stress and state at the end of the step.
    """
    mu, kappa, nu = material.shear, material.bulk, material.plastic_poisson_ratio
    alpha = 4.5 * (1 - 2 * nu) / (1 + nu)
    stiffness = kappa * alpha / (3 * mu)
    elastic = strain - state["plastic_strain"]
    trial = 2 * mu * deviator(elastic)
    square = 0.5 * (trial @ trial)  # J_2
    m = kappa * trace(elastic)

    def growth(x: Tensor, square: Tensor, m: Tensor) -> Tensor:
        s, p = 1 / (1 + x), 1 / (1 + stiffness * x)
        # |3 s|² = 18 J_2,   |2α/9 I_1 1|² = 4/3 α² m²
        flow = 18 * square * s**2 + 4 / 3 * (alpha * m * p) ** 2
        length: Tensor = x / (6 * mu) * square_root(flow / (1 + 2 * nu**2) + _TINY)
        return length

    def surface(x: Tensor, square: Tensor, m: Tensor, p: Tensor) -> Tensor:
        end = p + growth(x, square, m)
        tension, compression = material.tension(end), material.compression(end)
        mean = 6 * m / (1 + stiffness * x) * (compression - tension)
        excess: Tensor = 6 * square / (1 + x) ** 2 + mean - 2 * tension * compression
        return excess

    zero = torch.zeros_like(m)
    start = surface(zero, square, m, state["p"])
    product = material.tension(state["p"]) * material.compression(state["p"])
    yields = start > (SURFACE - 1) * product
    guess = square_root(1 + torch.relu(start) / product) - 1
    x = root(surface, guess, square, m, state["p"], where=yields)
    s, m_end = trial / (1 + x), m / (1 + stiffness * x)
    # Δγ 2α/9 I_1 = x α m / 9μ
    plastic = x / (2 * mu) * s + x * alpha * m_end / (9 * mu) * IDENTITY
    p = state["p"] + torch.where(yields, growth(x, square, m), 0.0)
    return s + m_end * IDENTITY, {"plastic_strain": state["plastic_strain"] + plastic, "p": p}
