"""Strain-path ensemble: Gaussian prior around a mean-field model, posterior, anchored members.

With the features ψ of a basis of R points (bnn.paths.basis), the stress of an RVE on a path is

    y(t) = S₀(t) + v_f Σ_r θ_r(x) ψ_r(t) + δ(t) + ε(t)
    θ_0 ~ N(0, M² τ²/(R + 3)),    θ_m ~ N(0, λ² M² τ²/(R + 3)),
    ε: scatter between microstructures, with standard deviation σ(t),
    δ: model error of the basis, with standard deviation σ(t) ρ / √(v_f u(t)).

θ = M w with independent w, where M is the identity except for weights that change the elastic
stiffness (bnn.paths.basis). Both δ and ε are Ornstein–Uhlenbeck processes of the strain travelled,
independent between components. If v_f decreases, or the utilisation u of an elastic matrix
(bnn.paths.scatter), the standard deviation of δ decreases more slowly than the scatter of RVEs.
This was measured on training paths. τ and λ maximise the evidence times log-normal priors. Given τ
and λ the posterior of θ is a Gaussian, N(m, C). A member is θ = M w with the minimum w of the
anchored objective

    |L⁻¹ (y + e_k - S₀ - Ψ M w)|² + |D^(-1/2) (w - w_k)|²

with perturbations e_k of the data and an anchor w_k from the prior N(0, D). Because the model is
linear in θ, each member is an exact draw from the posterior (Pearce et al., AISTATS 2020).
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError

from bnn._seeding import Purpose, RandomState, generator, seed_sequence, spawn
from bnn._validation import (
    Array,
    as_finite,
    check_count,
    check_flags,
    check_kind,
    check_not_negative,
    check_positive,
)
from bnn.paths.basis import Concentration, MaterialPointBasis
from bnn.paths.path_groups import CHUNK, PathGroup, PathsLike, chunks, grouped, in_order, like
from bnn.paths.phases import checked_inputs, column
from bnn.paths.scatter import PathScatter, travelled, whitened
from bnn.storage import StoredModel, changes_as_a_whole, load, storable
from bnn.storage.values import as_stored
from safe_files.text import Short

# Medians of the log-normal priors of τ and λ, and the standard deviation of their logarithms. These
# values and the default of ρ were chosen on the training paths that ship with fe_data. ρ is not
# estimated from the evidence: δ is smoother than an Ornstein–Uhlenbeck process, so with few paths
# the evidence would make ρ too small.
MEDIANS = (4.0, 0.05)
SPREAD = 0.3
_LEAST_STEPS = 25  # least number of steps of a long path in training; closer steps are redundant
_OF_SOLVER = 0.01  # MPa, smallest standard deviation of data: the tolerance of the FE solver
_LEAST_UTILISATION = 1e-12  # lower bound of the utilisation, against division by zero
_ELSEWHERE = -1e6  # strain travelled of steps at rest, which makes them uncorrelated with others
# Warning threshold of the mean square of the whitened residuals. 1 is expected; the random paths
# that ship with fe_data give 0.5 to 1.9.
_MISFIT = 3.0
_FAR_STRAIN = 1.5  # strains beyond this multiple of the largest training strain raise a warning


class _Data(NamedTuple):
    """Training paths at the steps that are used."""

    residual: Array  # (n, T, 3) y - S₀ [MPa]
    points: Array  # (n, T, R + 3, 3) M ψ
    factors: Array  # (n, 1 + n_in) v_f (1, x)
    std: Array  # (n, T, 3) standard deviation of δ + ε [MPa]
    lengths: Array  # (n, T) strain travelled; _ELSEWHERE for steps at rest


@storable
@dataclass(eq=False, repr=False)
class StrainPathEnsemble(Short, StoredModel):
    """Surrogate of the stress of RVEs along arbitrary strain paths, with error bands.

    Paths of one length are an array (n, T, 3). Paths of unequal lengths are a list of n arrays
    (T_i, 3); results are then lists, too.

    Args:
        basis: Mean-field model and basis of R material points, which define the prior. Its `inputs`
            are the names of the n_in columns of X.
        scatter: Scatter of RVEs between microstructures.
        model_error: ρ, the standard deviation of the model error δ relative to that of the scatter
            ε, at a volume fraction of one after yielding (u = 1).
        n_members: Number of members, K.
        random_state: Seed of the members.

    Attributes:
        hyperparameters_: τ and λ.
        largest_strain_: Largest component of the strain in training.
        members_: θ of the members, (K, (1 + n_in) (R + 3)).
        mean_: Posterior mean m of θ, ((1 + n_in) (R + 3),).
        root_: Square root of the posterior covariance, C = root rootᵀ.
        phase_strains_: Strains that `basis.concentration` returns at the corners of its bounds,
            (2^n_in, 2, 3, 3). `load` compares them with those of the function that it is given.

    Raises:
        ValueError: If an argument is out of its range or of another type.

    Examples:
        >>> import numpy as np
        >>> from bnn.paths import StrainPathEnsemble, PathScatter, MaterialPointBasis
        >>> bounds = np.array([[0.0, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.6]])
        >>> strained = lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1))
        >>> basis = MaterialPointBasis(strained, bounds, n_points=3)
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(bounds[0] + 0.1, bounds[1], (4, 4))
        >>> strain = np.cumsum(rng.normal(0.0, 0.001, (4, 30, 3)), axis=1)
        >>> stress = basis.features(X, strain).mean_fields + 1.0
        >>> scatter = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))
        >>> model = StrainPathEnsemble(basis, scatter, n_members=5, random_state=0)
        >>> model = model.fit(X, strain, stress)
        >>> mean, std = model.predict(X, strain, return_std=True)
        >>> mean.shape, model.predict_members(X, strain).shape
        ((4, 30, 3), (5, 4, 30, 3))
    """

    basis: MaterialPointBasis
    scatter: PathScatter
    model_error: float = 1.3
    n_members: int = 50
    random_state: RandomState = None
    hyperparameters_: tuple[float, float] | None = field(default=None, init=False)
    fitted_attributes: ClassVar[tuple[str, ...]] = (
        "hyperparameters_",
        "largest_strain_",
        "mean_",
        "root_",
        "members_",
        "phase_strains_",
    )

    def __post_init__(self) -> None:
        """Raise ValueError if an argument is out of its range or of another type."""
        check_kind("basis", self.basis, MaterialPointBasis)
        check_kind("scatter", self.scatter, PathScatter)
        if self.scatter.inputs != self.basis.inputs:
            wanted = f"must be those of the basis, {self.basis.inputs}"
            raise ValueError(f"scatter.inputs = {self.scatter.inputs}: {wanted}")
        check_not_negative(model_error=self.model_error)
        check_count("n_members", self.n_members, 1)

    @changes_as_a_whole
    def fit(
        self, X: ArrayLike, strain: PathsLike, stress: PathsLike, *, replicates: int = 1
    ) -> StrainPathEnsemble:
        """Fit to simulated paths.

        Args:
            X: Inputs (n, n_in).
            strain: Paths (n, T, 3) or a list, the tensor xx, yy, xy at each step after rest [-].
            stress: Stress xx, yy, xy [MPa], of the same shapes as strain.
            replicates: Number of microstructures over which each stress is averaged.

        Returns:
            self.

        Raises:
            ValueError: If shapes do not match, a number is not finite, an input is out of its
                range, an RVE has no fibres, or a strain is above 0.5.

        Warns:
            UserWarning: If the basis cannot represent the paths. Then the hardening law, the phases
                or the units probably differ from those of the basis.
        """
        check_count("replicates", replicates, 1)
        groups = grouped(X, strain, self.basis.inputs)
        stresses = like("stress", stress, groups)
        data = [
            self._data(group.X, group.strain, measured, replicates)
            for group, measured in zip(groups, stresses, strict=True)
        ]
        designs, residuals = zip(
            *(_whitened_design(paths, self.scatter.length) for paths in data), strict=True
        )
        W = np.concatenate(designs)
        y = np.concatenate(residuals)
        gram = W.T @ W
        projected = W.T @ y
        n_features = self.basis.n_features
        self.hyperparameters_ = _most_likely(gram, projected, n_features)
        deviations = _prior_deviations(len(gram), n_features, *self.hyperparameters_)
        mean, root = _posterior(gram, projected, deviations)
        _warn_of_misfit(y - W @ mean)
        self.largest_strain_ = max(float(np.abs(group.strain).max()) for group in groups)
        self.mean_ = self._weights(mean)
        self.root_ = self._weights(root.T).T
        self.members_ = self._weights(self._anchored(W, y, gram, deviations))
        self.phase_strains_ = self.basis.concentrations(_corners(self.basis.bounds))
        return self

    def predict(
        self, X: ArrayLike, strain: PathsLike, return_std: bool = False, include_noise: bool = False
    ) -> Any:
        """Predict the mean stress over microstructures: the mean of infinitely many members.

        Args:
            X: Inputs (n, n_in).
            strain: Paths (n, T, 3) or a list, the tensor xx, yy, xy at each step after rest [-].
            return_std: Whether to also return standard deviations, which combine θ and δ.
            include_noise: Whether the standard deviations are for a single RVE, which adds the
                scatter ε.

        Returns:
            Mean stress xx, yy, xy [MPa], of the same shapes as strain; with `return_std` also the
            standard deviations.

        Raises:
            ValueError: If shapes do not match, a number is not finite, an input is out of its
                range, an RVE has no fibres, or a strain is above 0.5.
            NotFittedError: Before `fit`.

        Warns:
            UserWarning: If a strain is more than 1.5 times the largest training strain.
        """
        check_flags(return_std=return_std, include_noise=include_noise)
        groups = self._checked(X, strain)
        means = []
        deviations = []
        for group in groups:
            moments = [self._predict(*chunk, include_noise) for chunk in chunks(group)]
            means.append(np.concatenate([mean for mean, _ in moments]))
            deviations.append(np.concatenate([std for _, std in moments]))
        mean = in_order(groups, means)
        return (mean, in_order(groups, deviations)) if return_std else mean

    def predict_members(self, X: ArrayLike, strain: PathsLike) -> Any:
        """Predict the stress of RVEs with each member.

        Args:
            X: Inputs (n, n_in).
            strain: Paths (n, T, 3) or a list, the tensor xx, yy, xy at each step after rest [-].

        Returns:
            Stress (K, n, T, 3) [MPa], without δ; for paths of unequal lengths a list of n arrays
            (K, T_i, 3).

        Raises:
            ValueError: As for `predict`, but RVEs without fibres are allowed.
            NotFittedError: Before `fit`.

        Warns:
            UserWarning: As for `predict`.
        """
        groups = self._checked(X, strain)
        stresses = []
        for group in groups:
            of_chunks = []
            for inputs, path in chunks(group):
                features = self.basis.features(inputs, path)
                weights = self.rve_weights(inputs)
                points = np.einsum("ntrj,knr->kntj", features.points, weights)
                of_chunks.append(features.mean_fields + points)
            stresses.append(np.concatenate(of_chunks, axis=1))
        return in_order(groups, stresses, axis=1)

    def rve_weights(self, X: ArrayLike) -> Array:
        """Return each member's weights of the features of RVEs.

        Args:
            X: Inputs (n, n_in).

        Returns:
            v_f θ_r(x), (K, n, R + 3).

        Raises:
            ValueError: If X has another shape, or an input is out of its range.
            NotFittedError: Before `fit`.
        """
        self._check_fitted()
        factors = self.basis.factors(checked_inputs(X, self.basis.inputs))
        weights: Array = np.einsum("krm,nm->knr", self._by_feature(self.members_), factors)
        return weights

    def stored_fields(self) -> dict[str, Any]:
        """Return the arguments and the fitted attributes as they are saved to a file."""
        arguments = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        fitted = {name: getattr(self, name, None) for name in self.fitted_attributes}
        return {
            "parameters": {name: as_stored(v) for name, v in arguments.items()},
            "fitted": fitted,
        }

    def check_restored(self) -> None:
        """Raise ValueError unless the fitted attributes have the shapes that the basis requires."""
        d = self.basis.n_weights
        shapes = {
            "hyperparameters_": (2,),
            "mean_": (d,),
            "root_": (d, d),
            "members_": (len(self.members_), d),  # `n_members` may have changed since the fit
            "phase_strains_": (2 ** len(self.basis.inputs), 2, 3, 3),
        }
        for name, shape in shapes.items():
            values = as_finite(name, getattr(self, name))
            if values.shape != shape:
                raise ValueError(f"{name} has shape {values.shape}: must be {shape}")
        check_positive(largest_strain_=self.largest_strain_)

    @classmethod
    def load(cls, path: str | os.PathLike[str], concentration: Concentration) -> Self:
        """Load an ensemble that `save` wrote.

        Args:
            path: Path of the file.
            concentration: The function `concentration` of the basis, which a file cannot store.

        Returns:
            The fitted ensemble.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the file does not contain a StrainPathEnsemble, or the function returns
                other strains than when the ensemble was saved.
        """
        model = load(path)
        if not isinstance(model, cls):
            raise ValueError(f"{path}: contains a {type(model).__name__}, must be a {cls.__name__}")
        model.basis = replace(model.basis, concentration=concentration)
        strains = model.basis.concentrations(_corners(model.basis.bounds))
        if not np.allclose(strains, model.phase_strains_, rtol=1e-9, atol=1e-12):
            raise ValueError("concentration: must be the function of the saved model")
        return model

    def _check_fitted(self) -> None:
        if self.hyperparameters_ is None:
            raise NotFittedError("this StrainPathEnsemble is not fitted: call fit first")

    def _checked(self, X: ArrayLike, strain: PathsLike) -> list[PathGroup]:
        self._check_fitted()
        groups = grouped(X, strain, self.basis.inputs)
        largest = max(float(np.abs(group.strain).max()) for group in groups)
        if largest > _FAR_STRAIN * self.largest_strain_:
            warnings.warn(
                f"a strain of {largest:.3g} is more than {_FAR_STRAIN:g} times the largest of "
                f"training, {self.largest_strain_:.3g}: the bands may be too narrow there",
                stacklevel=3,
            )
        return groups

    def _data(self, X: Array, strain: Array, stress: Array, replicates: int) -> _Data:
        steps = _learnt_steps(strain.shape[1])
        residuals = []
        points = []
        states = []
        for begin in range(0, len(X), CHUNK):
            rows = slice(begin, begin + CHUNK)
            features = self.basis.features(X[rows], strain[rows])
            residuals.append((stress[rows] - features.mean_fields)[:, steps])
            points.append(np.einsum("rs,ntsj->ntrj", self.basis.mixing, features.points[:, steps]))
            states.append([features.plastic_strain[:, steps], features.utilisation[:, steps]])
        flow, utilisation = np.concatenate(states, axis=1)
        sigma = self.scatter.std(X, flow, utilisation)
        std = np.sqrt(self._variance(X, sigma, utilisation, 1.0 / replicates))
        # Steps at rest have no scatter, so they must not be correlated with their neighbours.
        lengths = np.where(utilisation > 0.0, travelled(strain)[:, steps], _ELSEWHERE)
        return _Data(
            residual=np.concatenate(residuals),
            points=np.concatenate(points),
            factors=self.basis.factors(X),
            std=np.maximum(std, _OF_SOLVER),
            lengths=lengths,
        )

    def _predict(self, X: Array, strain: Array, include_noise: bool) -> tuple[Array, Array]:
        features = self.basis.features(X, strain)
        factors = self.basis.factors(X)
        Psi = _design(features.points, factors)
        # Var f = Ψ C Ψᵀ + ρ² σ² / (v_f u)
        mean = features.mean_fields + (Psi @ self.mean_).reshape(strain.shape)
        of_theta = np.square(Psi @ self.root_).sum(axis=1).reshape(strain.shape)
        sigma = self.scatter.std(X, features.plastic_strain, features.utilisation)
        others = self._variance(X, sigma, features.utilisation, float(include_noise))
        return mean, np.sqrt(of_theta + others)

    def _weights(self, w: Array) -> Array:
        """Return θ = M w, (..., d)."""
        mixed: Array = np.einsum("rs,...sm->...rm", self.basis.mixing, self._by_feature(w))
        return mixed.reshape(w.shape)

    def _by_feature(self, theta: Array) -> Array:
        """Reshape weights (..., d) to (..., R + 3, 1 + n_in)."""
        return theta.reshape(*theta.shape[:-1], self.basis.n_features, -1)

    def _variance(self, X: Array, sigma: Array, utilisation: Array, of_scatter: float) -> Array:
        """Return the variance of δ plus `of_scatter` times that of ε, (n, T, 3) [MPa²]."""
        # At rest σ² / u is zero, because σ has the factor u.
        vf = column(X, self.basis.inputs, "vf")[:, None, None]
        slower = vf * np.maximum(utilisation, _LEAST_UTILISATION)[..., None]
        variance: Array = sigma**2 * (self.model_error**2 / slower + of_scatter)
        return variance

    def _anchored(self, W: Array, y: Array, gram: Array, deviations: Array) -> Array:
        """Draw anchors and perturbations, and return the minima w, (K, d)."""
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


def _corners(bounds: Array) -> Array:
    """Return the corners of the bounds of the inputs, (2^n_in, n_in)."""
    return np.array(list(product(*bounds.T.tolist())))


def _warn_of_misfit(residuals: Array) -> None:
    """Warn if scatter and model error do not explain the size of the whitened residuals."""
    misfit = np.mean(np.square(residuals))
    if misfit > _MISFIT:
        warnings.warn(
            f"the mean square of the residuals is {misfit:.3g} times what scatter and model error "
            "explain: were the paths simulated with the phases and the hardening law of the basis?",
            stacklevel=4,
        )


def _learnt_steps(n_steps: int) -> slice:
    """Return equally spaced steps of a path with the last one, at least 25 of a long path."""
    every = max(n_steps // _LEAST_STEPS, 1)
    return slice((n_steps - 1) % every, None, every)


def _design(points: Array, factors: Array) -> Array:
    """Return Ψ (3 n T, (1 + n_in) (R + 3)), the rows of all paths, from ψ (n, T, R + 3, 3)."""
    n, T, n_features, _ = points.shape
    # Ψ_(ntj),(rm) = ψ_ntrj factor_nm
    products = np.einsum("ntrj,nm->ntjrm", points, factors)
    design: Array = products.reshape(n * T * 3, n_features * factors.shape[1])
    return design


def _prior_deviations(n_weights: int, n_features: int, tau: float, lam: float) -> Array:
    """Return D½, the prior standard deviations of w in the order of Ψ's columns."""
    n_inputs = n_weights // n_features - 1
    of_one = tau / np.sqrt(n_features) * np.array([1.0] + n_inputs * [lam])
    return np.tile(of_one, n_features)


