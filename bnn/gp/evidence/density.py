"""The density of the hyperparameters of a family of Gaussian processes, see `families`."""

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs
from scipy.spatial.distance import pdist, squareform
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, Ints
from bnn.gp.conditioning import least_variance
from bnn.gp.evidence.families import (
    LENGTHSCALE_DEVIATION,
    LENGTHSCALE_MEDIANS,
    LIMITS,
    MIXING,
    MIXING_DEVIATION,
    NOISE,
    NOISE_DEVIATION,
    OFFSET,
    SLOPE_DEVIATION,
    SLOPES,
    SMALL_DEVIATION,
    SMALL_NOISE,
    SMALL_ODDS,
    SPARSE_DEVIATION,
    TREND,
    TREND_DEVIATION,
    UNIFORM,
    VARIANCE_DEVIATION,
    VARIANCE_MEDIANS,
    WARP_DEVIATION,
    WARPS,
    Family,
    NoiseForm,
)
from bnn.gp.evidence.prescribed import BEYOND, PrescribedCovariance
from bnn.gp.kernels import Linear
from bnn.gp.warping import Warped, warped


class Solved(NamedTuple):
    """The evidence of the data under some hyperparameters, with what its computation leaves.

    Attributes:
        log_evidence: log p(y | X, η) up to a constant, -inf if the covariance has no factor.
        root: L of the covariance Σ = L Lᵀ of the data, on and below its diagonal, (N, N), or None.
        alpha: α = Σ⁻¹ (y - m), (N,).
    """

    log_evidence: float
    root: Array | None
    alpha: Array


