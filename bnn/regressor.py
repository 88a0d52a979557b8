"""Base of all estimators: fitting, predictions, summary, scikit-learn's tags."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from bnn._validation import (
    SAME_VALUE,
    Array,
    ConstantInputWarning,
    as_columns,
    as_finite,
    check_flags,
    check_kind,
    check_present,
    check_ranges,
    check_real,
    check_resolved,
    filled,
    missing_outputs,
    not_a_number,
    not_finite,
    varies,
    warn_of_constant,
    warn_of_rounding,
    where_present,
)
from bnn.noise import noise_gradient
from bnn.noise.models import DataNoise, counted_rows, no_noise
from bnn.storage import StoredModel, changes_as_a_whole
from safe_files.text import described


class PredictiveRegressor(StoredModel, RegressorMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Base of estimators: subclasses return the moments of f(x) and the covariance of the noise."""

    _whole: ClassVar[tuple[str, ...]] = ()  # parameters of which no entry can be set
    y_ndim_: int | None = None  # number of dimensions of y in fit
    # (n_in,): the value of each input that did not vary in fit; NaN for the other inputs
    constant_inputs_: Array | None = None
    # (n_out,): the value of each output that is predicted as a constant; NaN for the other outputs
    constant_outputs_: Array | None = None
    output_names_: tuple[str, ...] | None = None  # names of the columns of y, if it has names

    @property
    def _fewest(self) -> int:
        """Smallest number of rows that can be fitted."""
        return 2

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags, with support for several outputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Args:
            deep: Whether also entries of parameters, as `name__entry`.

        Returns:
            The values. A fitted model that is a parameter is a fixed value without entries.
        """
        params: dict[str, Any] = super().get_params(deep)
        entries = tuple(f"{name}__" for name in self._whole)
        return {key: value for key, value in params.items() if not key.startswith(entries)}

    def set_params(self, **params: Any) -> Self:
        """Change parameters.

        Args:
            params: Values by name; `name__entry` is an entry of a parameter that has settings.

        Returns:
            self.

        Raises:
            ValueError: If there is no such parameter, or an entry is invalid.
        """
        values = self.get_params(deep=False)
        for key in params:
            name, _, entry = key.partition("__")
            if not entry or name not in values:
                continue
            has_entries = hasattr(params.get(name, values[name]), "set_params")
            if name in self._whole or not has_entries:
                needed = f"give whole values of {name}, such as {{{name!r}: [...]}} in a search"
                raise ValueError(f"{key}: {name} has no entries that can be set: {needed}")
        super().set_params(**params)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the class and the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        values = self.get_params(deep=False)
        changed = {n: v for n, v in values.items() if not _alike(v, defaults[n].default)}
        return described(type(self).__name__, changed)

    @changes_as_a_whole
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        keep_prior: bool = False,
        *,
        noise_std: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to data; an ensemble with a prior first pre-trains its networks if needed.

        Args:
            X: Inputs, (N, n_in).
            y: Outputs, (N,) or (N, n_out). NaN marks a missing output, if there are several
                outputs. `PCARegressor` and heavy-tailed noise need complete rows. An output that
                does not vary is predicted as a constant, except by a GPRegressor with a given prior
                or mean.
            keep_prior: Whether to keep the prior and the noise of the last fit, for example to add
                rows to the data. Then neither is estimated again, and an ensemble starts from its
                pre-trained networks. With a StudentNoise, earlier rows keep their precision
                factors.
            noise_std: Known standard deviation of the noise of each datum, (N,) or (N, n_out), in
                the units of y, such as the standard error of averaged runs. NaN is allowed where y
                is NaN. If `noise` is None, this is the whole noise; otherwise `noise` is added to
                it. `PCARegressor` does not accept it. In a pipeline pass
                gpregressor__noise_std; for a cross-validation enable scikit-learn's metadata
                routing and call `set_fit_request(noise_std=True)`.
            sample_weight: Weights, (N,). The variances of `noise` are divided by them, so that
                under given noise M rows of equal inputs count like their mean with weight M. If
                the noise is estimated, give all rows instead: their mean does not show how much
                they differ. Rows of weight zero are left out.

        Returns:
            self.

        Raises:
            NotFittedError: If keep_prior is True, but the model is not fitted.
            ValueError: If data or parameters are invalid, or if their shapes do not match.
            DivergenceError: If the weights of fewer than two networks of an ensemble stayed finite.

        Warns:
            BoundsWarning: If data lie far outside the bounds that scale them.
            NoiseWarning: If the noise exceeds the scatter of the data.
            ConstantInputWarning: If an input does not vary.
            ConstantOutputWarning: If an output varies by less than 1e-13 of its size.
            NuggetWarning: If the noise of a GPRegressor is too small for double precision.
            PriorRangeWarning: If most data lie outside the range where networks were pre-trained.
        """
        check_flags(keep_prior=keep_prior)
        self._check_parameters()
        names = names_of(y)
        if keep_prior:
            check_is_fitted(self)
            check_order("y", names, "the last fit", self.output_names_)
            names = names or self.output_names_
        check_order("noise_std", names_of(noise_std), "y", names)
        least = 1 if keep_prior else self._fewest
        points, y = self._checked_data(X, y, keep_prior, least)
        outputs = y.reshape(len(points), -1)
        missing = np.isnan(outputs)
        if missing.any():
            noise_std = where_present(noise_std, missing)
        data_noise = DataNoise.checked(noise_std, sample_weight, outputs.shape)
        if sample_weight is not None:
            points, outputs, data_noise = counted_rows(points, outputs, data_noise)
            if len(points) < least:
                fewest = f"must be at least {least}"
                raise ValueError(f"sample_weight: {len(points)} are not zero, {fewest}")
            if missing.any():
                check_present(~np.isnan(outputs))
        if keep_prior and noise_std is None and no_noise(getattr(self, "noise_", None)):
            raise ValueError("noise_std = None: must be given, as the last fit had no other noise")
        constants = self._constants(outputs, keep_prior)
        warn_of_rounding(outputs, constants)
        self.output_names_ = names
        start = time.perf_counter()
        self._fit(points, outputs, keep_prior, data_noise)
        single = ~varies(points) & (len(points) > 1)
        self.constant_inputs_ = np.where(single, points[0], np.nan)
        warn_of_constant(points, self.constant_inputs_)
        self.constant_outputs_ = constants
        self.y_ndim_ = np.ndim(y)
        self.fit_seconds_ = time.perf_counter() - start
        return self

    def _checked_data(
        self, X: ArrayLike, y: ArrayLike, keep_prior: bool, least: int
    ) -> tuple[Array, Array]:
        """Return X (N, n_in) and y, (N,) or (N, n_out), of at least `least` rows."""
        data = {"X": X, "y": y}
        missing = missing_outputs(y)
        if missing is not None:
            self._check_missing(keep_prior)
            data = {"X": X, "y": filled(np.asarray(y))}
        needed = {"multi_output": True, "y_numeric": True, "ensure_min_samples": least}
        points, values = self._validated(data, reset=not keep_prior, **needed)
        check_ranges(X=points, y=as_columns("y", values, len(points)))
        check_resolved(**data)
        return points, values if missing is None else np.where(missing, np.nan, values)

    def summary(self) -> str:
        """Summarise the fitted model in a table.

        Returns:
            A table with one column per output. The rows give the length scales of the prior,
            relative to the range of each input, and the form and standard deviation of the noise.
            For a mixture they also give the effective number of components, 1 / Σ w², and the
            largest weight. The first line describes the model and, unless it was loaded from a
            file, how long the fit took.

        Raises:
            NotFittedError: If the model is not fitted.

        Examples:
            >>> import bnn
            >>> import numpy as np
            >>> X = np.linspace(0.0, 2.0, 12)[:, None]
            >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
            >>> text = bnn.GPRegressor(prior, noise=0.1).fit(X, X[:, 0]).summary()
            >>> for line in text.splitlines()[1:]:
            ...     print(line)
                                               y0
            length scale / range of x0, RBF  0.25
            noise, constant                   0.1
            noise / range                    0.05
        """
        check_is_fitted(self)
        seconds = getattr(self, "fit_seconds_", None)
        time_taken = "" if seconds is None else f", fitted in {seconds:.3g} s"
        lines = self._summary_lines(self.feature_names_ or self._numbered("x", self.n_features_in_))
        return "\n".join([f"{type(self).__name__} of {lines[0]}{time_taken}", *lines[1:]])

    def _outputs(self, n: int) -> tuple[str, ...]:
        """Return the names of n outputs; y0, y1, ... if y had no names."""
        names = self.output_names_
        return tuple(names) if names and len(names) == n else self._numbered("y", n)

    @staticmethod
    def _numbered(letter: str, n: int) -> tuple[str, ...]:
        return tuple(f"{letter}{i}" for i in range(n))

    def _summary_lines(self, inputs: Sequence[str]) -> list[str]:
        """Return a description of the model, then the lines of the table, given the input names."""
        raise NotImplementedError

    def _check_missing(self, keep_prior: bool) -> None:  # noqa: ARG002
        """Raise ValueError if the estimator needs every output of a row."""
        needed = f"a {type(self).__name__} needs all outputs of each row"
        raise ValueError(f"y has missing outputs: {needed}")

    @property
    def _fixes_constants(self) -> bool:
        """Whether an output that does not vary is predicted as a constant."""
        return False

    def _constants(self, y: Array, keep_prior: bool) -> Array:
        """Return the value of each output that is predicted as a constant, else NaN, (n_out,)."""
        none = np.full(y.shape[1], np.nan)
        if not keep_prior:
            if not self._fixes_constants or len(y) < 2:
                return none
            values = filled(y)
            return np.where(varies(values), np.nan, values[0])
        constants = self.constant_outputs_
        if constants is None or constants.shape != none.shape:
            return none
        for i, j in np.argwhere(np.abs(y - constants) > SAME_VALUE * np.abs(constants))[:1]:
            needed = f"must be {constants[j]:.6g} as in all rows of the last fit"
            raise ValueError(f"y[{i}, {j}] = {y[i, j]:.6g}: {needed}, or give keep_prior=False")
        return constants

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid, whatever the data are."""

    def _fit(self, X: Array, y: Array, keep_prior: bool, data_noise: DataNoise | None) -> None:
        """Fit the model to checked data X (N, n_in) and y (N, n_out), with known noise if any."""
        raise NotImplementedError

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
    ) -> Any:
        """Return the predictive mean, and its uncertainty on request.

        Args:
            X: Inputs, (n, n_in).
            return_std: Also return the standard deviation of each output.
            return_cov: Also return the covariance between the outputs.
            include_noise: Whether the uncertainty includes the noise; else it is epistemic only.

        Returns:
            Mean, (n,) or (n, n_out) as y in `fit`; with return_std also the standard deviation, of
            the same shape; with return_cov also the covariance at each point, (n, n_out, n_out).

        Raises:
            NotFittedError: If the estimator is not fitted.
            ValueError: If return_std and return_cov are both True, X does not match the training
                data, or the noise is to be included but is only known at the training data.

        Source: Eq. 5 of the paper, for an ensemble.
        """
        check_flags(return_std=return_std, return_cov=return_cov, include_noise=include_noise)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov: must not both be True")
        points = self.checked_inputs(X)
        if not return_std and not return_cov:
            return self._shaped(self._mean(points))
        mean, spread = self._moments(points, joint=return_cov)
        if include_noise:
            noise = self._noise_at(points)
            spread = spread + (noise if return_cov else np.einsum("...jj->...j", noise))
        if return_cov:
            return self._shaped(mean), spread
        # Rounding may leave a variance below zero.
        return self._shaped(mean), self._shaped(np.sqrt(np.maximum(spread, 0.0)))

    def predict_gradient(self, X: ArrayLike, include_noise: bool = False) -> tuple[Array, Array]:
        """Return gradients of the predictive mean and standard deviation with respect to X.

        Args:
            X: Inputs, (n, n_in).
            include_noise: Whether the standard deviation includes the noise; otherwise it is
                epistemic only.

        Returns:
            ∂mean/∂x and ∂std/∂x, (n, n_out, n_in) each, or (n, n_in) if y is (N,). ∂std/∂x is zero
            where the standard deviation is zero.

        Raises:
            NotFittedError: If the estimator is not fitted.
            ValueError: If X does not match the training data, the estimator is a PCARegressor, the
                noise is to be included but is only known at the training data, or a kernel or mean
                has no gradient, such as a custom function or a kernel of scikit-learn other than a
                constant.

        Examples:
            >>> import bnn
            >>> import numpy as np
            >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
            >>> model = bnn.GPRegressor(noise=0.01).fit(X, np.sin(X[:, 0]))
            >>> mean, std = model.predict_gradient([[0.0]])
            >>> mean.round(2), std.shape
            (array([[1.]]), (1, 1))
        """
        check_flags(include_noise=include_noise)
        points = self.checked_inputs(X)
        mean, variance = self._moment_gradients(points)
        spread = self._moments(points, joint=False)[1]
        if include_noise:
            spread = spread + np.einsum("...jj->...j", self._noise_at(points))
            variance = variance + noise_gradient(self.noise_, points)
        # ∂√v/∂x = ∂v/∂x / 2√v
        std = np.sqrt(np.maximum(spread, 0.0))[..., None]
        by_std = np.divide(0.5 * variance, std, out=np.zeros_like(variance), where=std > 0.0)
        return self._shaped(mean), self._shaped(by_std)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² of the mean, as scikit-learn defines it.

        Args:
            X: Inputs, (n, n_in).
            y: Outputs, (n,) or (n, n_out). NaN marks missing values, which are left out.
            sample_weight: Weights, (n,); None weights all rows equally.

        Returns:
            R², at most 1, averaged over the outputs. If y has NaN, outputs with fewer than two
            values are left out of the mean.

        Raises:
            NotFittedError: If the estimator is not fitted.
            ValueError: If an array has masked entries, entries that are not real numbers or another
                shape or order of columns than the prediction, or no output has two values.
        """
        check_order("y", names_of(y), "the fit", self.output_names_)
        check_real(y=y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        values = np.asarray(y)
        if values.dtype.kind != "f" or not np.isnan(values).any():
            return float(super().score(X, y, sample_weight))
        mean = self.predict(X)
        mean = mean.reshape(len(mean), -1)
        truth = as_columns("y", values, len(mean))
        if truth.shape != mean.shape:
            raise ValueError(f"y has {truth.shape[1]} outputs: must be {mean.shape[1]}")
        weights = None if sample_weight is None else column_or_1d(sample_weight)
        check_consistent_length(truth, weights)
        scores = []
        for observed, predicted in zip(truth.T, mean.T, strict=True):
            rows = ~np.isnan(observed)
            if rows.sum() > 1:
                share = None if weights is None else weights[rows]
                scores.append(r2_score(observed[rows], predicted[rows], sample_weight=share))
        if not scores:
            raise ValueError("y: must have an output with at least two values that are not NaN")
        return float(np.mean(scores))

    def checked_inputs(self, X: ArrayLike, name: str = "X") -> Array:
        """Check the inputs of a prediction, as `predict` does.

        Args:
            X: Inputs, (n, n_in); a data frame must have the columns of the training data.
            name: Name of X in messages.

        Returns:
            X as float64.

        Raises:
            NotFittedError: If the estimator is not fitted.
            ValueError: If X does not match the training data.

        Warns:
            ConstantInputWarning: If an input that did not vary in `fit` has another value now.
        """
        check_is_fitted(self)
        points = self._validated({name: X}, reset=False)[0]
        self._warn_of_new_values(name, points)
        return points

    def _warn_of_new_values(self, name: str, X: Array) -> None:
        """Warn if an input that did not vary in `fit` has another value in X (n, n_in)."""
        constants = self.constant_inputs_
        if constants is None:
            return
        away = np.abs(X - constants) > SAME_VALUE * np.abs(constants)  # False for NaN
        for i in np.flatnonzero(away.any(axis=0))[:1]:
            label = self.feature_names_[i] if self.feature_names_ else str(i)
            value = f"{constants[i]:.6g}, its only value in fit"
            message = f"input {label} of {name} differs from {value}"
            remedy = "its effect has not been learnt"
            warnings.warn(f"{message}: {remedy}", ConstantInputWarning, stacklevel=4)

    def _check_constants(self, n_outputs: int | None = None) -> None:
        """Raise ValueError unless restored constants match the numbers of inputs and outputs."""
        sizes = {"constant_inputs_": self.n_features_in_, "constant_outputs_": n_outputs}
        for name, size in sizes.items():
            constants = getattr(self, name)
            check_kind(name, constants, np.ndarray, type(None))
            if constants is not None and constants.shape != (size,):
                raise ValueError(f"{name} has shape {constants.shape}: must be ({size},)")

    def _validated(self, data: Mapping[str, ArrayLike], **options: Any) -> list[Array]:
        """Return the named data, X or X and y, as float arrays checked by scikit-learn."""
        check_real(**data)
        names = ", ".join(data)
        try:
            checked = validate_data(self, *data.values(), dtype=float, **options)
        except (OverflowError, RuntimeError, TypeError, ValueError) as error:
            complaints: list[str | None] = []
            if "feature names" not in str(error):
                # scikit-learn reports that an array contains NaN or text, but not where.
                complaints = [_complaint(name, values) for name, values in data.items()]
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(next(filter(None, complaints), f"{names}: {error}")) from None
        arrays = checked if len(data) > 1 else [checked]
        pairs = zip(data.items(), arrays, strict=True)
        return [as_finite(name, array, table=table) for (name, table), array in pairs]

    def _mean(self, X: Array) -> Array:
        """Return the mean of f at X (n, n_in), (n, n_out)."""
        return self._moments(X, joint=False)[0]

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array]:
        """Return mean and variance of f at X, (n, n_out); joint: covariances (n, n_out, n_out)."""
        raise NotImplementedError

    def _moment_gradients(self, X: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return the gradients of mean and variance of f at points X, (n, n_out, n_in) each."""
        raise ValueError(
            f"a {type(self).__name__} has no gradients: use predict_gradient of its estimator_"
        )

    def _noise_at(self, X: Array) -> Array:
        """Return the noise covariance, (n_out, n_out), or at each point of X, (n, n_out, n_out)."""
        raise NotImplementedError

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self.y_ndim_ == 1 else values


def check_order(
    name: str, names: tuple[str, ...] | None, earlier: str, expected: tuple[str, ...] | None
) -> None:
    """Raise ValueError if a table has the columns of earlier data, but in another order."""
    if names and expected and names != expected and sorted(names) == sorted(expected):
        needed = f"must have the order of {earlier}, {expected}"
        raise ValueError(f"{name} has columns {names}: {needed}")


def names_of(table: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame or a series; None if there are none."""
    name = getattr(table, "name", None)
    names = getattr(table, "columns", None if name is None else [name])
    return None if names is None else tuple(str(label) for label in names)


def _alike(value: object, default: object) -> bool:
    """Return whether a parameter equals its default, which is None, a number or a string."""
    return value is default or (type(value) is type(default) and value == default)


def _complaint(name: str, values: ArrayLike) -> str | None:
    """Return a message about the first entry that is not a finite number; None if all are."""
    if hasattr(values, "columns") and not len(values.columns):
        return f"{name} has no columns"
    try:
        array = check_array(
            values, dtype=float, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0
        )
    except (OverflowError, RuntimeError, TypeError, ValueError):
        return not_a_number(name, values)
    return not_finite(name, array, values) if array.ndim else None