def _whitened_design(data: _Data, L: float) -> tuple[Array, Array]:
    """Return Ψ M and y - S₀, whitened so that the noise is independent with unit variance."""
    points = whitened(data.points / data.std[:, :, None], data.lengths, L)
    residual = whitened(data.residual / data.std, data.lengths, L)
    return _design(points, data.factors), residual.reshape(-1)


def _precision(gram: Array, deviations: Array) -> Array:
    """Return A = I + D½ Wᵀ W D½, the posterior precision of w in units of the prior."""
    A: Array = np.eye(len(deviations)) + deviations[:, None] * gram * deviations
    return A


def _posterior(gram: Array, projected: Array, deviations: Array) -> tuple[Array, Array]:
    """Return posterior mean and covariance root of w, from Wᵀ W, Wᵀ y and D½."""
    # C = D½ A⁻¹ D½ with A = L Lᵀ,   root = D½ L⁻ᵀ
    L = np.linalg.cholesky(_precision(gram, deviations))
    inverse = solve_triangular(L, np.eye(len(L)), lower=True)
    root = deviations[:, None] * inverse.T
    return root @ (root.T @ projected), root


def _most_likely(gram: Array, projected: Array, n_features: int) -> tuple[float, float]:
    """Return τ and λ that maximise the evidence times their priors, from Wᵀ W and Wᵀ y."""

    def negative(logs: Array) -> float:
        deviations = _prior_deviations(len(gram), n_features, *np.exp(logs))
        try:
            root = np.linalg.cholesky(_precision(gram, deviations))
        except np.linalg.LinAlgError:  # singular for the large τ of data that the basis cannot fit
            return np.inf
        u = solve_triangular(root, deviations * projected, lower=True)
        # -ln p(y) = (yᵀ y - uᵀ u) / 2 + ln |A| / 2 + constant
        of_data = np.log(np.diag(root)).sum() - 0.5 * u @ u
        of_prior = 0.5 * np.square((logs - np.log(MEDIANS)) / SPREAD).sum()
        return float(of_data + of_prior)

    options = {"xatol": 0.02, "fatol": 0.02, "maxiter": 60}
    optimum = minimize(negative, np.log(MEDIANS), method="Nelder-Mead", options=options)
    tau, lam = np.exp(optimum.x)
    return float(tau), float(lam)