class FamilyDensity:
    """log p(y | X, η) + log p(η) up to a constant that is the same for all families.

    η contains, in this order:

    - for each stationary part log k0 and log L_1 .. L_n,
    - log v, the warps λ, and the entries of C off its diagonal,
    - the open parameters of the prescribed covariance: the logarithms of kernel parameters, or ρ,
    - if the noise is unknown, log σ² and the slopes β.

    Args:
        family: Form of the kernel.
        u: Inputs scaled to [0, 1], (N, n).
        y: Output minus its mean, in units of its standard deviation, (N,).
        noise: Form of the noise.
        covariance: Prescribed covariance, for a family without a trend; None adds o².
    """

    def __init__(
        self,
        family: Family,
        u: Array,
        y: Array,
        noise: NoiseForm,
        covariance: PrescribedCovariance | None = None,
    ) -> None:
        self.family = family
        self.noise_form = noise
        self.covariance = covariance
        self.u = u
        self.y = y
        self._forms = [kind() for kind in family.kinds]
        n = u.shape[1]
        centre: list[float] = []
        deviations: list[float] = []
        limits: list[tuple[float, float]] = []

        def add(count: int, median: float, deviation: float, ends: tuple[float, float]) -> slice:
            begin = len(centre)
            centre.extend([median] * count)
            deviations.extend([deviation] * count)
            limits.extend([ends] * count)
            return slice(begin, begin + count)

        ends = {name: (np.log(low), np.log(high)) for name, (low, high) in LIMITS.items()}
        self.parts = []
        growth = np.sqrt(n) if family.sparse else 1.0
        deviation = SPARSE_DEVIATION if family.sparse else LENGTHSCALE_DEVIATION
        for p in range(len(family.kinds)):
            k0 = add(1, np.log(VARIANCE_MEDIANS[p]), VARIANCE_DEVIATION, ends["variance"])
            L = add(n, np.log(growth * LENGTHSCALE_MEDIANS[p]), deviation, ends["lengthscale"])
            self.parts.append((k0, L))
        self.trend_slope = add(
            1 if family.trend else 0, np.log(TREND), TREND_DEVIATION, ends["trend"]
        )
        self.warps = add(n if family.warped else 0, 0.0, WARP_DEVIATION, (-WARPS, WARPS))
        many = n * (n - 1) if family.mixed else 0
        self.mixing = add(many, 0.0, MIXING_DEVIATION, (-MIXING, MIXING))
        first = len(centre)
        for hyperprior in covariance.hyperpriors if covariance else ():
            add(1, *hyperprior[:3])
        self.open = slice(first, len(centre))
        levels = 0 if noise.basis is None else 1
        slopes = 0 if noise.basis is None else noise.basis.shape[1]
        usual, small = (NOISE, NOISE_DEVIATION), (SMALL_NOISE, SMALL_DEVIATION)
        median, deviation = small if noise.small else usual
        self.noise_level = add(levels, np.log(median), deviation, ends["noise"])
        self.slopes = add(slopes, 0.0, SLOPE_DEVIATION, (-SLOPES, SLOPES))
        self.centre = np.array(centre)
        self.deviations = np.array(deviations)
        self.precision = np.zeros(len(centre)) if family.flat else self.deviations**-2.0
        self.limits = np.array(limits).reshape(-1, 2)

    def thinned(self, rows: Ints) -> Self:
        """Return the density of some of the data."""
        covariance = None if self.covariance is None else self.covariance.thinned(rows)
        data = self.u[rows], self.y[rows], self.noise_form.thinned(rows)
        return type(self)(self.family, *data, covariance)

    def with_noise(self, noise: NoiseForm) -> Self:
        """Return the density under another noise, whose parameters are those in its η."""
        return type(self)(self.family, self.u, self.y, noise, self.covariance)

    def start_from(self, other: "FamilyDensity", eta: Array) -> Array:
        """Return a start for this family: values in η of parameters in common, else its medians."""
        start = self.centre.copy()
        for (k0, L), (k0_other, L_other) in zip(self.parts, other.parts, strict=False):
            start[k0] = eta[k0_other]
            start[L] = eta[L_other]
        for name in ("trend_slope", "warps", "mixing", "open", "noise_level", "slopes"):
            there = eta[getattr(other, name)]
            here = getattr(self, name)
            if there.size == start[here].size:
                start[here] = there
        return np.clip(start, *self.limits.T)

    def variances(self, eta: Array) -> Array:
        """Return the variances of the noise of the data, (N,)."""
        form = self.noise_form
        if form.basis is None:
            return form.fixed
        return np.asarray(form.relative * self.unit_variances(eta) + form.fixed)

    def unit_variances(self, eta: Array) -> Array:
        """Return the variances of unknown noise at the data, (N,), for r = 1: σ² exp(2 β·b_i)."""
        basis = self.noise_form.basis
        assert basis is not None
        return np.asarray(np.exp(eta[self.noise_level] + 2.0 * basis @ eta[self.slopes]))

    def curvatures(self, eta: Array) -> Array:
        """Return the variances of c_i, (n,): beyond the data f(u) bends by c_i h², h = u_i - 1.

        There is as much curvature as over the data, and the second difference of the stationary
        parts over steps of three ranges. As f(2 d) - 2 f(d) + f(0) = 2 c d², the latter counts four
        times the variance of such a c: bands are rather too wide.
        """
        total = self._curvatures_of_data.copy()
        d = 3.0
        for form, (k0, L) in zip(self._forms, self.parts, strict=True):
            # Var [f(2 d) - 2 f(d) + f(0)] / d⁴ = 2 k0 (3 - 4 φ(d / L) + φ(2 d / L)) / d⁴
            near, far = (
                form.correlation((step * d) ** 2 * np.exp(-2.0 * eta[L])) for step in (1.0, 2.0)
            )
            # For a long L the sum is below its rounding errors.
            total += 2.0 * np.exp(eta[k0]) * np.maximum(3.0 - 4.0 * near + far, 0.0) / d**4
        return total

    @cached_property
    def _curvatures_of_data(self) -> Array:
        """Estimates of c_i², (n,), for y = a_i + b_i u_i + c_i u_i² + error of each input.

        Each input has its own fit. A common fit gives inputs that depend on each other large
        coefficients of opposite signs. The estimates are unbiased if the error does not depend on
        the input, except that negative ones become zero. They are zero for inputs with two values,
        and for fewer than five data.
        """
        curvatures = np.zeros(self.u.shape[1])
        freedom = len(self.y) - 3
        if freedom < 2:
            return curvatures
        for i, column in enumerate(self.u.T):
            line = np.stack([np.ones_like(column), column], axis=1)
            # q and r: u² and y minus their straight lines
            q, r = (v - line @ np.linalg.lstsq(line, v, rcond=None)[0] for v in (column**2, self.y))
            norm = q @ q
            if norm < 1e-12 * len(self.y):
                continue
            # c = qᵀ r / qᵀ q and var c = |r - c q|² / ((N - 3) qᵀ q)
            c = q @ r / norm
            variance = np.sum((r - c * q) ** 2) / (freedom * norm)
            curvatures[i] = max(c**2 - variance, 0.0)
        return curvatures

    def mixing_matrix(self, eta: Array) -> Array:
        """Return C, (n, n)."""
        n = self.u.shape[1]
        C = np.zeros((n, n))
        if self.family.mixed:
            C[~np.eye(n, dtype=bool)] = eta[self.mixing]
        return C

    def kernel(
        self,
        eta: Array,
        low: Array,
        width: Array,
        spread: float,
        make: Callable[..., Any] = lambda kind, *values: kind(*values),
    ) -> sk.Kernel:
        """Return the kernel for inputs low + width u and an output of variance `spread`.

        A family without stationary parts returns the prescribed kernel. The kernel of any other
        family does not include the prescribed covariance. `make` makes a kernel from its class and
        the values of its fields.
        """
        if self.covariance is not None and not self.parts:
            return self.covariance.kernel(eta[self.open])
        plain = not (self.family.warped or self.family.mixed)
        scale = width if plain else np.ones_like(width)
        origin = low + 0.5 * width if plain else np.full_like(width, 0.5)
        total: sk.Kernel | None = None
        for kind, (k0, L) in zip(self.family.kinds, self.parts, strict=True):
            variance = float(np.exp(eta[k0][0]) * spread)
            term = make(kind, variance, tuple((np.exp(eta[L]) * scale).tolist()))
            total = term if total is None else total + term
        if self.covariance is not None:
            return total
        slopes = UNIFORM * self._trend(eta) * spread / scale**2
        # Half of the range of z over data within [0, 1], and BEYOND ranges more
        turn = np.eye(len(width)) + self.mixing_matrix(eta)
        ends = np.stack([np.minimum(turn, 0.0).sum(axis=0), np.maximum(turn, 0.0).sum(axis=0)])
        half = np.abs(ends - 0.5).max(axis=0) * scale
        # Of the slopes in the units of X, over half the range
        bends = self.curvatures(eta) * (2.0 * half / scale) ** 2 * spread / scale**2
        points = (tuple(v.tolist()) for v in (origin, (1.0 + 2.0 * BEYOND) * half, bends, half))
        linear = make(Linear, tuple(slopes.tolist()), OFFSET**2 * spread, *points)
        total = total + linear
        if plain:
            return total
        warps = eta[self.warps] if self.family.warped else np.zeros(len(low))
        C = self.mixing_matrix(eta) if self.family.mixed else None
        rows = None if C is None else tuple(map(tuple, C.tolist()))
        return make(Warped, total, tuple(low), tuple(width), tuple(warps), rows)

    def __call__(self, eta: Array) -> tuple[float, Array]:
        """Return the value and its gradient with respect to η."""
        w, by_warps = self._warped(eta)
        turn = np.eye(w.shape[1]) + self.mixing_matrix(eta)
        z = w @ turn
        root, _, profiles = self._factorised(eta, z, with_slopes=True)
        if root is None:
            return -np.inf, np.zeros_like(eta)
        value, solved = self._evidence(root, eta)
        # ∂ log p(y) / ∂η = ½ tr(M ∂Σ/∂η), with M = α αᵀ - Σ⁻¹
        inverse = dpotri(root, lower=True, overwrite_c=True)[0]
        M = np.outer(solved, solved)
        M -= inverse.T
        # M is valid only on and above its diagonal, whose pairs p < q `squareform` reads in the
        # order of pdist.
        pairs = squareform(M, checks=False)
        diagonal = np.diag(M).copy()
        slopes = np.zeros_like(eta)
        by_z = np.zeros_like(z)
        for (k0, L), (values, derivatives) in zip(self.parts, profiles, strict=True):
            # ∂Σ/∂ log k0 = K, and ∂Σ_pq/∂r² = k0 φ'(r²)
            slopes[k0] = pairs @ values + 0.5 * np.exp(eta[k0]) * diagonal.sum()
            weighted = squareform(pairs * derivatives)
            # Σ_q G_pq (z_p - z_q); its products with z give the sums over squared differences.
            away = weighted.sum(axis=1)[:, None] * z - weighted @ z
            squared = np.exp(-2.0 * eta[L])
            slopes[L] = -2.0 * np.sum(z * away, axis=0) * squared
            by_z += 2.0 * away * squared
        centred = z - 0.5
        if self.family.trend or self.covariance is not None:
            full = squareform(pairs)
            full[np.diag_indices(len(z))] = diagonal
        if self.family.trend:
            by_trend = UNIFORM * self._trend(eta) * (full @ centred)
            slopes[self.trend_slope] = 0.5 * np.sum(centred * by_trend)
            by_z += by_trend
        if self.covariance is not None:
            pairs_of = self.covariance.slopes(eta[self.open])
            slopes[self.open] = [0.5 * np.sum(full * slope) for slope in pairs_of]
            slopes[self.open] += self.covariance.mean_slopes(eta[self.open]) @ solved
        if self.family.mixed:
            slopes[self.mixing] = (w.T @ by_z)[~np.eye(len(turn), dtype=bool)]
        if self.family.warped:
            slopes[self.warps] = np.sum((by_z @ turn.T) * by_warps, axis=0)
        form = self.noise_form
        if form.basis is not None:
            # ∂Σ/∂ log σ_i² = σ_i² e_i e_iᵀ
            by_data = 0.5 * diagonal * (form.relative * self.unit_variances(eta))
            slopes[self.noise_level] = by_data.sum()
            slopes[self.slopes] = 2.0 * form.basis.T @ by_data
        value += self.log_prior(eta)
        return value, slopes - self.precision * (eta - self.centre)

    def value(self, eta: Array) -> float:
        """Return only the value, at half the cost."""
        return self.log_evidence(eta) + self.log_prior(eta)

    def log_evidence(self, eta: Array) -> float:
        """Return log p(y | X, η) up to a constant, -inf if the covariance has no factor."""
        return self.solved(eta).log_evidence

    def log_prior(self, eta: Array) -> float:
        """Return log p(η) up to a constant, which is less for small noise by its prior odds."""
        of_kind = -np.log(SMALL_ODDS) if self.noise_form.small else 0.0
        return float(of_kind - 0.5 * (eta - self.centre) ** 2 @ self.precision)

    def solved(self, eta: Array) -> Solved:
        """Return log p(y | X, η) up to a constant with L, on and below its diagonal, and α."""
        root = self._factorised(eta, self._coordinates(eta))[0]
        if root is None:
            return Solved(-np.inf, None, np.zeros_like(self.y))
        value, alpha = self._evidence(root, eta)
        return Solved(value, root, alpha)

    def moments(self, eta: Array, places: Array, solved: Solved) -> Array:
        """Return the means and variances of f given the data, (2 m,), at scaled places (m, n)."""
        mean: Array | float = 0.0
        if self.covariance is not None:
            cross, variances = self.covariance.at(places, eta[self.open])
            mean = self.covariance.mean_at(places, eta[self.open])
        if self.parts:
            ends = np.zeros(self.u.shape[1]), np.ones(self.u.shape[1])
            kernel = self.kernel(eta, *ends, 1.0, _unchecked)
            if self.covariance is None:
                cross, variances = _covariances(kernel, self.u, places)
            else:
                cross = kernel(self.u, places) + cross
                variances = kernel.diag(places) + variances
        # m(x) + k(x, X) α and k(x, x) - |L⁻¹ k(X, x)|²
        mean = mean + cross.T @ solved.alpha
        whitened = dtrtrs(solved.root, cross, lower=True)[0]
        left = variances - np.sum(whitened**2, axis=0)
        return np.concatenate([mean, np.maximum(left, np.finfo(float).eps * variances)])

    def squares(self, eta: Array) -> Array:
        """Return E (y - f)² of the data, (N,)."""
        root, noise, _ = self._factorised(eta, self._coordinates(eta))
        assert root is not None
        solved = self._evidence(root, eta)[1]
        inverse = np.diag(dpotri(root, lower=True)[0])
        # y - m = σ² α, and S_ii = σ_i² - σ_i⁴ (Σ⁻¹)_ii
        return np.asarray((noise * solved) ** 2 + noise - noise**2 * inverse)

    def left_out(self, eta: Array) -> tuple[Array, Array]:
        """Return each residual from all other data, in deviations, and its log density, (N,) each.

        Source: Rasmussen & Williams (2006), equations 5.10 to 5.12.
        """
        solved = self.solved(eta)
        # (y_i - m_i) / s_i = α_i / √(Σ⁻¹)_ii and s_i² = 1 / (Σ⁻¹)_ii, without datum i
        precisions = np.diag(dpotri(solved.root, lower=True)[0])
        away = solved.alpha / np.sqrt(precisions)
        return away, 0.5 * (np.log(precisions) - away**2 - np.log(2.0 * np.pi))

    def _warped(self, eta: Array) -> tuple[Array, Array]:
        if self.family.warped:
            return warped(self.u, eta[self.warps])
        return self.u, np.zeros_like(self.u)

    def _trend(self, eta: Array) -> float:
        """Return v."""
        return float(np.exp(eta[self.trend_slope])[0]) if self.family.trend else 0.0

    def _coordinates(self, eta: Array) -> Array:
        """Return z, the warped and mixed inputs, (N, n)."""
        w = self._warped(eta)[0]
        return np.asarray(w + w @ self.mixing_matrix(eta))

    def _factorised(
        self, eta: Array, z: Array, with_slopes: bool = False
    ) -> tuple[Array | None, Array, list[tuple[Array, Array]]]:
        """Factorise the covariance Σ of the data at the coordinates z.

        Returns:
            L of Σ = L Lᵀ, or None if there is no factor; the variances of the noise in Σ, (N,), at
            least the nugget; and with slopes k0 φ and k0 ∂φ/∂r² of each part for all pairs.
        """
        profiles = []
        total = np.zeros(len(z) * (len(z) - 1) // 2)
        variance = 0.0
        for form, (k0, L) in zip(self._forms, self.parts, strict=True):
            size = float(np.exp(eta[k0][0]))
            squares = pdist(z / np.exp(eta[L]), "sqeuclidean")
            if with_slopes:
                correlation, slope = form.correlation_and_slope(squares)
                profiles.append((size * correlation, size * slope))
                total += profiles[-1][0]
            else:
                total += size * form.correlation(squares)
            variance += size
        matrix = squareform(total, checks=False)
        if self.family.trend:
            centred = z - 0.5
            matrix += UNIFORM * self._trend(eta) * (centred @ centred.T)
        prescribed = self.covariance
        matrix += OFFSET**2 if prescribed is None else prescribed.covariance(eta[self.open])
        matrix[np.diag_indices(len(z))] += variance
        least = least_variance(len(z), np.diag(matrix).max())
        noise = np.maximum(self.variances(eta), least)
        matrix[np.diag_indices(len(z))] += noise
        root, failed = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
        return None if failed else root, noise, profiles

    def _evidence(self, root: Array, eta: Array) -> tuple[float, Array]:
        """Return log p(y | X, η) and α = Σ⁻¹ (y - m), with L of Σ = L Lᵀ."""
        y = self.y if self.covariance is None else self.y - self.covariance.mean(eta[self.open])
        solved = dpotrs(root, y, lower=True)[0]
        # log p(y) = -½ (y - m)ᵀ α - Σ_i log L_ii + const, of a copy as in `log_diagonal`
        return float(-0.5 * y @ solved - np.log(root.diagonal().copy()).sum()), solved


def _unchecked(kind: type, *values: Any) -> Any:
    """Return a kernel without the checks of its fields, which take longer than few covariances."""
    kernel: Any = object.__new__(kind)
    names = [field.name for field in fields(kind)]
    kernel.__dict__.update(zip(names, values, strict=False))
    return kernel


def _covariances(kernel: Any, A: Array, B: Array) -> tuple[Array, Array]:
    """Return k(A, B), (n, m), and k(x, x) at B, (m,), of the kernel of a family.

    The latter is without slopes beyond the reach of its trend. A warp may put places far beyond the
    reach. The variances of these slopes, of which data say nothing, would then outweigh all others.
    """
    if isinstance(kernel, Warped):
        return _covariances(kernel.kernel, kernel.coordinates(A), kernel.coordinates(B))
    variances = kernel.k1.diag(B) + kernel.k2.diag_within_reach(B)
    return np.asarray(kernel(A, B)), np.asarray(variances)
