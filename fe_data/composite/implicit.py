"""Roots of small equations at many points, with derivatives by the implicit function theorem.

The return mapping of a law solves r(x, a) = 0 for x, with arguments a that depend on the strain. At
the root dx/da = -(∂r/∂x)⁻¹ ∂r/∂a. One more step of Newton's method from the root,

    x = x* - (∂r/∂x)⁻¹ r(x*, a)      with x* and ∂r/∂x held constant,

has the value x* and this derivative. Automatic differentiation therefore sees only this step, not
the iterations that led to x*.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

_ITERATIONS = 60
_ACCURACY = 1e-8  # of the last step, relative to the unknown; `root` adds another step
_ROUNDING = 1e-3  # longest relative step that rounding errors may cause
_LEAST_SHARE = 1e-3  # fraction of the unknown that remains if a step would make it negative
_LEAST = 1e-300  # smaller roots of an equation for one unknown count as this number

Residual = Callable[..., Tensor]


def root(residual: Residual, guess: Tensor, *arguments: Tensor, where: Tensor) -> Tensor:
    """Solve an equation at one point.

    Args:
        residual: Function r(x, *arguments). With one unknown x > 0, it is positive below the root
            and negative above it. With k unknowns, x and r have the shape (k,).
        guess: Initial value: a number, or a vector (k,).
        *arguments: All tensors other than x on which the residual depends.
        where: Boolean: whether to solve the equation. If not, the result is zero, but the residual
            has to be finite at x = 1.

    Returns:
        The root x, with its derivative by the arguments; NaN if no root is found.

    >>> nine = torch.tensor(9.0, requires_grad=True)
    >>> x = root(lambda x, a: a - x**2, torch.tensor(1.0), nine, where=torch.tensor(True))
    >>> x.backward()
    >>> x.detach().round(decimals=12), nine.grad.round(decimals=12)
    (tensor(3.), tensor(0.1667))
    """
    constant = [argument.detach() for argument in arguments]
    solve: Any = _Root.apply
    x, inverse = solve(residual, guess.detach(), where, *constant)
    r = residual(x, *arguments)
    step = inverse * r if guess.ndim == 0 else inverse @ r
    return torch.where(where, x - step, torch.zeros_like(x))


class _Root(torch.autograd.Function):
    """The iteration. `vmap` runs it once for all points, so that it can stop after the last."""

    @staticmethod
    def forward(
        residual: Residual, guess: Tensor, where: Tensor, *arguments: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Solve at one point."""
        one = [argument[None] for argument in arguments]
        x, inverse = _solve(residual, guess[None], where[None], one)
        return x[0], inverse[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG004 (PyTorch's)
        """Mark roots and inverse Jacobians as constants."""
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, residual: Residual, guess: Tensor, where: Tensor, *rest: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """Solve at all points of a batch."""
        every = [
            tensor.expand(info.batch_size, *tensor.shape) if at is None else tensor.movedim(at, 0)
            for tensor, at in zip((guess, where, *rest), in_dims[1:], strict=True)
        ]
        return _solve(residual, every[0], every[1], every[2:]), (0, 0)


def _solve(
    residual: Residual, guess: Tensor, where: Tensor, arguments: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return roots (n,) or (n, k) and inverse Jacobians; 1 and 0 if `where` is false."""
    active = where.nonzero()[:, 0]
    x = torch.ones_like(guess)
    inverse = torch.zeros(*guess.shape, *guess.shape[1:], dtype=guess.dtype)
    if len(active):
        at_points = vmap(residual)
        chosen = [argument[active] for argument in arguments]
        iterate = _bracketed if guess.ndim == 1 else _newton
        x[active], inverse[active] = iterate(lambda y: at_points(y, *chosen), guess[active])
    return x, inverse


def _bracketed(residual: Residual, x: Tensor) -> tuple[Tensor, Tensor]:
    """Apply Newton's method for one unknown, with bisection if a step leaves the known bounds.

    The root may be hundreds of orders of magnitude below the guess: a hardening b p^c with c = 0.01
    gives p = (excess / b)^100. Therefore the fraction that remains of a positive unknown falls
    quickly, to 1e-3, 1e-6, 1e-12 and so on, and bisection halves the logarithm.

    Returns:
        Roots (n,), NaN if none is found, and inverse slopes (n,).
    """
    low = torch.zeros_like(x)
    high = torch.full_like(x, torch.inf)
    share = torch.full_like(x, _LEAST_SHARE)
    for _ in range(_ITERATIONS):
        r, slope = _with_slope(residual, x)
        low = torch.where(r > 0, x, low)
        high = torch.where(r < 0, x, high)
        new = x - r / slope
        least = share * x
        share = torch.where(new < least, share**2, share)
        new = torch.maximum(new, least).clamp(min=_LEAST)
        inside = (new >= low) & (new <= high)
        if not inside.all():
            middle = (low.rsqrt() * high.rsqrt()).reciprocal()  # √(low · high)
            new = torch.where(inside, new, torch.where(high.isinf(), 4 * x, middle))
        is_root = (new - x).abs() <= _ACCURACY * x
        if is_root.all():
            break
        # By rounding errors the iteration for a small unknown can repeat in a cycle.
        repeats = ~is_root & ((new == low) | (new == high))
        x = torch.where(repeats, (low + high) / 2, new)
    # At the least root the residual need not vanish, so that `root` must not take its last step.
    inverse = torch.where(x > _LEAST, 1 / slope, 0.0)
    return torch.where(is_root, x, torch.nan), inverse


def _with_slope(residual: Residual, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return residuals (n,), each of which depends only on its unknown, and slopes (n,)."""
    with torch.enable_grad():
        at = x.detach().requires_grad_()
        r = residual(at)
        (slope,) = torch.autograd.grad(r.sum(), at)
    return r.detach(), slope


def _newton(residual: Residual, x: Tensor) -> tuple[Tensor, Tensor]:
    """Apply Newton's method for several unknowns, with halved steps if the residual grows."""
    for _ in range(_ITERATIONS):
        r, inverse = _with_inverse_jacobian(residual, x)
        step = (inverse @ r[..., None])[..., 0]
        size = r.norm(dim=1)
        length, of_root = step.norm(dim=1), x.norm(dim=1)
        # With larger rounding errors a small step does not make the residual smaller.
        is_rounded = (length <= _ROUNDING * of_root) & (residual(x - step).norm(dim=1) >= size)
        is_root = (length <= _ACCURACY * of_root) | is_rounded
        if is_root.all():
            break
        share = torch.where(is_root, 0.0, 1.0).to(x.dtype)
        for _ in range(10):
            grows = ~(residual(x - share[:, None] * step).norm(dim=1) <= size)
            if not grows.any():
                break
            share = torch.where(grows, share / 2, share)
        x = x - share[:, None] * step
    return torch.where(is_root[:, None], x, torch.nan), inverse


def _with_inverse_jacobian(residual: Residual, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the residuals (n, k) and inverse Jacobians (n, k, k) at n points."""
    with torch.enable_grad():
        at = x.detach().requires_grad_()
        r = residual(at)
        rows = [torch.autograd.grad(component.sum(), at, retain_graph=True)[0] for component in r.T]
    return r.detach(), torch.linalg.inv_ex(torch.stack(rows, dim=1)).inverse
