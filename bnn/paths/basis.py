"""Basis of material points, whose stresses are features of the stress of an RVE.

A mean-field model has one point in the matrix and one in the fibres. In a real RVE the strain of
the matrix fluctuates, so the matrix yields in bands and hardens by differing amounts. A basis of R
matrix points represents this. Point r has the strain B_r E with B_r = G_r A_m. Here A_m(x) is the
mean strain concentration of the matrix, G_r = f_r (I + φ Z_r), and Z_r is a standard normal matrix.
The yield stress and the hardening of point r are a_r and b_r times those of the matrix, with
log-normal a_r and b_r. The stress of the RVE is

    S(t) = S₀(t) + v_f Σ_r θ_r(x) ψ_r(t),           θ_r(x) = θ_r0 + Σ_m θ_rm x_m,
    ψ_r(t) = 1/4 Σ_g B_rgᵀ s(B_rg E(·), t),         B_rg = T_g G_r T_g A_m,

with the mean-field stress S₀, the deviatoric stress s of the point, and inputs x scaled to [-1, 1].
Three further ψ are linear in E and correct the elastic stiffness. The model is linear in the
weights θ. So a Gaussian prior on θ is a Gaussian prior on functions, and its posterior has a closed
form. The factor v_f removes the correction for v_f = 0, where the mean-field model is exact. The
factor B_rᵀ makes the tangent symmetric for any weights. The points carry the history of the path.

RVEs with random fibres have no preferred axis. Each point is therefore used together with its
mirror images, all with the same weight: T_g is the identity, exchanges x and y, changes the sign of
the shear, or does both. If x and y of a path are exchanged, x and y of its stress are also
exchanged.

Weights may be negative, and a point with a negative weight releases energy when it yields. The
mean-field model must then dissipate more energy than the point releases. Therefore the factor
f_r ≤ 1 reduces the strain of a point. In every direction it yields at κ or more times the
strain at which the mean-field model yields. Before the mean-field model yields, the RVE is elastic
for any weights. Afterwards the mean-field model dissipates energy.

The mean-field model is nearly exact as long as an RVE is elastic. The weights change its stiffness
by Σ_r θ_r C_r, where C_r is the elastic stiffness of point r and has three independent numbers. In
these three directions of θ the prior standard deviation is smaller than in all others, by the
factor 1 - β.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from bnn._seeding import generator
from bnn._validation import (
    Array,
    as_finite,
    check_count,
    check_integer,
    check_positive,
    read_only,
)
from bnn.paths.phases import (
    ENGINEERING,
    INPUTS,
    PHASES,
    PhaseProperties,
    checked_bounds,
    checked_names,
    checked_paths,
    column,
    moduli,
    scaled,
)
from bnn.paths.return_mapping import History, Matrix, advance
from bnn.storage import storable
from bnn.storage.values import NotStored, as_stored, dataclass_fields
from safe_files.text import Short

# Inputs (n, n_in) → (n, 2, 3, 3), the strains of matrix and fibres relative to that of the RVE
Concentration = Callable[[Array], Array]
ELASTIC = 3  # features that are linear in the strain
_STIFFNESS = 3e3  # MPa, stress of these features at a strain of 1
_CANCELLED = 0.8  # β
# Maps a strain xx, yy, engineering xy to its deviator xx, yy, xy
DEVIATOR = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 1.5]]) / 3.0
# q² = sᵀ _Q_SQUARED s = 3 (s_xx² + s_yy² + s_xx s_yy + s_xy²) of a deviator s;
# q² = εᵀ MISES ε of a strain ε
_Q_SQUARED = np.array([[3.0, 1.5, 0.0], [1.5, 3.0, 0.0], [0.0, 0.0, 3.0]])
MISES = DEVIATOR.T @ _Q_SQUARED @ DEVIATOR
# T_g of strains and stresses: identity, sign of the shear changed, x and y exchanged, both changes
_EXCHANGE = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
_FLIP = np.diag([1.0, 1.0, -1.0])
IMAGES = np.stack([np.eye(3), _FLIP, _EXCHANGE, _FLIP @ _EXCHANGE])


class Features(NamedTuple):
    """Features of RVEs along their paths."""

    mean_fields: Array  # (n, T, 3) S₀ [MPa]
    plastic_strain: Array  # (n, T) equivalent plastic strain of the matrix in the mean-field model
    utilisation: Array  # (n, T) u: von Mises over initial yield stress; 1 after first yield
    points: Array  # (n, T, R + 3, 3) ψ [MPa]


class Points(NamedTuple):
    """Material points of an RVE: the mean-field point, then four images of each basis point."""

    B: Array  # (n, 1 + 4 R, 3, 3) strain xx, yy, engineering xy relative to that of the RVE
    yield_stress: Array  # (1 + 4 R,) [MPa]
    hardening: Array  # (n, 1 + 4 R) b [MPa]


@storable
@dataclass(frozen=True, repr=False)
class MaterialPointBasis(Short):
    """A basis of material points around a mean-field model.

    Attributes:
        concentration: Function of inputs (n, n_in) that returns the strains (n, 2, 3, 3) of matrix
            and fibres relative to the strain of the RVE, such as `fe_data.strain_concentration`.
        bounds: (2, n_in) lower and upper bounds of the inputs, which are scaled from these bounds
            to [-1, 1]. Both bounds are equal if an input is fixed, such as b_m and c_m of a single
            matrix.
        phases: Elasticity and initial yield stress.
        n_points: Number of points R; each also has three mirror images.
        fluctuation: Standard deviation φ of the strains of the points, relative to the mean strain
            of the matrix.
        yield_spread: Standard deviation of the logarithm of the yield stress.
        hardening_spread: Standard deviation of the logarithm of the hardening coefficient b.
        seed: Seed of the points.
        first_yield: κ >= 1, the smallest strain at which a point yields, relative to the strain at
            which the mean-field model yields in the same direction.
        inputs: Names of the n_in inputs, in the order of the columns of X. The laws of the phases
            need vf, E_f_GPa, b_m_MPa and c_m. Any other input, such as a scatter of the radii, acts
            on the weights, and on the strains if `concentration` uses it.

    Raises:
        ValueError: If an attribute is out of its range, or bounds do not have the shape (2, n_in).

    Examples:
        >>> import numpy as np
        >>> from bnn.paths import MaterialPointBasis
        >>> bounds = np.array([[0.0, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.6]])
        >>> alike = lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1))
        >>> basis = MaterialPointBasis(alike, bounds, n_points=10)
        >>> strain = np.linspace(0.0, 0.02, 21)[1:, None] * [1.0, -0.5, 0.0]
        >>> basis.features([[0.3, 400.0, 400.0, 0.4]], strain[None]).points.shape
        (1, 20, 13, 3)
    """

    concentration: Concentration
    bounds: Array
    phases: PhaseProperties = PHASES
    n_points: int = 50
    fluctuation: float = 0.6
    yield_spread: float = 0.3
    hardening_spread: float = 0.5
    seed: int = 0
    first_yield: float = 1.1
    inputs: tuple[str, ...] = INPUTS

    def __post_init__(self) -> None:
        if not callable(self.concentration) and not isinstance(self.concentration, NotStored):
            raise ValueError(f"concentration = {self.concentration!r:.60}: must be a function")
        check_count("n_points", self.n_points, 1, 10_000)
        check_integer("seed", self.seed, 0)
        spreads = {name: getattr(self, name) for name in ("yield_spread", "hardening_spread")}
        check_positive(fluctuation=self.fluctuation, first_yield=self.first_yield, **spreads)
        if self.first_yield < 1.0:
            words = "must be at least 1, or members gain energy in small cycles"
            raise ValueError(f"first_yield = {self.first_yield!r:.60}: {words}")
        object.__setattr__(self, "inputs", checked_names(self.inputs))
        object.__setattr__(self, "bounds", checked_bounds(self.bounds, self.inputs))

    def stored_fields(self) -> dict[str, Any]:
        """Return the attributes as they are saved to a file."""
        return {name: as_stored(value) for name, value in dataclass_fields(self).items()}

    @property
    def n_histories(self) -> int:
        """Number of points with a history, 1 + 4 R: the mean-field point, 4 images per point."""
        return 1 + len(IMAGES) * self.n_points

    @property
    def n_features(self) -> int:
        """Number of features of an RVE, R + 3."""
        return self.n_points + ELASTIC

    @property
    def n_weights(self) -> int:
        """Number of weights θ of a member: per feature a constant and a slope for each input."""
        return self.n_features * (1 + len(self.inputs))

    @cached_property
    def _draws(self) -> tuple[Array, Array, Array]:
        """Draw G (R, 3, 3), and the factors of yield stress and hardening (R,)."""
        rng = generator(self.seed)
        Z = rng.standard_normal((self.n_points, 3, 3))
        logs = rng.standard_normal((2, self.n_points))
        of_yield = np.exp(self.yield_spread * logs[0])
        of_hardening = np.exp(self.hardening_spread * logs[1])
        free = np.eye(3) + self.fluctuation * Z
        # q(G ε) ≤ √l q(ε) with the largest l of Gᵀ MISES G v = l MISES v
        largest = np.sqrt([eigh(G.T @ MISES @ G, MISES, eigvals_only=True)[-1] for G in free])
        # A point yields when q(f free ε) = of_yield q(ε_y), with the yield strain ε_y of the
        # mean-field model. It yields at κ ε_y or later if f largest κ ≤ of_yield.
        f = np.minimum(1.0, of_yield / (self.first_yield * largest))
        return f[:, None, None] * free, of_yield, of_hardening

    @cached_property
    def mixing(self) -> Array:
        """M = I - β P, (R + 3, R + 3), in the prior N(0, τ² M² / (R + 3)) of the weights.

        P projects onto the directions of the weights that change the elastic stiffness of an RVE.
        """
        G, _, _ = self._draws
        images = _images(G)
        # The stiffness of a point is A_mᵀ K_r A_m with K_r = Σ_g G_rgᵀ MISES G_rg, up to a factor
        K = np.einsum("rgji,jk,rgkl->ril", images, MISES, images)
        of_points = np.stack([K[:, 0, 0] + K[:, 1, 1], K[:, 0, 1], K[:, 2, 2]])
        M = np.eye(self.n_features)
        M[: self.n_points, : self.n_points] -= _CANCELLED * np.linalg.pinv(of_points) @ of_points
        return M

    def factors(self, X: Array) -> Array:
        """Return the factors of the 1 + n_in weights of each feature.

        Args:
            X: Inputs (n, n_in).

        Returns:
            v_f (1, x), (n, 1 + n_in), with inputs x scaled to [-1, 1].

        Raises:
            ValueError: If an input with two equal bounds has another value.
        """
        x = scaled(X, self.bounds, self.inputs)
        vf = column(X, self.inputs, "vf")[:, None]
        return np.asarray(vf * np.column_stack([np.ones(len(X)), x]))

    def concentrations(self, X: Array) -> Array:
        """Evaluate the function `concentration`, and check its result.

        Args:
            X: Inputs (n, n_in).

        Returns:
            Strains of matrix and fibres relative to the strain of the RVE, (n, 2, 3, 3).

        Raises:
            ValueError: If the function returns another shape or a number that is not finite, or if
                the basis was loaded from a file, which cannot store the function.
        """
        if isinstance(self.concentration, NotStored):
            needed = "pass it to StrainPathEnsemble.load"
            raise ValueError(f"concentration is a function, which files do not contain: {needed}")
        A = as_finite("what concentration returns", self.concentration(read_only(X)))
        if A.shape != (len(X), 2, 3, 3):
            raise ValueError(f"concentration returns {A.shape}: must be ({len(X)}, 2, 3, 3)")
        return A

    def points(self, X: Array, A: Array) -> Points:
        """Return the material points of RVEs.

        Args:
            X: Inputs (n, n_in).
            A: Mean strains of matrix and fibres relative to the RVE, (n, 2, 3, 3).

        Returns:
            The points, the mean-field point first.
        """
        G, of_yield, of_hardening = self._draws
        images = _images(G).reshape(-1, 3, 3)
        return Points(
            np.concatenate([A[:, :1], images @ A[:, :1]], axis=1),
            self.phases.sigma_y0_MPa * _with_images(of_yield),
            column(X, self.inputs, "b_m_MPa")[:, None] * _with_images(of_hardening),
        )

    def features(self, X: ArrayLike, strain: ArrayLike) -> Features:
        """Compute the stresses of the mean-field model and of the points along strain paths.

        Args:
            X: Inputs (n, n_in).
            strain: Paths (n, T, 3), the tensor xx, yy, xy at each step after rest [-].

        Returns:
            The features.

        Raises:
            ValueError: If shapes do not match, a number is not finite, an input is out of its
                range, or a strain is above 0.5.
        """
        X, strain = checked_paths(X, strain, self.inputs)
        A = self.concentrations(X)
        points = self.points(X, A)
        engineering = strain * ENGINEERING
        deviator = np.einsum("ij,nrjk,ntk->tnri", DEVIATOR, points.B, engineering)
        stress, p = self._in_points(deviator, X, points)
        q = np.sqrt(np.einsum("nti,ij,ntj->nt", stress[:, :, 0], _Q_SQUARED, stress[:, :, 0]))
        utilisation = np.where(p > 0.0, 1.0, np.minimum(q / self.phases.sigma_y0_MPa, 1.0))
        # ψ = Bᵀ s
        of_points = np.einsum("nrij,ntri->ntrj", points.B, stress)
        # S₀ = (1 - v_f) A_mᵀ s + the linear part
        linear = np.einsum("nij,ntj->nti", self.linear_stiffness(X, A), engineering)
        vf = column(X, self.inputs, "vf")[:, None, None]
        mean_fields = (1.0 - vf) * of_points[:, :, 0] + linear
        elastic = np.einsum("eij,ntj->ntei", stiffness_basis(), engineering)
        # ψ_r = 1/4 Σ_g ψ_rg
        of_images = of_points[:, :, 1:].reshape(*p.shape, self.n_points, len(IMAGES), 3)
        features = np.concatenate([of_images.mean(axis=3), elastic], axis=2)
        return Features(mean_fields, p, utilisation, features)

    def _in_points(self, deviator: Array, X: Array, points: Points) -> tuple[Array, Array]:
        """Return the deviatoric stress (n, T, 1 + 4 R, 3), and p (n, T) of the mean-field point.

        The deviatoric strains are (T, n, 1 + 4 R, 3).
        """
        T, n, P = deviator.shape[:3]
        _, mu = moduli(1e3 * self.phases.E_m_GPa, self.phases.nu_m)
        matrix = Matrix(
            torch.full((n * P,), mu, dtype=torch.float64),
            torch.as_tensor(np.tile(points.yield_stress, n)),
            torch.as_tensor(points.hardening.reshape(-1)),
            torch.as_tensor(np.repeat(column(X, self.inputs, "c_m"), P)),
        )
        history = History.at_rest(n * P)
        stress = np.empty((n, T, P, 3))
        p = np.empty((n, T))
        for t in range(T):
            step = torch.as_tensor(deviator[t].reshape(-1, 3))
            stress_of_step, history, _ = advance(step, history, matrix)
            stress[:, t] = stress_of_step.numpy().reshape(n, P, 3)
            p[:, t] = history.p.numpy().reshape(n, P)[:, 0]
        return stress, p

    def linear_stiffness(self, X: Array, A: Array) -> Array:
        """Return the stiffness of the mean-field model without the matrix's deviatoric stress.

        Args:
            X: Inputs (n, n_in).
            A: Mean strains of matrix and fibres relative to the RVE, (n, 2, 3, 3).

        Returns:
            (n, 3, 3) [MPa], for strains xx, yy, engineering xy.
        """
        vf = column(X, self.inputs, "vf")[:, None, None]
        K_m, _ = moduli(1e3 * self.phases.E_m_GPa, self.phases.nu_m)
        K_f, G_f = moduli(1e3 * column(X, self.inputs, "E_f_GPa"), self.phases.nu_f)
        # C = K I Iᵀ + 2 G Dev for strains with engineering shear
        trace = np.array([1.0, 1.0, 0.0])
        volume = np.outer(trace, trace)
        of_fibres = K_f[:, None, None] * volume + 2.0 * G_f[:, None, None] * DEVIATOR
        in_matrix = np.einsum("nji,jk,nkl->nil", A[:, 0], K_m * volume, A[:, 0])
        in_fibres = np.einsum("nji,njk,nkl->nil", A[:, 1], of_fibres, A[:, 1])
        stiffness: Array = (1.0 - vf) * in_matrix + vf * in_fibres
        return stiffness


def stiffness_basis() -> Array:
    """Return the stiffness matrices of the elastic features, (3, 3, 3) [MPa], alike in x and y."""
    basis = np.zeros((ELASTIC, 3, 3))
    basis[0, [0, 1], [0, 1]] = _STIFFNESS
    basis[1, [0, 1], [1, 0]] = _STIFFNESS
    basis[2, 2, 2] = _STIFFNESS
    return basis


def _images(G: Array) -> Array:
    """Return T_g G_r T_g, (R, 4, 3, 3)."""
    images: Array = np.einsum("gij,rjk,gkl->rgil", IMAGES, G, IMAGES)
    return images


def _with_images(factors: Array) -> Array:
    """Return factors of all points, (1 + 4 R,): 1 for the mean-field point, the others 4 times."""
    return np.concatenate([[1.0], np.repeat(factors, len(IMAGES))])
