"""Stress of an RVE from material points: macroscopic strain → points of matrix and fibres → stress.

A strain path E(t) of the RVE gives point i the strain ε_i = A_i E. The stresses of the points give
the stress of the RVE,

    S(t) = Σ_i w_i A_iᵀ σ_i(ε_i(·), t),        Σ_i w_i = 1,   w_i > 0,   Σ_i w_i A_i = I.

The points of the matrix carry the history, so that unloading and loops need no other memory. The
transpose makes the work of the RVE equal to the work of its points (Hill–Mandel). So the tangent is
symmetric and no cycle gains energy. The weights of the points in the fibres sum to the volume
fraction. PyTorch differentiates the stress by the strains of the points: gradients of the return
mapping come from the implicit function theorem. With h' = b c p^(c-1) its solution Δp has the
derivatives

    ∂Δp/∂q = 1 / (3μ + h'),      ∂Δp/∂p_n = -h' / (3μ + h').

The adjoint visits the steps of a path in reverse order.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from bnn.paths import PhaseProperties
from bnn.paths.phases import ENGINEERING, moduli
from bnn.paths.return_mapping import History, Matrix, advance


class Localisation(NamedTuple):
    """Points of K models for N RVEs; the last `n_fibre` of the P points are in fibres."""

    A: Tensor  # (K, N, P, 3, 3) strain xx, yy, engineering xy of a point relative to the RVE
    weights: Tensor  # (K, N, P)
    n_fibre: int


def consistent(A: Tensor, logits: Tensor, vf: Tensor, n_fibre: int) -> Localisation:
    """Return points whose weights sum to the volume fractions and whose mean strain is the RVE's.

    Args:
        A: (K, N, P, 3, 3) strains of the points relative to the strain of the RVE, up to a common
            matrix, which is corrected.
        logits: (K, N, P), logarithms of the points' shares of their phase, up to a constant.
        vf: (N,) volume fraction of the fibres.
        n_fibre: Number of points in the fibres, which come last.

    Returns:
        The points.
    """
    # w_i = v_r softmax(logits in phase r),   A_i ← A_i + I - Σ w A
    in_matrix = torch.softmax(logits[..., :-n_fibre], dim=-1) * (1.0 - vf[:, None])
    in_fibres = torch.softmax(logits[..., -n_fibre:], dim=-1) * vf[:, None]
    weights = torch.cat([in_matrix, in_fibres], dim=-1)
    mean = torch.einsum("knp,knpij->knij", weights, A)
    A = A + (torch.eye(3, dtype=A.dtype) - mean)[:, :, None]
    return Localisation(A, weights, n_fibre)


def rve_stress(points: Localisation, X: Tensor, strain: Tensor, phases: PhaseProperties) -> Tensor:
    """Return the stress (K, N, T, 3) [MPa] of RVEs with inputs X (N, 4) on paths (N, T, 3)."""
    A, weights, n_fibre = points
    members, rves, n_points = weights.shape
    engineering = strain * torch.as_tensor(ENGINEERING, dtype=strain.dtype)
    local = torch.einsum("knpij,ntj->tknpi", A, engineering)
    dilatation = local[..., 0] + local[..., 1]
    # Deviator of the strain tensor: e_xx = ε_xx - θ/3,   e_yy = ε_yy - θ/3,   e_xy = γ / 2
    in_plane = torch.tensor([1.0, 1.0, 0.0], dtype=local.dtype)
    deviator = local * torch.tensor([1.0, 1.0, 0.5], dtype=local.dtype)
    deviator = deviator - dilatation[..., None] / 3.0 * in_plane
    n_matrix = n_points - n_fibre
    K_m, G_m = moduli(1e3 * phases.E_m_GPa, phases.nu_m)
    K_f, G_f = moduli(1e3 * X[:, 1, None], phases.nu_f)
    matrix = Matrix(
        G_m,
        phases.sigma_y0_MPa,
        X[:, 2, None].expand(members, rves, n_matrix).reshape(-1),
        X[:, 3, None].expand(members, rves, n_matrix).reshape(-1),
    )
    flat = deviator[..., :n_matrix, :].reshape(len(local), -1, 3)
    in_matrix = deviatoric_stress(flat, matrix).reshape(*local.shape[:3], n_matrix, 3)
    in_fibres = 2.0 * G_f[..., None] * deviator[..., n_matrix:, :]
    pressure = torch.cat([K_m * dilatation[..., :n_matrix], K_f * dilatation[..., n_matrix:]], -1)
    stress = torch.cat([in_matrix, in_fibres], dim=-2)
    stress = stress + pressure[..., None] * in_plane
    return torch.einsum("knp,knpij,tknpi->kntj", weights, A, stress)


def deviatoric_stress(deviators: Tensor, matrix: Matrix) -> Tensor:
    """Compute the deviatoric stress of points along strain paths that start at rest.

    Args:
        deviators: (steps, points, 3) components xx, yy, xy of the deviatoric strain tensor [-].
        matrix: Material constants at the points.

    Returns:
        Stress (steps, points, 3), xx, yy, xy [MPa]. It has gradients only with respect to
        `deviators`.

    Beyond a shear strain of a / (2√3 μ) a point without hardening carries a / √3:

    >>> import torch
    >>> shear = torch.tensor([[[0.0, 0.0, 0.01]], [[0.0, 0.0, 0.5]]], dtype=torch.float64)
    >>> perfectly_plastic = Matrix(100.0, 3.0**0.5, 0.0, 1.0)
    >>> deviatoric_stress(shear, perfectly_plastic)[:, 0, 2].round(decimals=12)
    tensor([1., 1.], dtype=torch.float64)
    """
    points = deviators.shape[1]
    constants = [torch.as_tensor(values, dtype=torch.float64).expand(points) for values in matrix]
    stress: Tensor = _ReturnMapping.apply(deviators, *constants)
    return stress


class _ReturnMapping(torch.autograd.Function):
    """The return mapping over all steps of the paths, and its gradient."""

    @staticmethod
    def forward(ctx: Any, deviators: Tensor, *constants: Tensor) -> Tensor:
        """Return the stress, (steps, points, 3)."""
        matrix = Matrix(*constants)
        history = History.at_rest(deviators.shape[1])
        stress = torch.empty_like(deviators)
        steps = []
        for t in range(len(deviators)):
            stress[t], history, step = advance(deviators[t], history, matrix)
            steps.append(step)
        ctx.steps = steps
        ctx.shear_modulus = constants[0]
        return stress

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient with respect to the deviators, (steps, points, 3)."""
        mu = ctx.shear_modulus
        of_stress = gradients[0]
        of_deviators = torch.empty_like(of_stress)
        of_plastic_strain = torch.zeros_like(of_stress[0])
        of_p = torch.zeros_like(mu)
        for t in reversed(range(len(of_stress))):
            d, q, increment, compliance = ctx.steps[t]
            # s = s_tr - 3μ Δp d,   ε_p = ε_p,n + 3/2 Δp d
            of_flow = 1.5 * of_plastic_strain - 3.0 * mu[:, None] * of_stress[t]
            along = (of_flow * d).sum(1)
            of_increment = along + of_p
            # d = s_tr / q,   and Δp depends on q
            of_q = of_increment * compliance - increment * along / q
            of_trial = of_stress[t] + (increment / q)[:, None] * of_flow
            of_trial = of_trial + of_q[:, None] * _mises_gradient(d)
            # p = p_n + Δp with ∂Δp/∂p_n = -h' / (3μ + h') = 3μ compliance - 1 if a point yields
            slope = torch.where(compliance > 0.0, 3.0 * mu * compliance - 1.0, 0.0)
            of_p = of_p + of_increment * slope
            # s_tr = 2μ (e - ε_p,n)
            of_deviators[t] = 2.0 * mu[:, None] * of_trial
            of_plastic_strain = of_plastic_strain - of_deviators[t]
        return of_deviators, None, None, None, None


def _mises_gradient(d: Tensor) -> Tensor:
    """Return ∂q/∂s for xx, yy, xy, (points, 3), from the direction d = s / q."""
    xx, yy, xy = d.unbind(-1)
    return torch.stack([3.0 * xx + 1.5 * yy, 3.0 * yy + 1.5 * xx, 3.0 * xy], dim=-1)
