"""Precision factors of data under noise with heavy tails, given a Gaussian process prior."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, NoReturn, Self

import numpy as np
from tqdm import tqdm

from bnn._validation import Array
from bnn.gp.conditioning import resolved
from bnn.gp.mixture import TINY, Posterior, Prior, components_of, conditioned
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import StudentNoise, covariance_at
from bnn.noise.student import bound, likely_freedom, precision_factors
from safe_files.progress import progress_bar, titled

ITERATIONS = 200  # most updates of the precision factors
TOLERANCE = 1e-4  # change of a precision factor at which the updates end
ALONE = 10  # updates under each single component of a mixture
LEAST_GAIN = 0.1  # of the bound by another start; smaller differences are rounding errors


class Tails(NamedTuple):
    """The precision factors λ_i of heavy-tailed noise, as q(λ_i) describes them.

    Attributes:
        freedom: ν; infinity for Gaussian noise.
        factors: E λ_i, (N,).
    """

    freedom: float
    factors: Array

    @classmethod
    def none(cls, n_data: int) -> Self:
        """Return those of Gaussian noise."""
        return cls(np.inf, np.ones(n_data))

    @property
    def scale(self) -> Array:
        """(1 - 2/ν) / E λ_i, (N,), the variances of q(f) relative to those of the noise."""
        return (1.0 - 2.0 / self.freedom) / self.factors


def tail_updates(
    expected_squares: Callable[[Tails], Array],
    tails: Tails,
    n_out: int,
    freedom: float | None = None,
    fixed: Array | None = None,
) -> Iterator[Tails]:
    """Yield better and better precision factors, by updating q(f) and q(λ) in turn.

    The posterior of f and λ is approximated by q(f) Π_i q(λ_i). Then q(f) is the posterior of f
    under Gaussian noise with the covariances (1 - 2/ν) Σ_i / E λ_i. No update lowers the bound of
    log p(y).

    Args:
        expected_squares: Function of the factors that returns s_i = E (y_i - f_i)ᵀ Σ_i⁻¹ (y_i -
            f_i) under q(f), (N,).
        tails: Factors at the start.
        n_out: Number of outputs.
        freedom: ν; None estimates it.
        fixed: E λ_i, (N,), of rows whose factors are not updated, NaN for other rows; None updates
            all.
    """
    while True:
        squares = expected_squares(tails)
        degrees = likely_freedom(squares, n_out) if freedom is None else freedom
        factors = precision_factors(degrees, squares, n_out)
        if fixed is not None:
            factors = np.where(np.isnan(fixed), factors, fixed)
        tails = Tails(degrees, factors)
        yield tails


def factors_of(
    prior: Prior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    iterations: int = ITERATIONS,
    title: str | None = None,
    fixed: Array | None = None,
) -> Tails:
    """Find the variational precision factors of the data, see `tail_updates`.

    q(f) becomes q(f, s) with the component s of a mixture: the mixture given the data, with prior
    weights times the evidence of each component.

    If the updates start from noise without outliers, a mixture may prefer components that follow
    the outliers, so that none is detected. So the updates start twice: from Gaussian noise, and
    from the result for the single component that is most probable with its own factors. The second
    result is returned if its bound is larger.

    Args:
        prior: Prior.
        noise: Noise. If its degrees of freedom ν are None, they are estimated.
        X: (N, n_in).
        y: (N, n_out).
        iterations: Most updates from each start.
        title: Title of a progress bar on a terminal; None shows no bar.
        fixed: E λ_i, (N,), of rows whose factors are not updated, such as those of an earlier fit;
            NaN for other rows. If a factor is fixed, the updates start only once.

    Returns:
        ν and E λ_i.
    """
    shown = None if title is None else titled(title, None)
    data = _HeavyTailedData(noise, X, y, fixed)
    if isinstance(prior, GaussianProcessPrior) or data.any_fixed:
        with progress_bar(iterations, shown, "update") as bar:
            return data.updated(prior, data.start, iterations, bar)
    steps = ALONE * len(prior.components) + 2 * iterations
    with progress_bar(steps, shown, "update") as bar:
        likely = []
        for component, shares in zip(prior.components, prior.shares, strict=True):
            tails = data.updated(component, data.start, ALONE, bar)
            value = np.log(np.maximum(shares, TINY)).sum() + data.bound(component, tails)
            likely.append((value, tails))
        starts = [data.start, max(likely, key=lambda pair: pair[0])[1]]
        first, other = (data.updated(prior, start, iterations, bar) for start in starts)
    gain = data.bound(prior, other) - data.bound(prior, first)
    return other if gain > LEAST_GAIN else first


class _HeavyTailedData:
    """Data with heavy-tailed noise, and the updates of their factors under any prior."""

    def __init__(self, noise: StudentNoise, X: Array, y: Array, fixed: Array | None) -> None:
        self._noise = noise
        self._X = X
        self._y = y
        self._fixed = fixed
        self._covariances = covariance_at(noise, X) * np.ones((len(X), 1, 1))  # Σ_i
        self._precision = np.linalg.inv(self._covariances)
        self.any_fixed = fixed is not None and not np.isnan(fixed).all()
        self.start = Tails.none(len(X))
        if self.any_fixed:
            assert fixed is not None
            factors = np.where(np.isnan(fixed), 1.0, fixed)
            self.start = Tails(noise.degrees, factors)

    def updated(self, prior: Prior, start: Tails, iterations: int, bar: "tqdm[NoReturn]") -> Tails:
        """Update the factors under a prior until they hardly change."""

        def expected_squares(tails: Tails) -> Array:
            scatter = expected_scatter(self._posterior(prior, tails), self._X, self._y)
            # E (y - f)ᵀ Σ⁻¹ (y - f)
            return np.asarray(np.einsum("nij,nji->n", self._precision, scatter))

        n_out = self._y.shape[1]
        updates = tail_updates(expected_squares, start, n_out, self._noise.df, self._fixed)
        last = self.start
        for count, tails in enumerate(islice(updates, iterations), 1):
            bar.update()
            if np.abs(tails.factors - last.factors).max() < TOLERANCE:
                bar.update(iterations - count)  # updates that are not needed
                break
            last = tails
        return tails

    def bound(self, prior: Prior, tails: Tails) -> float:
        """Return the lower bound of log p(y)."""
        evidences = self._posterior(prior, tails).log_evidences
        return float(np.sum(evidences)) + bound(*tails, self._y.shape[1])

    def _posterior(self, prior: Prior, tails: Tails) -> Posterior:
        """Return the posterior of a prior given data, with a nugget if the noise needs one."""
        noise = self._covariances * tails.scale[:, None, None]
        resolvable = resolved(noise, components_of(prior), self._X, self._y)
        return conditioned(prior, resolvable, self._X, self._y)


def expected_scatter(posterior: Posterior, X: Array, y: Array) -> Array:
    """Return E (y - f) (y - f)ᵀ of the data under a posterior of f, (N, n_out, n_out)."""
    moments = [posterior.moments(X[batch]) for batch in posterior.batches(len(X))]
    mean, spread = map(np.concatenate, zip(*moments, strict=True))
    away = y - mean
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S
    return np.asarray(away[:, :, None] * away[:, None, :] + spread)
