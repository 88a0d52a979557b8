"""A family of kernels of `evidence.fit_kernel_average` with one part more."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

import bnn
from bnn.gp.conditioning import least_variance
from bnn.gp.evidence import families
from bnn.gp.evidence.families import Family, FamilyDensity
from bnn.gp.warping import straightened

PARTS = ("additive", "arc-cosine")
VARIANCE = 0.1  # median of the variance of a part, as that of the rougher Matérn kernel
ELSEWHERE = 1e6  # length scale of an input that a part of one input does not depend on


@dataclass(repr=False)
class ArcCosine(bnn.Kernel):
    """Arc-cosine kernel of order one, that of wide networks with one layer of ReLU.

    k(x, x') = v |ž| |ž'| (sin θ + (π - θ) cos θ) / π with ž = (1, (x - ½) / L) and the angle θ
    between ž and ž'.

    Args:
        variance: v, that of f where x = ½.
        lengthscales: L, one for each input.

    Source: Cho & Saul (2009), Advances in Neural Information Processing Systems 22.
    """

    variance: float
    lengthscales: tuple[float, ...]

    def _evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        L = np.array(self.lengthscales)
        one, other = (torch.as_tensor((points - 0.5) / L) for points in (A, B))
        return np.asarray(self.variance * arc_cosine(one, other).numpy())

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return k(x, x) at X (n, n_in), (n,)."""
        z = (X - 0.5) / np.array(self.lengthscales)
        return np.asarray(self.variance * (1.0 + np.sum(z**2, axis=1)))


class ExtendedDensity(FamilyDensity):
    """log p(y | η) + log p(η) of a warped family with one part more.

    η has the hyper-parameters of the family and then, as logarithms, those of the part:

    - additive, Σ_i k_i φ(|z_i - z_i'| / l_i) with φ of ν = 5/2: k_1 .. k_n, l_1 .. l_n;
    - arc-cosine, `ArcCosine` of variance k: k, l_1 .. l_n.

    z are the inputs as the family warps and mixes them. A variance has the median 0.1 and a length
    scale the median 1, with the deviations and limits of those of the family.

    Args:
        family: A family with warps.
        u: Inputs scaled to [0, 1], (N, n).
        y: Output less its mean, in units of its standard deviation, (N,).
        relative: Variances of the noise, (N,).
        part: One of PARTS.

    Raises:
        ValueError: The family has no warps, or there is no such part.
    """

    def __init__(
        self, family: Family, u: np.ndarray, y: np.ndarray, relative: np.ndarray, part: str
    ) -> None:
        super().__init__(family, u, y, None, relative)
        if not family.warped:
            raise ValueError("family has no warps: must have warps")
        if part not in PARTS:
            raise ValueError(f"part = {part!r}: must be one of {', '.join(PARTS)}")
        self.part = part
        n = u.shape[1]
        own = len(self.centre)
        count = n if part == "additive" else 1
        self.own_variances = slice(own, own + count)
        self.own_lengthscales = slice(own + count, own + count + n)
        deviations = [families.VARIANCE_DEVIATION] * count + [families.LENGTHSCALE_DEVIATION] * n
        limits = [families.LIMITS["variance"]] * count + [families.LIMITS["lengthscale"]] * n
        self.centre = np.concatenate([self.centre, np.full(count, np.log(VARIANCE)), np.zeros(n)])
        self.precision = np.concatenate([self.precision, np.array(deviations) ** -2.0])
        self.limits = np.vstack([self.limits, np.log(limits)])

    def thinned(self, rows: np.ndarray) -> "ExtendedDensity":
        """Return the density of some of the data."""
        data = self.u[rows], self.y[rows], self.relative[rows]
        return ExtendedDensity(self.family, *data, self.part)

    def __call__(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient by η."""
        given = torch.tensor(eta, requires_grad=True)
        try:
            value = self._log_evidence(given)
        except torch.linalg.LinAlgError:
            return -np.inf, np.zeros_like(eta)
        value.backward()
        slopes = given.grad.numpy() - self.precision * (eta - self.centre)
        return value.item() + float(self.log_prior(eta)), slopes

    def log_evidence(self, eta: np.ndarray) -> float:
        """Return log p(y | X, η) up to a constant."""
        try:
            return self._log_evidence(torch.as_tensor(eta)).item()
        except torch.linalg.LinAlgError:
            return -np.inf

    def kernel(
        self, eta: np.ndarray, low: np.ndarray, width: np.ndarray, spread: float
    ) -> bnn.Warped:
        """Return the kernel for inputs low + width u and an output of variance `spread`."""
        family = super().kernel(eta, low, width, spread)
        variances = np.exp(eta[self.own_variances]) * spread
        lengthscales = np.exp(eta[self.own_lengthscales])
        if self.part == "arc-cosine":
            own = ArcCosine(float(variances[0]), tuple(lengthscales.tolist()))
            return replace(family, kernel=family.kernel + own)
        total = family.kernel
        for i in range(len(variances)):
            each = np.full(len(lengthscales), ELSEWHERE)
            each[i] = lengthscales[i]
            total = total + bnn.Matern52(float(variances[i]), tuple(each.tolist()))
        return replace(family, kernel=total)

    def _log_evidence(self, eta: Tensor) -> Tensor:
        covariance = self._covariance(eta)
        largest = covariance.diagonal().max().item()
        noise = np.maximum(self.relative, least_variance(len(self.y), largest))
        root = torch.linalg.cholesky(covariance + torch.as_tensor(noise).diag())
        y = torch.as_tensor(self.y)[:, None]
        whitened = torch.linalg.solve_triangular(root, y, upper=False)
        # log p(y | η) = -½ |R⁻¹ y|² - Σ_i log R_ii + const, with R Rᵀ = k(u, u) + Σ
        return -0.5 * whitened.square().sum() - root.diagonal().log().sum()

    def _covariance(self, eta: Tensor) -> Tensor:
        """Return k of the training inputs, (N, N)."""
        z = self._inputs(eta)
        total = torch.full((len(z), len(z)), families.OFFSET**2, dtype=torch.float64)
        for kind, (k0, L) in zip(self.family.kinds, self.parts, strict=True):
            total = total + eta[k0].exp() * _matern(kind, z / eta[L].exp())
        if self.family.trend:
            v = eta[self.trend].exp()
            total = total + families.UNIFORM * v * (z - 0.5) @ (z - 0.5).T
        k = eta[self.own_variances].exp()
        lengthscales = eta[self.own_lengthscales].exp()
        if self.part == "arc-cosine":
            scaled = (z - 0.5) / lengthscales
            return total + k * arc_cosine(scaled, scaled)
        for i in range(len(k)):
            total = total + k[i] * _matern(bnn.Matern52, z[:, [i]] / lengthscales[i])
        return total

    def _inputs(self, eta: Tensor) -> Tensor:
        """Return z, the training inputs warped and mixed as by `bnn.Warped`."""
        warps = eta[self.warps]
        # The values that `bnn.Warped` takes, with the derivatives by the warps that are given.
        taken = torch.as_tensor(straightened(warps.detach().numpy()))
        warps = warps + (taken - warps).detach()
        z = torch.log1p(torch.expm1(warps) * torch.as_tensor(self.u)) / warps
        if not self.family.mixed:
            return z
        n = z.shape[1]
        C = torch.zeros((n, n), dtype=torch.float64)
        off_diagonal = ~torch.eye(n, dtype=torch.bool)
        return z + z @ C.masked_scatter(off_diagonal, eta[self.mixing])


def arc_cosine(one: Tensor, other: Tensor) -> Tensor:
    """Return |ž| |ž'| (sin θ + (π - θ) cos θ) / π of ž = (1, z) for z (n, n_in) and (m, n_in)."""
    first = torch.cat([torch.ones_like(one[:, :1]), one], dim=1)
    second = torch.cat([torch.ones_like(other[:, :1]), other], dim=1)
    norms = first.norm(dim=1)[:, None] * second.norm(dim=1)
    # The angle has no derivative at ±1.
    cosine = (first @ second.T / norms).clamp(-1.0 + 1e-12, 1.0 - 1e-12)
    theta = torch.acos(cosine)
    return norms * (torch.sin(theta) + (np.pi - theta) * cosine) / np.pi


def _matern(kind: type, z: Tensor) -> Tensor:
    """Return φ of the distances between points z (n, n_in), (n, n)."""
    squares = z.square().sum(dim=1)
    # The root has no derivative at zero, where that of the kernel is zero.
    r = (squares[:, None] + squares - 2.0 * z @ z.T).clamp_min(1e-14).sqrt()
    if kind is bnn.Matern32:
        s = np.sqrt(3.0) * r
        return (1.0 + s) * torch.exp(-s)
    if kind is bnn.Matern52:
        s = np.sqrt(5.0) * r
        return (1.0 + s + s.square() / 3.0) * torch.exp(-s)
    raise ValueError(f"kind = {kind.__name__}: has no profile here")
