"""Regression of many outputs, such as the points of a curve, through their principal components."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.decomposition import PCA

from bnn._validation import (
    LARGEST,
    SMALLEST,
    Array,
    ConstantInputWarning,
    Floats,
    as_finite,
    as_points,
    check_fraction,
    check_kind,
    check_positive,
)
from bnn.noise.models import DataNoise
from bnn.regressor import PredictiveRegressor
from bnn.storage import storable
from safe_files.text import Short

FOLDS = 50  # of the cross-validation, at most
# Share of the residual covariance that is a multiple of I: without it, the part orthogonal to the
# components may be zero and could not be scaled.
SHAPELESS = 1e-9


@storable
@dataclass(frozen=True, eq=False, repr=False)
class PrincipalComponents(Short):
    """Principal components of many outputs: y = mean + Vᵀ z + residual, with few scores z.

    Attributes:
        mean: Mean of the outputs, (n_out,).
        vectors: Components V, (n_scores, n_out), with orthonormal rows.
        residual: Covariance of the residual of new outputs, (n_out, n_out).

    Source: Bishop (2006), section 12.1; for outputs of simulations Higdon et al. (2008), Journal
    of the American Statistical Association 103.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> curves = np.outer([1.0, 2.0, 4.0], [0.0, 1.0, 2.0, 3.0])
        >>> components = bnn.PrincipalComponents.fit(curves)
        >>> components.transform(curves).shape
        (3, 1)
        >>> bool(np.allclose(components.inverse_transform(components.transform(curves)), curves))
        True
    """

    mean: Floats
    vectors: Floats
    residual: Floats

    def __post_init__(self) -> None:
        for name, largest in (("mean", LARGEST), ("vectors", LARGEST), ("residual", LARGEST**2)):
            object.__setattr__(self, name, as_finite(name, getattr(self, name), largest))
        n_out = self.mean.size
        V = as_points("vectors", self.vectors)
        if self.mean.ndim != 1 or V.shape[1] != n_out or self.residual.shape != (n_out, n_out):
            shapes = f"{self.mean.shape}, {V.shape} and {self.residual.shape}"
            needed = "(n_out,), (n_scores, n_out) and (n_out, n_out)"
            raise ValueError(f"mean, vectors and residual have shapes {shapes}: must be {needed}")
        if not np.allclose(V @ V.T, np.eye(len(V))):
            raise ValueError("vectors: must have orthonormal rows")

    @classmethod
    def fit(cls, y: ArrayLike, explained: float = 0.9999) -> Self:
        """Find the smallest number of components that explain a share of the variance.

        Args:
            y: Outputs, (N, n_out), all in one unit, because they have equal weight.
            explained: Share of the variance, in (0, 1).

        Returns:
            The components, largest variance first. The covariance of the residual is estimated by
            cross-validation in up to 50 folds: the rows of a fold are approximated by as many
            components of the other rows.

        Raises:
            ValueError: If y has another shape or does not vary, or a value is invalid.
        """
        check_fraction(explained=explained)
        check_positive(explained=explained)
        y = as_finite("y", y)
        if y.ndim != 2 or not np.any(np.abs(y - y[:1]) >= SMALLEST):
            needed = f"(N, n_out), with rows that differ, by {SMALLEST:g} or more"
            raise ValueError(f"y has shape {y.shape}: must be {needed}")
        pca = PCA(explained, svd_solver="full").fit(y)
        return cls(pca.mean_, pca.components_, _held_out_covariance(y, pca.components_))

    def transform(self, y: ArrayLike) -> Array:
        """Return the scores of outputs.

        Args:
            y: Outputs, (..., n_out).

        Returns:
            z = V (y - mean), (..., n_scores).

        Raises:
            ValueError: If the number of outputs is wrong.
        """
        values = as_finite("y", y)
        if values.shape[-1:] != self.mean.shape:
            raise ValueError(f"y has shape {values.shape}: must be (..., {len(self.mean)})")
        return np.asarray((values - self.mean) @ self.vectors.T)

    def inverse_transform(self, scores: Floats) -> Array:
        """Return the outputs of scores.

        Args:
            scores: Scores z, (..., n_scores).

        Returns:
            mean + Vᵀ z, (..., n_out).

        Raises:
            ValueError: If the number of scores is wrong.
        """
        values = as_finite("scores", scores)
        if values.shape[-1:] != self.vectors.shape[:1]:
            raise ValueError(f"scores has shape {values.shape}: must be (..., {len(self.vectors)})")
        return np.asarray(values @ self.vectors + self.mean)


def _held_out_covariance(y: Array, vectors: Array) -> Array:
    """Return the covariance of the residual, orthogonal to the vectors V, (n_out, n_out)."""
    n_scores, n_out = vectors.shape
    if n_scores == n_out:
        return np.zeros((n_out, n_out))
    rest = _held_out_rest(y, n_scores)
    # A held-out residual is orthogonal to the components of its fold, not to V. So its part that is
    # orthogonal to V gives only the shape of the covariance, and the whole residual its trace.
    across = np.eye(n_out) - vectors.T @ vectors
    size = np.square(rest).sum()
    shape = across @ (rest.T @ rest + SHAPELESS * size / n_out * np.eye(n_out)) @ across
    scale = np.trace(shape)
    return np.asarray(shape * (size / len(y) / scale) if scale > 0.0 else shape)


def _held_out_rest(y: Array, n_scores: int) -> Array:
    """Return the cross-validated residuals of n_scores components, (N, n_out)."""
    fold = np.arange(len(y)) % FOLDS
    rest = np.empty_like(y)
    for i in range(min(FOLDS, len(y))):
        others = y[fold != i]
        mean = others.mean(axis=0)
        # N rows vary in at most N - 1 directions.
        most = min(n_scores, len(others) - 1)
        V = np.linalg.svd(others - mean, full_matrices=False)[2][:most]
        away = y[fold == i] - mean
        # (I - Vᵀ V) (y - mean)
        rest[fold == i] = away - away @ V.T @ V
    return rest


@storable
class PCARegressor(PredictiveRegressor):
    """Regression of high-dimensional outputs (curves, fields) through their principal components.

    Mean and covariance of the outputs follow from the predicted scores. With `include_noise=True`
    the uncertainty also includes the covariance of the residual.

    Args:
        estimator: GPRegressor or ensemble. Its prior and noise describe the scores, not the
            outputs; see `PrincipalComponents.transform`.
        components: PrincipalComponents; None computes them in `fit`, from the outputs of all rows
            with equal weights.

    Attributes:
        estimator_: The fitted estimator of the scores.
        components_: The components that are used.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(0.0, 1.0, 8)[:, None]
        >>> curves = np.sin(X * np.linspace(0.0, 3.0, 20))
        >>> model = bnn.PCARegressor(bnn.GPRegressor()).fit(X, curves)
        >>> model.predict([[0.4]]).shape
        (1, 20)
    """

    fitted_attributes: ClassVar = (
        "estimator_",
        "components_",
        "y_ndim_",
        "constant_inputs_",
        "feature_names_",
        "output_names_",
    )

    def __init__(
        self, estimator: PredictiveRegressor, components: PrincipalComponents | None = None
    ) -> None:
        self.estimator = estimator
        self.components = components

    def _check_parameters(self) -> None:
        check_kind("estimator", self.estimator, PredictiveRegressor)
        if self.components is not None:
            check_kind("components", self.components, PrincipalComponents)

    def _fit(self, X: Array, y: Array, keep_prior: bool, data_noise: DataNoise | None) -> None:
        if data_noise is not None and data_noise.std is not None:
            raise ValueError("noise_std: must be None, a PCARegressor has noise of scores only")
        if not keep_prior:
            self.components_ = self.components or PrincipalComponents.fit(y)
        start = self.estimator_._copied() if keep_prior else clone(self.estimator)
        scores = self.components_.transform(y)
        weights = None if data_noise is None else data_noise.weights
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantInputWarning)  # this model warns of it, too
            try:
                self.estimator_: PredictiveRegressor = start.fit(
                    X, scores, keep_prior=keep_prior, sample_weight=weights
                )
            except ValueError as error:
                what = f"estimator, whose outputs y are {scores.shape[1]} scores"
                raise ValueError(f"{what}: {error}") from error

    def check_restored(self) -> None:
        """Raise ValueError unless the restored estimator predicts as many scores as components."""
        check_kind("estimator_", self.estimator_, PredictiveRegressor)
        check_kind("components_", self.components_, PrincipalComponents)
        self.n_features_in_ = self.estimator_.n_features_in_
        self._check_constants()
        mean = self.estimator_._mean(np.zeros((1, self.n_features_in_)))
        scores = self.estimator_._shaped(mean).shape
        if scores != (1, len(self.components_.vectors)) or self.y_ndim_ not in (1, 2):
            raise ValueError(f"estimator_ predicts {scores} and y_ndim_ is {self.y_ndim_!r}")

    def _summary_lines(self, inputs: Sequence[str]) -> list[str]:
        n_scores, n_out = self.components_.vectors.shape
        head, *lines = self.estimator_._summary_lines(inputs)
        rest = np.sqrt(np.trace(self.components_.residual) / n_out)
        what = f"{n_out} outputs from {n_scores} scores y, residual standard deviation {rest:.3g}"
        return [what, f"{type(self.estimator_).__name__} of {head}", *lines]

    def sample(self, X: ArrayLike, **options: Any) -> Array:
        """Return samples of f: draws of a GPRegressor, or the members of an ensemble.

        Args:
            X: Inputs, (n, n_in).
            options: Options of the estimator's `sample`, such as n_samples and random_state.

        Returns:
            Functions at X, (K, n, n_out), without noise.
        """
        points = self.checked_inputs(X)
        return self.components_.inverse_transform(self.estimator_.sample(points, **options))

    def _mean(self, X: Array) -> Array:
        return self.components_.inverse_transform(self.estimator_._mean(X))

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array]:
        mean, scores = self.estimator_._moments(X, joint=True)
        V = self.components_.vectors
        # E f = mean + Vᵀ E z and Cov f = Vᵀ S V, with S = Cov z
        spread = V.T @ scores @ V if joint else np.einsum("ki,nkl,li->ni", V, scores, V)
        return self.components_.inverse_transform(mean), spread

    def _noise_at(self, X: Array) -> Array:
        V = self.components_.vectors
        # Σ_noise = Vᵀ Σ_z V + Cov(residual), with the noise Σ_z of the scores
        return np.asarray(V.T @ self.estimator_._noise_at(X) @ V + self.components_.residual)
