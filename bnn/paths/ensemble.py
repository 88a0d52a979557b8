"""The ensemble of paths: a Gaussian prior about mean fields, its posterior, and anchored members.

With the features ψ of a bank of points (bnn.paths.bank), the stress of a cell on a path is

    y(t) = S₀(t) + v_f Σ_r θ_r(x) ψ_r(t) + δ(t) + ε(t)
    θ_0 ~ N(0, M² τ²/R),    θ_m ~ N(0, λ² M² τ²/R),
    ε ~ scatter of the microstructures, σ(t),  δ ~ what the bank cannot say, σ(t) ρ / √(v_f u(t)).

θ = M w with independent w, and M is the identity but for weights that change the elastic stiffness
(bnn.paths.bank). Both δ and ε are Ornstein–Uhlenbeck processes of the strain travelled, independent
between components. The standard deviation of δ falls more slowly with v_f, and with the utilisation
u of an elastic matrix (bnn.paths.scatter), than the scatter of cells, as measured on training
paths. τ and λ maximise the evidence times log-normal priors. Given them the posterior of θ is a
Gaussian, N(m, C). A member is θ = M w with the minimum w of the anchored objective

    |L⁻¹ (y + e_k - S₀ - Ψ M w)|² + |D^(-1/2) (w - w_k)|²

with perturbations e_k of the data and an anchor w_k from the prior N(0, D): a draw from the
posterior, exactly, as the model is linear in θ (Pearce et al., AISTATS 2020).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError

from bnn._seeding import Purpose, RandomState, generator, seed_sequence, spawn
from bnn._text import Short
from bnn._validation import (
    Array,
    as_finite,
    check_count,
    check_flags,
    check_kind,
    check_not_negative,
)
from bnn.paths.bank import MaterialPointBasis
from bnn.paths.network import INPUTS, check_strain, checked_inputs, checked_paths
from bnn.paths.scatter import PathScatter, travelled, whitened

# Medians of the log-normal priors of τ and λ, and the standard deviation of their logarithms. They,
# and the ρ that is the default, were chosen on the training paths that ship with fe_data. The
# evidence of few paths would take ρ for too small: δ is smoother than the process that it is given.
MEDIANS = (4.0, 0.05)
SPREAD = 0.3
_STEPS = 25  # of each path that are learnt from: closer ones say the same
_OF_SOLVER = 0.01  # MPa, least deviation of data: at rest nothing scatters but what solvers leave
_LEAST = 1e-12  # utilisation above zero
_ELSEWHERE = -1e6  # strain travelled that is far from every other
_CHUNK = 50  # paths whose features are in memory at a time
_MISFIT = (
    3.0  # mean square of whitened residuals: 1 is expected, shipped random paths leave 0.5 to 1.9
)
_FAR = 10.0  # times the largest strain of training: probably percent


class _Data(NamedTuple):
    """Training paths at the steps that are learnt from."""

    residual: Array  # (n, T, 3) y - S₀ [MPa]
    points: Array  # (n, T, R + 3, 3) M ψ
    factors: Array  # (n, 5) v_f (1, x)
    std: Array  # (n, T, 3) of δ + ε
    lengths: Array  # (n, T) strain travelled; of steps at rest far from that of all others


@dataclass(eq=False, repr=False)
class StrainPathEnsemble(Short):
    """Surrogate of the stress of cells on any path of strain, with bands.

    Args:
        bank: Mean fields and points about them, which are the prior.
        scatter: Scatter of cells over microstructures.
        model_error: ρ, the standard deviation of δ over that of ε at a volume fraction of one.
        n_members: Number of members, K.
        random_state: Seed of the members.

    Attributes:
        hyperparameters_: τ and λ.
        largest_strain_: Largest component of the strain in training.
        members_: θ of the members, (K, 5 (R + 3)).
        mean_: m, (5 (R + 3),).
        root_: C = root rootᵀ.

    Examples:
        >>> import numpy as np
        >>> from bnn.paths import StrainPathEnsemble, PathScatter, MaterialPointBasis
        >>> bounds = np.array([[0.0, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.6]])
        >>> strained = lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1))
        >>> bank = MaterialPointBasis(strained, bounds, n_points=3)
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(bounds[0] + 0.1, bounds[1], (4, 4))
        >>> strain = np.cumsum(rng.normal(0.0, 0.001, (4, 30, 3)), axis=1)
        >>> stress = bank.features(X, strain).mean_fields + 1.0
        >>> scatter = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))
        >>> model = StrainPathEnsemble(bank, scatter, n_members=5, random_state=0)
        >>> model = model.fit(X, strain, stress)
        >>> mean, std = model.predict(X, strain, return_std=True)
        >>> mean.shape, model.predict_members(X, strain).shape
        ((4, 30, 3), (5, 4, 30, 3))
    """

    bank: MaterialPointBasis
    scatter: PathScatter
    model_error: float = 1.3
    n_members: int = 50
    random_state: RandomState = None
    hyperparameters_: tuple[float, float] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Raise ValueError if an argument is not admissible."""
        check_kind("bank", self.bank, MaterialPointBasis)
        check_kind("scatter", self.scatter, PathScatter)
        check_not_negative(model_error=self.model_error)
        check_count("n_members", self.n_members, 1)

    def fit(
        self, X: ArrayLike, strain: ArrayLike, stress: ArrayLike, *, replicates: int = 1
    ) -> StrainPathEnsemble:
        """Learn from simulated paths.

        A `UserWarning` says that the bank cannot follow the paths: another hardening law, other
        phases or other units are likely.

        Args:
            X: Inputs (n, 4): vf, E_f [GPa], b_m [MPa], c_m.
            strain: Paths (n, T, 3), the tensor xx, yy, xy at each step after rest [-].
            stress: (n, T, 3) [MPa].
            replicates: Number of microstructures whose mean each stress is.

        Returns:
            self.

        Raises:
            ValueError: If shapes do not fit, a number is not finite, an input is not allowed, or a
                cell has no fibres.
        """
        X, strain = checked_paths(X, strain)
        stress = as_finite("stress", stress)
        if stress.shape != strain.shape:
            raise ValueError(f"stress has shape {stress.shape}: must be {strain.shape}")
        check_count("replicates", replicates, 1)
        self.largest_strain_ = float(np.abs(strain).max())
        data = self._data(X, strain, stress, replicates)
        W, y = _whitened_design(data, self.scatter.length)
        gram = W.T @ W
        projected = W.T @ y
        n_features = self.bank.n_features
        self.hyperparameters_ = _most_likely(gram, projected, n_features)
        deviations = _prior_deviations(n_features, *self.hyperparameters_)
        mean, root = _posterior(gram, projected, deviations)
        _warn_of_misfit(y - W @ mean)
        self.mean_ = self._weights(mean)
        self.root_ = self._weights(root.T).T
        self.members_ = self._weights(self._anchored(W, y, gram, deviations))
        return self

    def predict(
        self, X: ArrayLike, strain: ArrayLike, return_std: bool = False, include_noise: bool = False
    ) -> Array | tuple[Array, Array]:
        """Mean stress of cells over their microstructures, which many members have as their mean.

        Args:
            X: Inputs (n, 4): vf, E_f [GPa], b_m [MPa], c_m.
            strain: Paths (n, T, 3), the tensor xx, yy, xy at each step after rest [-].
            return_std: Whether to return standard deviations too, of θ and δ together.
            include_noise: Whether these are those of a single cell, with the scatter ε.

        Returns:
            Mean (n, T, 3) [MPa], and standard deviation (n, T, 3) on request.

        Raises:
            ValueError: If shapes do not fit, a number is not finite, an input is not allowed, or a
                strain is more than ten times the largest of training.
            NotFittedError: Before `fit`.
        """
        check_flags(return_std=return_std, include_noise=include_noise)
        X, strain = self._checked(X, strain)
        means = []
        deviations = []
        for begin in range(0, len(X), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            mean, std = self._predict(X[part], strain[part], include_noise)
            means.append(mean)
            deviations.append(std)
        mean = np.concatenate(means)
        return (mean, np.concatenate(deviations)) if return_std else mean

    def predict_members(self, X: ArrayLike, strain: ArrayLike) -> Array:
        """Stress of cells by each member.

        Args:
            X: Inputs (n, 4): vf, E_f [GPa], b_m [MPa], c_m.
            strain: Paths (n, T, 3), the tensor xx, yy, xy at each step after rest [-].

        Returns:
            (K, n, T, 3) [MPa], without δ.

        Raises:
            ValueError: As by `predict`.
            NotFittedError: Before `fit`.
        """
        X, strain = self._checked(X, strain)
        found = np.empty((len(self.members_), *strain.shape))
        for begin in range(0, len(X), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            features = self.bank.features(X[part], strain[part])
            weights = self.cell_weights(X[part])
            found[:, part] = features.mean_fields
            found[:, part] += np.einsum("ntrj,knr->kntj", features.points, weights)
        return found

    def cell_weights(self, X: ArrayLike) -> Array:
        """Weights of the features of cells, by each member.

        Args:
            X: Inputs (n, 4): vf, E_f [GPa], b_m [MPa], c_m.

        Returns:
            v_f θ_r(x), (K, n, R + 3).

        Raises:
            ValueError: If the shape is another, or an input is not allowed.
        """
        factors = self.bank.factors(checked_inputs(X))
        found: Array = np.einsum("krm,nm->knr", _by_feature(self.members_), factors)
        return found

    def _checked(self, X: ArrayLike, strain: ArrayLike) -> tuple[Array, Array]:
        if self.hyperparameters_ is None:
            raise NotFittedError("this StrainPathEnsemble is not fitted: call fit first")
        X, strain = checked_paths(X, strain)
        words = f"{_FAR:g} times the largest strain of training"
        check_strain(strain, _FAR * self.largest_strain_, words)
        return X, strain

    def _data(self, X: Array, strain: Array, stress: Array, replicates: int) -> _Data:
        steps = _learnt_steps(strain.shape[1])
        residuals = []
        points = []
        states = []
        for begin in range(0, len(X), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            features = self.bank.features(X[part], strain[part])
            residuals.append((stress[part] - features.mean_fields)[:, steps])
            points.append(np.einsum("rs,ntsj->ntrj", self.bank.mixing, features.points[:, steps]))
            states.append([features.plastic_strain[:, steps], features.utilisation[:, steps]])
        flow, utilisation = np.concatenate(states, axis=1)
        sigma = self.scatter.std(X, flow, utilisation)
        std = np.sqrt(self._variance(X, sigma, utilisation, 1.0 / replicates))
        # A step at rest, where nothing scatters, says nothing of the steps beside it.
        lengths = np.where(utilisation > 0.0, travelled(strain)[:, steps], _ELSEWHERE)
        return _Data(
            residual=np.concatenate(residuals),
            points=np.concatenate(points),
            factors=self.bank.factors(X),
            std=np.maximum(std, _OF_SOLVER),
            lengths=lengths,
        )

    def _predict(self, X: Array, strain: Array, include_noise: bool) -> tuple[Array, Array]:
        features = self.bank.features(X, strain)
        factors = self.bank.factors(X)
        Psi = _design(features.points, factors)
        # Var f = Ψ C Ψᵀ + ρ² σ² / (v_f u)
        mean = features.mean_fields + (Psi @ self.mean_).reshape(strain.shape)
        of_theta = np.square(Psi @ self.root_).sum(axis=1).reshape(strain.shape)
        sigma = self.scatter.std(X, features.plastic_strain, features.utilisation)
        others = self._variance(X, sigma, features.utilisation, float(include_noise))
        return mean, np.sqrt(of_theta + others)

    def _weights(self, w: Array) -> Array:
        """θ = M w, (..., d)."""
        mixed: Array = np.einsum("rs,...sm->...rm", self.bank.mixing, _by_feature(w))
        return mixed.reshape(w.shape)

    def _variance(self, X: Array, sigma: Array, utilisation: Array, of_scatter: float) -> Array:
        """Variance of δ and of some of ε, (n, T, 3) [MPa²]."""
        # At rest σ² / u is zero, as σ has the factor u.
        slower = X[:, 0, None, None] * np.maximum(utilisation, _LEAST)[..., None]
        variance: Array = sigma**2 * (self.model_error**2 / slower + of_scatter)
        return variance

    def _anchored(self, W: Array, y: Array, gram: Array, deviations: Array) -> Array:
        """Minima w of the anchored objectives, (K, d), with anchors and perturbations drawn."""
        seeds = seed_sequence(self.random_state)
        anchors = generator(spawn(seeds, Purpose.ANCHORS)).standard_normal(
            (self.n_members, len(deviations))
        )
        noise = generator(spawn(seeds, Purpose.RESAMPLING))
        # In units of the prior, z = D^(-1/2) w:   (I + D½ Wᵀ W D½) z = z_k + D½ Wᵀ (y + e_k)
        V = W * deviations
        factor = cho_factor(_precision(gram, deviations), lower=True)
        members = []
        for k in range(self.n_members):
            perturbed = y + noise.standard_normal(len(y))
            members.append(deviations * cho_solve(factor, anchors[k] + V.T @ perturbed))
        return np.array(members)


def _warn_of_misfit(residuals: Array) -> None:
    """Warn of whitened residuals that are too large for scatter and model error."""
    misfit = np.mean(np.square(residuals))
    if misfit > _MISFIT:
        warnings.warn(
            f"the mean square of the residuals is {misfit:.3g} times what scatter and model error "
            "explain: were the paths simulated with the phases and the hardening law of the bank?",
            stacklevel=3,
        )


def _learnt_steps(n_steps: int) -> slice:
    """Every so many steps of a path, the last one among them."""
    every = max(n_steps // _STEPS, 1)
    return slice((n_steps - 1) % every, None, every)


def _design(points: Array, factors: Array) -> Array:
    """Ψ of paths one below the other, (3 n T, 5 (R + 3)), from ψ (n, T, R + 3, 3)."""
    n, T, n_features, _ = points.shape
    # Ψ_(ntj),(rm) = ψ_ntrj factor_nm
    products = np.einsum("ntrj,nm->ntjrm", points, factors)
    design: Array = products.reshape(n * T * 3, n_features * factors.shape[1])
    return design


def _by_feature(theta: Array) -> Array:
    """Weights (..., d) as (..., R + 3, 5)."""
    return theta.reshape(*theta.shape[:-1], -1, 1 + len(INPUTS))


def _prior_deviations(n_features: int, tau: float, lam: float) -> Array:
    """D½, the prior standard deviations of w in the order of Ψ's columns."""
    of_one = tau / np.sqrt(n_features) * np.array([1.0] + len(INPUTS) * [lam])
    return np.tile(of_one, n_features)


def _whitened_design(data: _Data, L: float) -> tuple[Array, Array]:
    """Ψ M and y - S₀ with independent noise of unit variance."""
    points = whitened(data.points / data.std[:, :, None], data.lengths, L)
    residual = whitened(data.residual / data.std, data.lengths, L)
    return _design(points, data.factors), residual.reshape(-1)


def _precision(gram: Array, deviations: Array) -> Array:
    """A = I + D½ Wᵀ W D½, the posterior precision of w in units of the prior."""
    A: Array = np.eye(len(deviations)) + deviations[:, None] * gram * deviations
    return A


def _posterior(gram: Array, projected: Array, deviations: Array) -> tuple[Array, Array]:
    """Mean of w and root of its covariance, from Wᵀ W, Wᵀ y and D½."""
    # C = D½ A⁻¹ D½ with A = L Lᵀ,   root = D½ L⁻ᵀ
    L = np.linalg.cholesky(_precision(gram, deviations))
    inverse = solve_triangular(L, np.eye(len(L)), lower=True)
    root = deviations[:, None] * inverse.T
    return root @ (root.T @ projected), root


def _most_likely(gram: Array, projected: Array, n_features: int) -> tuple[float, float]:
    """τ and λ of the largest evidence times their priors, from Wᵀ W and Wᵀ y."""

    def negative(logs: Array) -> float:
        deviations = _prior_deviations(n_features, *np.exp(logs))
        root = np.linalg.cholesky(_precision(gram, deviations))
        u = solve_triangular(root, deviations * projected, lower=True)
        # -ln p(y) = (yᵀ y - uᵀ u) / 2 + ln |A| / 2 and a constant
        of_data = np.log(np.diag(root)).sum() - 0.5 * u @ u
        of_prior = 0.5 * np.square((logs - np.log(MEDIANS)) / SPREAD).sum()
        return float(of_data + of_prior)

    options = {"xatol": 0.02, "fatol": 0.02, "maxiter": 60}
    found = minimize(negative, np.log(MEDIANS), method="Nelder-Mead", options=options)
    tau, lam = np.exp(found.x)
    return float(tau), float(lam)
