"""A family of kernels of `evidence.fit_mixture` with one part more, and what it predicts."""

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from bnn.priors.evidence import families
from bnn.priors.evidence.families import FamilyDensity

PARTS = ("additive", "arc-cosine")
VARIANCE = 0.1  # median of the variance of a part, as that of the rougher Matérn kernel
STEPS = 100
NO_WARP = 1e-4  # below it log(1 + u (eʷ - 1)) / w loses digits, and differs by less than w from u


class ExtendedDensity:
    """log p(y | η) of a family with one part more, less the squares of its hyperprior.

    η has the hyper-parameters of the family and then, as logarithms, those of the part:

    - additive, Σ_i k_i φ(|z_i - z_i'| / l_i), with φ of ν = 5/2: k_1 .. k_n, l_1 .. l_n;
    - arc-cosine, k |ž| |ž'| (sin θ + (π - θ) cos θ) / π of ž = (1, (z - ½) / l) and the angle θ
      between ž and ž', that of wide networks of one layer of ReLU: k, l_1 .. l_n. Cho & Saul
      (2009), Advances in Neural Information Processing Systems 22.

    z are the inputs as the family warps and mixes them. Medians and deviations of the hyperprior
    are those of the family.

    Args:
        density: That of a warped family, with known noise.
        part: One of PARTS; None for the family as it is.

    Raises:
        ValueError: There is no such part.
    """

    def __init__(self, density: FamilyDensity, part: str | None = None) -> None:
        n = density.u.shape[1]
        variances = {None: 0, "additive": n, "arc-cosine": 1}
        if part not in variances:
            raise ValueError(f"part = {part!r}: must be one of {', '.join(PARTS)}, or None")
        self.density = density
        self.part = part
        self.variances = variances[part]
        lengthscales = 0 if part is None else n
        centre = [np.log(VARIANCE)] * self.variances + [0.0] * lengthscales
        deviations = [families.VARIANCE_DEVIATION] * self.variances
        deviations += [families.LENGTHSCALE_DEVIATION] * lengthscales
        limits = [np.log(families.LIMITS["variance"])] * self.variances
        limits += [np.log(families.LIMITS["lengthscale"])] * lengthscales
        self.centre = np.concatenate([density.centre, centre])
        self.precision = np.concatenate([density.precision, np.array(deviations) ** -2.0])
        self.limits = np.concatenate([density.limits, np.reshape(limits, (-1, 2))])
        self.u = torch.as_tensor(density.u)
        self.y = torch.as_tensor(density.y)
        self.noise = torch.as_tensor(density.relative)

    def __call__(self, eta: Tensor) -> Tensor:
        """Return log p(y | η) + log p(η), without constants."""
        root = self._root(eta)
        whitened = torch.linalg.solve_triangular(root, self.y[:, None], upper=False)
        # log p(y | η) = -½ |R⁻¹ y|² - Σ_i log R_ii + const, with R Rᵀ = k(u, u) + Σ
        likelihood = -0.5 * whitened.square().sum() - root.diagonal().log().sum()
        away = eta - torch.as_tensor(self.centre)
        return likelihood - 0.5 * (away.square() * torch.as_tensor(self.precision)).sum()

    def most_probable(self, start: np.ndarray) -> np.ndarray:
        """Return the η at which a search ends that starts at that of the family, or at all of η."""

        def negative(eta: np.ndarray) -> tuple[float, np.ndarray]:
            given = torch.tensor(eta, requires_grad=True)
            try:
                value = self(given)
            except torch.linalg.LinAlgError:
                return 1e10, np.zeros_like(eta)
            value.backward()
            return -value.item(), -given.grad.numpy()

        begin = np.concatenate([start, self.centre[len(start) :]])
        found = minimize(
            negative,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=self.limits,
            options={"maxiter": STEPS},
        )
        return np.asarray(found.x)

    def predict(self, eta: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of f at u (n, n_in), (n,) each."""
        given = torch.as_tensor(eta)
        points = torch.as_tensor(u)
        root = self._root(given)
        cross = self.covariance(given, self.u, points)
        mean = cross.T @ torch.cholesky_solve(self.y[:, None], root)[:, 0]
        whitened = torch.linalg.solve_triangular(root, cross, upper=False)
        before = self.covariance(given, points, points).diagonal()
        return mean.numpy(), (before - whitened.square().sum(dim=0)).numpy()

    def covariance(self, eta: Tensor, u: Tensor, other: Tensor) -> Tensor:
        """Return k between u (n, n_in) and other (m, n_in), (n, m)."""
        family = self.density.family
        z = self._inputs(eta, u)
        w = self._inputs(eta, other)
        total = torch.full((len(z), len(w)), families.OFFSET**2, dtype=torch.float64)
        for kind, (k0, L) in zip(family.kinds, self.density.parts, strict=True):
            lengthscales = eta[L].exp()
            r = _distances(z / lengthscales, w / lengthscales)
            total = total + eta[k0].exp() * _profile(kind.__name__, r)
        if family.trend:
            slope = families.UNIFORM * eta[self.density.trend].exp()
            total = total + slope * ((z - 0.5) @ (w - 0.5).T)
        own = eta[len(self.density.centre) :].exp()
        k = own[: self.variances]
        lengthscales = own[self.variances :]
        if self.part == "additive":
            for i in range(len(k)):
                r = _distances(z[:, [i]] / lengthscales[i], w[:, [i]] / lengthscales[i])
                total = total + k[i] * _profile("Matern52", r)
        elif self.part == "arc-cosine":
            total = total + k * _arc_cosine((z - 0.5) / lengthscales, (w - 0.5) / lengthscales)
        return total

    def _root(self, eta: Tensor) -> Tensor:
        covariance = self.covariance(eta, self.u, self.u) + self.noise.diag()
        root: Tensor = torch.linalg.cholesky(covariance)
        return root

    def _inputs(self, eta: Tensor, u: Tensor) -> Tensor:
        """Return z, the inputs warped and mixed as by `bnn.Warped`."""
        warps = eta[self.density.warps]
        warps = torch.where(warps.abs() < NO_WARP, torch.full_like(warps, NO_WARP), warps)
        z = torch.log1p(torch.expm1(warps) * u) / warps
        if not self.density.family.mixed:
            return z
        n = u.shape[1]
        C = torch.zeros((n, n), dtype=torch.float64)
        off_diagonal = ~torch.eye(n, dtype=torch.bool)
        return z + z @ C.masked_scatter(off_diagonal, eta[self.density.mixing])


def _distances(z: Tensor, w: Tensor) -> Tensor:
    squares = z.square().sum(dim=1)[:, None] + w.square().sum(dim=1) - 2.0 * z @ w.T
    # The root has no derivative at zero, where that of the kernel is zero.
    return squares.clamp_min(1e-14).sqrt()


def _profile(kind: str, r: Tensor) -> Tensor:
    """Return the Matérn kernel of variance 1 at distances r."""
    if kind == "Matern32":
        s = np.sqrt(3.0) * r
        return (1.0 + s) * torch.exp(-s)
    if kind == "Matern52":
        s = np.sqrt(5.0) * r
        return (1.0 + s + s.square() / 3.0) * torch.exp(-s)
    raise ValueError(f"kind = {kind}: has no profile here")


def _arc_cosine(z: Tensor, w: Tensor) -> Tensor:
    one = torch.cat([torch.ones_like(z[:, :1]), z], dim=1)
    other = torch.cat([torch.ones_like(w[:, :1]), w], dim=1)
    norms = one.norm(dim=1)[:, None] * other.norm(dim=1)
    # The angle has no derivative at ±1.
    cosine = (one @ other.T / norms).clamp(-1.0 + 1e-12, 1.0 - 1e-12)
    theta = torch.acos(cosine)
    return norms * (torch.sin(theta) + (np.pi - theta) * cosine) / np.pi
