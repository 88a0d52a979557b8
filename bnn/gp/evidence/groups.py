"""The search for prior and noise if outputs are missing in some rows, or do not vary.

Outputs that are missing in the same rows are searched together, on the other rows. An output that
does not vary needs no search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from bnn._validation import Array, Ints, filled, varies
from bnn.gp.evidence.answer import noise_correlation
from bnn.gp.evidence.laplace import some_rows
from bnn.gp.evidence.mixture import COMPONENTS, GAUSSIAN, found_model
from bnn.gp.evidence.scaling import SEARCHED, SearchData, beside_mean
from bnn.gp.hyperparameters import most_components
from bnn.gp.kernels import RBF
from bnn.gp.means import LinearMean
from bnn.gp.mixture import MixturePrior, Prior
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import Covariance, HeteroscedasticNoise, Noise, StudentNoise
from bnn.noise.given import rounding_of, without_zeros
from bnn.noise.known import SMALLEST, DataNoise, covariances_of_data, kept_noise

Found: TypeAlias = tuple[Prior, Noise | StudentNoise, Array | None]
Part: TypeAlias = tuple[Ints, MixturePrior, Any]  # indices of outputs, their prior, their noise


def found_for(
    X: Array,
    y: Array,
    noise: Noise | StudentNoise | str | None = None,
    known: DataNoise | None = None,
    *,
    form: Mapping[str, Any] | None = None,
    prior: GaussianProcessPrior | None = None,
    restarts: int = 1,
    most: int | None = None,
    constants: float | None = None,
) -> Found:
    """Search for prior and noise; outputs may be missing in some rows, or not vary.

    Args:
        X: (N, n_in).
        y: (N, n_out), NaN for missing outputs.
        noise: As for `fit_kernel_average`.
        known: What is known of the noise of each datum.
        form: The mean, as for `SearchData`.
        prior: A prior whose open parameters are estimated, in place of `form`. All outputs must
            vary then.
        restarts: Number of random starts of a search.
        most: Most rows of each group of outputs, chosen at random; None takes all.
        constants: Prior standard deviation of an output that does not vary, relative to its value;
            None takes the rounding error.

    Returns:
        Prior, noise and E λ_i, as `found_model` returns them. The prior of an output that does not
        vary is an unknown constant. Its noise is the rounding error, unless the noise is given.

    Raises:
        ValueError: As `fit_kernel_average`, except that outputs need not vary. Also if a
            StudentNoise is given and an output does not vary or has missing values, or if
            "student_t" noise is to be estimated from missing values.
    """
    varying = varies(filled(y))
    if (varying.all() or prior is not None) and not np.isnan(y).any():
        return found_model(_searched(X, y, known, form, prior, most), noise, restarts=restarts)
    heavy = isinstance(noise, str) and noise == "student_t"
    if isinstance(noise, StudentNoise) or (heavy and np.isnan(y).any()):
        needed = "heavy tails need outputs that vary, and a y without missing outputs"
        raise ValueError(f"noise = {noise!r:.60}: {needed}")
    kind: Any = GAUSSIAN if noise is None else noise
    given = _given(noise, X, y, known)
    of_search = known
    if given is not None:
        variances = np.einsum("...jj->...j", covariances_of_data(given, X, known))
        of_search = DataNoise(np.sqrt(variances * np.ones((len(X), 1))))
        kind = None
    size = most_components(COMPONENTS, *y.shape)
    # The mean is subtracted, and each group is searched with a mean of zero.
    away = y if prior is None else beside_mean(prior, X, y)
    parts: list[Part] = []
    freedom = factors = None
    for outputs, rows in _groups(y, np.flatnonzero(varying)):
        own = None if of_search is None else of_search.rows(rows)
        if own is not None and own.std is not None:
            own = replace(own, std=own.std[:, outputs])
        of_group = None if prior is None else _of_outputs(prior, outputs, X.shape[1])
        data = _searched(X[rows], away[np.ix_(rows, outputs)], own, form, of_group, most)
        mixture, found, factors = found_model(data, kind, restarts=restarts, most=size)
        assert isinstance(mixture, MixturePrior)
        if isinstance(found, StudentNoise):
            freedom = found.df
            found = found.noise
        parts.append((outputs, mixture, found))
    joint = _joint_prior(parts, X, y, constants, prior)
    if given is not None:
        return joint, given, None
    together = _joint_noise(parts, X, y)
    alone = known is None or known.std is None
    if kind == "heteroscedastic" and isinstance(together, HeteroscedasticNoise) and alone:
        rows = some_rows(len(X), SEARCHED, 0)
        of_rows = None if known is None else known.rows(rows)
        correlation = noise_correlation(joint, together, X[rows], y[rows], of_rows)
        together = replace(together, correlation=correlation)
    if freedom is not None:
        return joint, StudentNoise(together, freedom), factors
    return joint, together, None


def _searched(
    X: Array,
    y: Array,
    known: DataNoise | None,
    form: Mapping[str, Any] | None,
    prior: GaussianProcessPrior | None,
    most: int | None,
) -> SearchData:
    """Return the data of a search: at most `most` rows, chosen at random."""
    if most is None:
        return SearchData(X, y, form, noise_known=known, prior=prior)
    rows = some_rows(len(X), most, 0)
    own = None if known is None else known.rows(rows)
    return SearchData(X[rows], y[rows], form, noise_known=own, prior=prior)


def _of_outputs(prior: GaussianProcessPrior, outputs: Ints, n_in: int) -> GaussianProcessPrior:
    """Return the prior of some outputs, with a mean of zero."""
    kernels = [prior.kernels[j] for j in outputs]
    features = [prior.active_dims_of(j, n_in) for j in outputs]
    return GaussianProcessPrior(0.0, kernels, len(outputs), features)


def _given(
    noise: Noise | str | None, X: Array, y: Array, known: DataNoise | None
) -> Covariance | None:
    """Return the given noise; zeros if `known` is all the noise; None if noise is estimated."""
    if isinstance(noise, str):
        return None
    if noise is not None:
        kept = kept_noise(without_zeros(noise, y), X.shape[1], y.shape[1])
        assert not isinstance(kept, StudentNoise)
        return kept
    return None if known is None or known.std is None else np.zeros((y.shape[1], y.shape[1]))


def _groups(y: Array, outputs: Ints) -> list[tuple[Ints, Ints]]:
    """Return groups of outputs that have the same rows: indices of outputs, and of these rows."""
    present = ~np.isnan(y)
    groups: dict[bytes, list[int]] = {}
    for j in outputs.tolist():
        groups.setdefault(present[:, j].tobytes(), []).append(j)
    return [(np.array(own), np.flatnonzero(present[:, own[0]])) for own in groups.values()]


def _joint_prior(
    parts: list[Part],
    X: Array,
    y: Array,
    constants: float | None,
    given: GaussianProcessPrior | None,
) -> MixturePrior:
    """Return the joint prior of the groups and of outputs that do not vary.

    If a prior is given, only its kernels are replaced.
    """
    n_in = X.shape[1]
    n_out = y.shape[1]
    S = len(parts[0][1].components) if parts else 1
    # An output that is not searched is a constant near its value: infinite length scales.
    values = filled(y)[0].copy()
    relative = 1.0 if constants is None else constants / np.finfo(float).eps
    spreads = np.maximum(relative * rounding_of(y), SMALLEST)
    flat = [RBF(float(spread) ** 2, (np.inf,) * n_in) for spread in spreads]
    kernels = [list(flat) for _ in range(S)]
    slopes = np.zeros((n_out, n_in))
    weights = np.full((S, n_out), 1.0 / S)
    features = [list(range(n_in))] * n_out
    for outputs, prior, _ in parts:
        weights[:, outputs] = prior.shares
        slopes[outputs], values[outputs] = prior.components[0].linear_mean(n_in)
        for i, j in enumerate(outputs.tolist()):
            features[j] = prior.components[0].active_dims_of(i, n_in)
            for own, component in zip(kernels, prior.components, strict=True):
                own[j] = component.kernels[i]
    if given is not None:
        return MixturePrior([replace(given, kernel=own) for own in kernels], weights)
    mean = LinearMean(slopes, values)
    components = [GaussianProcessPrior(mean, own, n_out, features) for own in kernels]
    return MixturePrior(components, weights)


def _joint_noise(parts: list[Part], X: Array, y: Array) -> Array | HeteroscedasticNoise:
    """Return the joint noise of the groups, uncorrelated; rounding for outputs that do not vary."""
    deviations = np.maximum(rounding_of(y), SMALLEST)
    coefficients = np.zeros((1 + X.shape[1], y.shape[1]))
    limits = np.full((2, *coefficients[1:].shape), np.nan)
    for outputs, _, noise in parts:
        if isinstance(noise, HeteroscedasticNoise):
            coefficients[:, outputs] = noise.coefficients
            deviations[outputs] = 1.0
            limits[:, :, outputs] = noise.limits[:, :, None]
        else:
            deviations[outputs] = noise
    if not coefficients.any():
        return deviations
    coefficients[0] += np.log(deviations)
    # Outputs with constant noise take the limits of the first output that has limits.
    first = limits[:, :, ~np.isnan(limits[0, 0])][:, :, :1]
    limits = np.where(np.isnan(limits), first, limits)
    low, high = limits[:, :, 0] if np.all(limits == first) else limits
    return HeteroscedasticNoise(coefficients, None, (), (low, high))
