"""Gradients of the regularisation term of Algorithm 2, layer by layer.

A block is a (k, s) matrix: the weights of one layer of k networks. All penalties are -2 log p0 up
to a constant, to match the data term (y - f)ᵀ Σ_noise⁻¹ (y - f).
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from bnn._validation import Floats

Blocks = Sequence[Tensor]
# (differences ω - ω0, gradients, scale) → adds scale · ∂penalty/∂ω to the gradients.
AddGradient = Callable[[Blocks, Blocks, float], None]


class Regulariser(Protocol):
    """A penalty on the distance of the weights from their anchors."""

    def on(self, slices: Sequence[slice], device: torch.device) -> AddGradient:
        """Return a function that adds the gradient; layer l has the columns slices[l]."""
        ...


class GaussianRegulariser:
    """Penalty of a proper Gaussian, Σ_j p_j (ω_j - ω0_j)² - |Fᵀ (ω - ω0)|², p (d,), F (d, r)."""

    def __init__(self, precision: Floats, factor: Floats) -> None:
        self.precision = np.asarray(precision, dtype=float)
        self.factor = np.asarray(factor, dtype=float)

    def on(self, slices: Sequence[slice], device: torch.device) -> AddGradient:
        """Return the function that adds the gradient, see `Regulariser`."""
        whole = torch.as_tensor(self.precision, dtype=torch.float32, device=device)
        rows = [whole[s] for s in slices]
        subtract = LowRankRegulariser(self.factor).on(slices, device) if self.factor.size else None

        def add_gradient(differences: Blocks, gradients: Blocks, scale: float) -> None:
            for difference, gradient, row in zip(differences, gradients, rows, strict=True):
                # ∂/∂ω_j p_j (ω_j - ω0_j)² = 2 p_j (ω_j - ω0_j)
                gradient.addcmul_(difference, row, value=2.0 * scale)
            # ∂/∂ω (-|Fᵀ (ω - ω0)|²) = -2 F Fᵀ (ω - ω0)
            if subtract is not None:
                subtract(differences, gradients, -scale)

        return add_gradient


class PowerRegulariser:
    """Penalty of a generalised normal density, 2 Σ_j (|ω_j - ω0_j| / α_j)^β_j, α and β (d,)."""

    # By default members start at δ = ω - ω0 = 0, where |δ|^(β-1) has a pole if β < 1. For such β
    # the gradient is set to zero if |δ| is smaller than this fraction of α.
    SMALLEST = 1e-3

    def __init__(self, alpha: Floats, beta: Floats) -> None:
        self.alpha = np.asarray(alpha, dtype=float)
        self.beta = np.asarray(beta, dtype=float)

    def on(self, slices: Sequence[slice], device: torch.device) -> AddGradient:
        """Return the function that adds the gradient, see `Regulariser`."""
        alpha = torch.as_tensor(self.alpha, dtype=torch.float32, device=device)
        beta = torch.as_tensor(self.beta, dtype=torch.float32, device=device)
        smallest = torch.where(beta < 1.0, self.SMALLEST, 0.0)
        rows = [(alpha[s], beta[s], smallest[s]) for s in slices]

        def add_gradient(differences: Blocks, gradients: Blocks, scale: float) -> None:
            for difference, gradient, (alpha, beta, smallest) in zip(
                differences, gradients, rows, strict=True
            ):
                # ∂/∂ω 2 |δ/α|^β = 2 (β/α) |δ/α|^(β-1) sign(δ/α)
                ratio = difference / alpha
                size = torch.maximum(ratio.abs(), smallest).pow_(beta - 1.0)
                size.mul_(torch.where(ratio.abs() >= smallest, torch.sign(ratio), 0.0))
                gradient.addcmul_(size, beta / alpha, value=2.0 * scale)

        return add_gradient


class LowRankRegulariser:
    """Penalty |Fᵀ (ω - ω0)|² with F (d, r); for LowRankGaussian F Fᵀ = Σ0⁺ = (K-1) V S⁻² Vᵀ."""

    def __init__(self, factor: Floats) -> None:
        self.factor = np.asarray(factor, dtype=float)

    def on(self, slices: Sequence[slice], device: torch.device) -> AddGradient:
        """Return the function that adds the gradient, see `Regulariser`."""
        # The order of summation depends on the number of members. In float64 its rounding errors
        # are too small to change the float32 gradient.
        whole = torch.as_tensor(self.factor, dtype=torch.float64, device=device)
        factors = [whole[s].contiguous() for s in slices]

        def add_gradient(differences: Blocks, gradients: Blocks, scale: float) -> None:
            # z = Σ_l (ω - ω0)_l F_l over the layers l, (k, r)
            projection = differences[0].double() @ factors[0]
            for difference, factor in zip(differences[1:], factors[1:], strict=True):
                projection.addmm_(difference.double(), factor)
            # ∂/∂ω_l |Fᵀ (ω - ω0)|² = 2 z F_lᵀ
            for gradient, factor in zip(gradients, factors, strict=True):
                gradient.add_(projection @ factor.T, alpha=2.0 * scale)

        return add_gradient
