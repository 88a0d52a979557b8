"""The exact posterior of a Gaussian process prior, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from bnn._seeding import RandomState, generator
from bnn._validation import (
    Array,
    as_columns,
    as_finite,
    as_points,
    check_count,
    check_kind,
    check_option,
    filled,
)
from bnn.gp.conditioning import NuggetWarning, check_joint
from bnn.gp.evidence.heavy_tails import Tails, factors_of
from bnn.gp.evidence.model import NOISE_KINDS, estimated_model, noise_beside_prior
from bnn.gp.evidence.prescribed import MeanForm
from bnn.gp.evidence.prior import RESTARTS
from bnn.gp.gradients import moment_gradients
from bnn.gp.means import RandomMean
from bnn.gp.mixture import (
    MixturePosterior,
    Posterior,
    Prior,
    conditioned,
    warn_of_few_draws,
)
from bnn.gp.process import MOST_ROWS, GaussianProcessPrior
from bnn.gp.summary import noise_rows, open_rows, prior_rows, ranges_of
from bnn.noise import Covariance, Noise, StudentNoise
from bnn.noise.covariances import apart
from bnn.noise.models import (
    DataNoise,
    covariances_of_data,
    is_heavy_tailed,
    kept_noise,
    noise_of_new,
    warn_of_excess,
)
from bnn.noise.student import given_factors, nodes, scaled
from bnn.regressor import PredictiveRegressor, check_order, names_of
from bnn.storage import storable
from bnn.storage.values import NotStored
from safe_files.help_page import see
from safe_files.progress import counted
from safe_files.text import short, table

FAR_APART = 6.0  # largest difference that a nugget explains, in its standard deviations
GRADIENT_ENTRIES = 2**22  # entries of the derivatives of a kernel that are computed at a time


@storable
class GPRegressor(PredictiveRegressor):
    """Exact posterior of a Gaussian process prior given data with Gaussian noise.

    Use it for up to a few thousand rows. An ensemble with the same prior approximates this
    posterior.

    The cost for N rows depends on the noise:

    - Diagonal noise: O(N³) per output. Outputs with equal kernels and noise share a factorisation.
    - Constant correlated noise, if all outputs have the same kernel and none is missing: O(N³) per
      output.
    - Any other correlated noise: O((n_out N)³).

    The posterior ignores the bounds of the prior. The posterior of a MixturePrior is the mixture of
    the posteriors of its components.

    Args:
        prior: GaussianProcessPrior whose mean is not random, or a MixturePrior of such priors,
            whose weights are updated by the evidence. Correlated noise couples its outputs; then
            combinations of components are mixed: all, or 64 draws if there are more. Kernel
            parameters that are None are open: `fit` averages over them, and estimates the noise
            with them unless it is given. If prior is None, it is estimated by
            `evidence.fit_kernel_average`, an average over families of kernels.
        mean: Low-fidelity model; only if prior is None. The prior is then estimated as by
            `evidence.fit_prior(X, y, noise, mean=mean)`. Pass a function of X (n, n_in), read-only,
            that returns (n, n_out), or (n,) for one output. Or pass another GPRegressor, fitted to
            many cheap runs, whose own uncertainty becomes part of the prior. Each row of y must be
            complete, and y - mean(X) must vary.
        noise: Standard deviation(s), or Σ_noise (n_out, n_out), in the units of y; a
            HeteroscedasticNoise; or a StudentNoise. "constant" estimates standard deviations from
            the evidence of the data, "heteroscedastic" a HeteroscedasticNoise, "student_t" a
            StudentNoise. None is "constant" if a prior is given; otherwise the evidence chooses the
            kind of noise. The search for a prior uses at most 1,500 rows, and that for noise under
            a given prior at most 300, and a few more if an output or input rarely varies. Under a
            StudentNoise the posterior is variational, q(f, λ) = q(f) Π_i q(λ_i), with a precision
            factor λ_i for each row. Its standard deviations are 13 to 21 % too small, see
            StudentNoise. Zero means no noise but rounding errors of y, as of a deterministic
            simulator; beside `noise_std` of `fit` it means no further noise. Noise that is too
            small for double precision gets a nugget, see `nugget_`.

    Attributes:
        prior_: The given or estimated prior.
        open_prior_: The given prior, with None for the parameters that `fit` has estimated; None if
            it had no open parameters.
        noise_: Σ_noise, (n_out, n_out), the HeteroscedasticNoise or the StudentNoise.
        factors_: E λ_i of each row, (N,): small for outliers under a StudentNoise; ones under
            Gaussian noise.
        data_noise_: The noise_std and sample_weight of `fit`; None if neither was given.
        nugget_: Standard deviation of the nugget of each output, (n_out,): zero if the covariance
            of the data can be factorised with the given noise. Its variance is 4 N ε times the
            largest prior variance at the data, with the rounding error ε = 2.2e-16. `fit` reports
            a nugget on noise that you give by a NuggetWarning.
        X_: Training inputs, (N, n_in).
        y_: Training outputs, (N, n_out), NaN for missing outputs.

    Source: Rasmussen & Williams (2006), equations 2.22 to 2.24 and 2.30; for a StudentNoise
    Tipping & Lawrence (2005), Neurocomputing 69.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.GPRegressor().fit(X, y)
        >>> mean, std = model.predict([[0.5]], return_std=True)
        >>> bool(abs(mean[0] - np.sin(1.5)) < 0.05)
        True
        >>> model.sample([[0.5], [0.6]], n_samples=3, random_state=0).shape
        (3, 2, 1)
    """

    fitted_attributes: ClassVar = (
        "prior_",
        "open_prior_",
        "noise_",
        "factors_",
        "data_noise_",
        "X_",
        "y_",
        "y_ndim_",
        "constant_inputs_",
        "constant_outputs_",
        "feature_names_",
        "output_names_",
    )

    _whole = ("mean",)  # clones share it, and another parameter would not change its fit
    open_prior_: GaussianProcessPrior | None
    noise_: Covariance | StudentNoise
    nugget_: Array
    posterior_: Posterior

    def __init__(
        self,
        prior: Prior | None = None,
        *,
        mean: Callable[[Array], ArrayLike] | GPRegressor | None = None,
        noise: Noise | StudentNoise | str | None = None,
    ) -> None:
        self.prior = prior
        self.mean = mean
        self.noise = noise

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy; it keeps a fitted `mean`, which is a setting."""
        copy: Self = super().__sklearn_clone__()
        copy.mean = self.mean
        return copy

    @property
    def _fewest(self) -> int:
        """Least number of rows: two if the prior or the noise is estimated, else one."""
        estimated = self.prior is None or self.noise is None or isinstance(self.noise, str)
        return 2 if estimated or _is_open(self.prior) else 1

    @property
    def _fixes_constants(self) -> bool:
        """Whether constant outputs are predicted as constants: if no prior and no mean is given."""
        return self.prior is None and self.mean is None

    def _check_missing(self, keep_prior: bool) -> None:
        noise = self.noise_ if keep_prior else self.noise
        if is_heavy_tailed(noise):
            raise ValueError("y has missing outputs: a StudentNoise needs all outputs of each row")
        if not keep_prior and self.mean is not None:
            raise ValueError("y has missing outputs: the mean needs all outputs of each row")

    def _check_parameters(self) -> None:
        if self.mean is not None and self.prior is not None:
            needed = "must be None if prior is given, which has a mean"
            raise ValueError(f"mean = {short(self.mean)}: {needed}")

    def _fit(self, X: Array, y: Array, keep_prior: bool, data_noise: DataNoise | None) -> None:
        n_outputs = y.shape[1]
        prior = self._checked_prior(n_outputs, keep_prior)
        _check_rows("X", X)
        setting = self.noise_ if keep_prior else self.noise
        if isinstance(setting, str):
            check_option("noise", setting, NOISE_KINDS)
        if is_heavy_tailed(setting) and data_noise is not None:
            needed = "heavy tails cannot be estimated if noise_std or sample_weight is given"
            raise ValueError(f"noise = {setting!r:.60}: {needed}")
        known_std = data_noise is not None and data_noise.std is not None
        factors = None
        open_prior = self.open_prior_ if keep_prior else None
        if prior is None and self.mean is not None:
            form = MeanForm.checked(X, y, self._checked_mean())
            model = estimated_model(X, y, setting, data_noise, form=form, restarts=RESTARTS)
            prior, noise, factors = model
        elif prior is None:
            prior, noise, factors = estimated_model(X, y, setting, data_noise)
        elif _is_open(prior):
            kind = "constant" if setting is None and not known_std else setting
            model = estimated_model(X, y, kind, data_noise, prior=prior, restarts=RESTARTS)
            of_rows = [prior.of_inputs(X[rows]) for rows in ~np.isnan(y.T)]
            open_prior = replace(prior, kernel=[p.kernels[j] for j, p in enumerate(of_rows)])
            prior, noise, factors = model
        else:
            noise = noise_beside_prior(setting, X, y, data_noise)
        noise = kept_noise(noise, X.shape[1], n_outputs)
        if isinstance(noise, StudentNoise):
            if keep_prior:
                factors = self._factors_of_last_fit(X, y)
            if factors is None or np.isnan(factors).any():
                title = "precision factors"
                df, factors = factors_of(prior, noise, X, y, title=title, fixed=factors)
                noise = replace(noise, df=df)
        else:
            warn_of_excess(covariances_of_data(noise, X, data_noise), y, stacklevel=5)
        self.prior_ = prior
        self.open_prior_ = open_prior
        self.noise_ = noise
        self.factors_ = np.ones(len(X)) if factors is None else factors
        self.data_noise_ = data_noise
        self.X_ = X
        self.y_ = y
        self._condition()
        if isinstance(self.posterior_, MixturePosterior):
            warn_of_few_draws(self.posterior_, stacklevel=4)
        # The user cannot change noise that `fit` has chosen.
        chosen = self.noise is None or isinstance(self.noise, str)
        if chosen and not known_std:
            return
        for j in np.flatnonzero(self.nugget_)[:1]:
            size = f"a nugget of {self.nugget_[j]:.3g} is added to the noise of output {j}"
            message = f"noise: too small for the prior in double precision, {size}"
            message += _contradiction(X, y[:, j], self.nugget_[j])
            warnings.warn(message, NuggetWarning, stacklevel=4)

    def _checked_prior(self, n_outputs: int, keep_prior: bool) -> Prior | None:
        """Return the prior of the last fit if it is kept, else the given prior or None."""
        prior = self.prior_ if keep_prior else self.prior
        if isinstance(prior, NotStored):
            raise ValueError(f"prior: a {prior.kind} is not saved with a model: set prior again")
        if prior is None:
            return None
        if not isinstance(prior, Prior):
            needed = "must be a GaussianProcessPrior or a mixture"
            raise ValueError(f"prior = {prior!r:.60}: {needed}")
        if any(isinstance(p.mean, RandomMean) for p in getattr(prior, "components", [prior])):
            only = "which only ensembles accept: use FunctionAnchoredEnsemble"
            raise ValueError(f"prior: its mean is random, {only}")
        if n_outputs != prior.n_outputs:
            raise ValueError(f"y has {n_outputs} outputs: must be {prior.n_outputs}")
        return prior

    def _checked_mean(self) -> Callable[[Array], ArrayLike] | GPRegressor | None:
        """Return the low-fidelity model; ValueError if the names of its data do not match."""
        mean = self.mean
        if isinstance(mean, NotStored):
            raise ValueError(f"mean: a {mean.kind} is not saved with a model: set mean again")
        names = getattr(mean, "feature_names_", None)
        if names and self.feature_names_ and names != self.feature_names_:
            needed = f"must be {self.feature_names_}, the columns of X"
            raise ValueError(f"mean was fitted to columns {names}: {needed}")
        check_order("y", self.output_names_, "mean", getattr(mean, "output_names_", None))
        return mean

    def _factors_of_last_fit(self, X: Array, y: Array) -> Array:
        """Return E λ_i, (N,), of the last fit for its rows; NaN for new rows."""
        last = zip(np.hstack([self.X_, self.y_]), self.factors_, strict=True)
        factors = {row.tobytes(): factor for row, factor in last}
        return np.array([factors.get(row.tobytes(), np.nan) for row in np.hstack([X, y])])

    def _condition(self) -> None:
        """Condition the prior on the data, and set the nugget."""
        covariances = covariances_of_data(self.noise_, self.X_, self.data_noise_)
        self._beyond = 0.0
        if isinstance(self.noise_, StudentNoise):
            # q(f) is the posterior under Gaussian noise, with covariances (1 - 2/ν) Σ_i / E λ_i.
            covariances = given_factors(self.noise_, covariances, self.factors_)
            # Lower bound: log p(y) >= log p(y | noise of these covariances) + beyond.
            self._beyond = Tails(self.noise_.degrees, self.factors_).bound(self.y_.shape[1])
        self.posterior_ = conditioned(self.prior_, covariances, self.X_, self.y_)
        added = np.einsum("...jj->...j", self.posterior_.noise - covariances)
        self.nugget_ = np.sqrt(added.reshape(-1, self.y_.shape[1]).max(axis=0))

    def check_restored(self) -> None:
        """Check the restored attributes, then condition the prior on the data.

        Raises:
            ValueError: If an attribute is invalid, or attributes do not match each other.
        """
        if not isinstance(self.prior_, Prior):
            raise ValueError(f"prior_ is a {type(self.prior_).__name__}")
        check_kind("open_prior_", self.open_prior_, GaussianProcessPrior, type(None))
        X = as_points("X_", self.X_)
        _check_rows("X_", X)  # a small file may hold many equal rows
        y = as_columns("y_", self.y_, len(X))
        as_finite("y_", y[~np.isnan(y)])
        for j in np.flatnonzero(np.isnan(y).all(axis=0))[:1]:
            raise ValueError(f"y_ has no value of output {j}, only NaN")
        if self.y_ndim_ not in (1, 2) or y.shape[1] != self.prior_.n_outputs:
            raise ValueError(f"y_ has {y.shape[1]} outputs and y_ndim_ is {self.y_ndim_!r}")
        self.n_features_in_ = X.shape[1]
        self._check_constants(y.shape[1])
        factors = as_finite("factors_", self.factors_)
        if factors.shape != (len(X),):
            raise ValueError(f"factors_ has shape {factors.shape}: must be ({len(X)},)")
        for i in np.flatnonzero(factors <= 0.0)[:1]:
            raise ValueError(f"factors_ = {factors[i]} of row {i}: must be > 0")
        data_noise = self.data_noise_
        if data_noise is not None:
            check_kind("data_noise_", data_noise, DataNoise)
            data_noise = DataNoise.checked(data_noise.std, data_noise.weights, y.shape)
        self.noise_ = kept_noise(self.noise_, X.shape[1], y.shape[1])
        self.factors_ = factors
        self.data_noise_ = data_noise
        self.X_ = X
        self.y_ = y
        self._condition()

    def joint_moments(self, X: ArrayLike) -> tuple[Array, Array]:
        """Return the joint posterior of f at all points.

        Args:
            X: (n, n_in).

        Returns:
            Mean, (n, n_out), and covariance, (n_out n, n_out n), whose row j n + i belongs to
            output j at point i.

        Raises:
            ValueError: If the covariance would have more than 10,000 rows.
        """
        points = self.checked_inputs(X)
        check_joint(points, self.y_.shape[1])
        return self.posterior_.joint_moments(points)

    def _summary_lines(self, inputs: Sequence[str]) -> list[str]:
        posterior = self.posterior_
        shares = posterior.shares if isinstance(posterior, MixturePosterior) else None
        rows = prior_rows(self.prior_, shares, inputs, ranges_of(self.X_))
        rows += open_rows(self.open_prior_, self.prior_, shares, inputs)
        rows += noise_rows(self.noise_, self.X_, ranges_of(filled(self.y_)))
        outputs = self._outputs(self.y_.shape[1])
        return [f"{len(self.X_)} data", *table(outputs, rows)]

    def _mean(self, X: Array) -> Array:
        batches = self._batches(X, "predictions")
        means = [self.posterior_.mean(X[batch]) for batch in batches]
        return self._with_constants(np.concatenate(means))

    def _with_constants(self, mean: Array) -> Array:
        """Return the mean (n, n_out), with exact constants for outputs that did not vary in fit."""
        constants = self.constant_outputs_
        return mean if constants is None else np.where(np.isnan(constants), mean, constants)

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array]:
        batches = self._batches(X, "predictions")
        moments = [self.posterior_.moments(X[batch]) for batch in batches]
        mean, spreads = map(np.concatenate, zip(*moments, strict=True))
        # S(x) = Cov f(x), or its diagonal
        return self._with_constants(mean), spreads if joint else np.einsum("njj->nj", spreads)

    def _batches(self, X: Array, title: str) -> Iterator[slice]:
        """Yield batches of the points X, with a progress bar on a terminal."""
        return counted(self.posterior_.batches(len(X)), title, "part")

    def _moment_gradients(self, X: Array) -> tuple[Array, Array]:
        # The gradient of the covariance with the data has n_in times as many entries as the
        # covariance.
        size = max(GRADIENT_ENTRIES // (X.shape[1] * len(self.X_)), 1)
        batches = counted(list(gen_batches(len(X), size)), "gradients", "part")
        parts = [moment_gradients(self.posterior_, X[batch]) for batch in batches]
        by_mean, by_variance = zip(*parts, strict=True)
        return np.concatenate(by_mean), np.concatenate(by_variance)

    def _noise_at(self, X: Array) -> Array:
        return noise_of_new(self.noise_, X)

    def sample(self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = None) -> Array:
        """Draw functions from the posterior.

        Args:
            X: (n, n_in). The joint covariance of all points is factorised.
            n_samples: Number of functions, K.
            random_state: Seed.

        Returns:
            Functions at X, (K, n, n_out), without noise.

        Raises:
            ValueError: If the joint covariance would have more than 10,000 rows.
        """
        check_count("n_samples", n_samples, 1)
        points = self.checked_inputs(X)
        return self.posterior_.sample(points, n_samples, generator(random_state))

    def elppd(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the expected log pointwise predictive density, noise included.

        Args:
            X: (n, n_in).
            y: True values, (n,) or (n, n_out), NaN for missing values.

        Returns:
            Σ_i log p(y_i | x_i, D), joint over the outputs. With a MixturePrior or a StudentNoise
            p is the density of the mixture, not a normal density with its moments.

        Raises:
            ValueError: If y is infinite or has only NaN, if shapes do not match, or if the noise is
                only known at the training data.
        """
        points = self.checked_inputs(X)
        check_order("y", names_of(y), "the fit", self.output_names_)
        values = as_columns("y", y, len(points))
        missing = np.isnan(values)
        if missing.all():
            raise ValueError("y has no value, only NaN")
        as_finite("y", np.where(missing, 0.0, values))
        if values.shape[1] != self.prior_.n_outputs:
            raise ValueError(f"y has {values.shape[1]} outputs: must be {self.prior_.n_outputs}")
        batches = self._batches(points, "density")
        parts = [self._log_density(points[batch], values[batch]) for batch in batches]
        return float(np.concatenate(parts).sum())

    def _log_density(self, X: Array, y: Array) -> Array:
        noise = self.noise_
        covariances = self._noise_at(X)
        if not isinstance(noise, StudentNoise):
            return self.posterior_.log_density(X, y, covariances)
        # p(y | x) = ∫ p(λ) p(y | x, noise Ψ / λ) dλ with the scale matrix Ψ = (1 - 2/ν) Σ(x)
        scale = scaled(noise, covariances) * np.ones((len(X), 1, 1))
        missing = np.isnan(y)
        away = np.where(missing, 0.0, y - self.posterior_.mean(X))
        # (y - m)ᵀ Ψ⁻¹ (y - m)
        squares = np.einsum("ni,nij,nj->n", away, np.linalg.inv(apart(scale, missing)), away)
        # log p(y | x) = log Σ_l w_l p(y | x, noise Ψ / λ_l)
        factors, weights = nodes(noise.degrees, squares, y.shape[1])
        logs = self.posterior_.log_density(X, y, scale / factors[:, :, None, None]).sum(axis=-1)
        return np.asarray(logsumexp(logs + weights, axis=0))

    def log_evidence(self) -> float:
        """Return the log marginal likelihood log p(y | X), which depends on the units of y.

        Under a StudentNoise it is the lower bound of the variational posterior (ELBO).
        """
        check_is_fitted(self)
        return float(np.sum(self.posterior_.log_evidences)) + self._beyond


def _is_open(prior: object) -> TypeGuard[GaussianProcessPrior]:
    return isinstance(prior, GaussianProcessPrior) and prior.is_open


def _contradiction(X: Array, y: Array, nugget: float) -> str:
    """Return a text about two rows of equal inputs whose values y (N,) the nugget cannot explain.

    The text is empty if there are no such rows.
    """
    order = np.lexsort(X.T)
    equal = np.all(np.diff(X[order], axis=0) == 0.0, axis=1)
    apart = np.abs(np.diff(y[order])) > FAR_APART * nugget
    pairs = np.flatnonzero(equal & apart)
    if not pairs.size:
        return ""
    first, second = sorted(order[pairs[0] : pairs[0] + 2])
    rows = f"; rows {first} and {second} have equal inputs, but {y[first]:.6g} and {y[second]:.6g}"
    return f"{rows}: they differ by noise, give its size, or noise=None to estimate it"


def _check_rows(name: str, X: Array) -> None:
    """Raise ValueError if there are too many rows for their covariance matrix."""
    if len(X) > MOST_ROWS:
        needed = f"must be at most {MOST_ROWS} for an exact posterior, which costs O(N³)"
        distinct = len(np.unique(X, axis=0))
        if distinct <= MOST_ROWS:
            means = "fit the means of equal inputs, with their numbers as sample_weight, and give "
            means += "noise, such as noise.replicate_covariance(y, groups)"
            raise ValueError(
                f"{name} has {len(X)} rows, {needed}; only {distinct} inputs differ: {means}"
            )
        boosting = "HistGradientBoostingRegressor with conformal intervals of scikit-learn"
        instead = f"use fewer rows, a variational process of GPyTorch, or {boosting}"
        raise ValueError(f"{name} has {len(X)} rows: {needed}; {instead}; {see('slow-fits')}")
