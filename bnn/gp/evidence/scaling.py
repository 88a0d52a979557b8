"""Data in the scale of the search: inputs in [0, 1], outputs of mean zero and variance one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, Ints, check_outputs_vary, filled, varies
from bnn.gp.evidence.given_kernel import given_covariance
from bnn.gp.evidence.laplace import some_rows
from bnn.gp.evidence.trend import GivenCovariance, GivenProcess, detrended, likely_factors
from bnn.gp.low_fidelity import ProcessModel
from bnn.gp.means import LinearMean
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import Covariance, StudentNoise
from bnn.noise.heteroscedastic import StandardBasis
from bnn.noise.known import DataNoise, covariances_of_data

# Up to this many data, families without warps are tried first, each search has several starts, and
# families have a trend. With more data a trend is overconfident in gaps.
FEW = 300
# With fewer data per input, the slopes of a trend often cost more evidence than they gain, so that
# only one family has a trend.
PER_INPUT = 10
SEARCHED = 1500  # most data in a search; if there are more, so many are chosen at random
RARE = 10  # data added to a search for each input or output that is constant in the chosen ones
DIGITS = 9  # of the keys by which inputs are sorted; the other digits are rounding errors


class SearchData:
    """The scaled data of a search, and their scales.

    Args:
        X: (N, n_in), which `as_data` has checked.
        y: (N, n_out).
        form: Arguments of `detrended`, which describe the mean; None takes the mean of the data.
        seed: Seed of the choice of rows.
        noise_known: What is known of the noise of each datum.
        prior: Prior whose open parameters are estimated, in place of `form`.

    Attributes:
        X, y: All data, in their units.
        seed: Seed of all random choices of the search.
        prior: The given prior, with open parameters only for inputs that vary, or None.
        mean_given: Whether `form` or the prior describes the mean.
        sparse: Whether there are few data per input.
        rows: Indices of the n data of the search.
        mean: Mean of the prior.
        known_means: For each output the kernel of the uncertain part of the mean, or None.
        spreads: Variances of the outputs minus their means, (n_out,).
        columns: Scaled outputs, (n, n_out).
        varying: Indices of the inputs that vary, in the order of the search.
        low, width: Least value and range of each of these inputs.
        u: Scaled inputs, (n, n_varying).
        given: For each output the covariance of its given mean or kernel, or None.
        basis: b_i of input-dependent noise, of all inputs.
        noise_known: What is known of the noise of each datum, or None.
        unit: Geometric mean of the weights of the data; 1 without weights.
        relative: Variances of unknown noise, relative to that of a datum of weight `unit`, (n,).
        variances_known: Known part of the scaled variances of the noise, (n, n_out), or None.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        form: Mapping[str, Any] | None = None,
        seed: int | None = 0,
        noise_known: DataNoise | None = None,
        prior: GaussianProcessPrior | None = None,
    ) -> None:
        if len(X) < 2:
            raise ValueError(f"X has {len(X)} rows: must be at least 2")
        self.X = X
        self.y = y
        self.seed = seed
        self.prior = prior
        self.mean_given = form is not None or prior is not None
        varying = varying_inputs(X)
        self.rows = searched_rows(X, y, seed)
        points = X[self.rows]
        values = y[self.rows]
        n_out = y.shape[1]
        self.known_means: list[sk.Kernel | None] = [None] * n_out
        self.mean: Any
        if prior is not None:
            columns = beside_mean(prior, points, values)
            self.mean = prior.mean
            self.spreads = columns.var(axis=0)
        elif form is None:
            check_outputs_vary(y)
            means = values.mean(axis=0)
            self.mean = LinearMean(np.zeros((n_out, X.shape[1])), means)
            columns = values - means
            self.spreads = values.var(axis=0)
        else:
            columns, self.known_means, self.mean = detrended(points, values, **form)
            # Two coefficients are fitted with a process, its factor and a constant.
            fitted = 2 if isinstance(self.mean, ProcessModel) and len(columns) > 2 else 0
            self.spreads = columns.var(axis=0, ddof=fitted)
        self.columns = columns / np.sqrt(self.spreads)
        self.varying = sorted_inputs(points, columns, varying)
        inputs = points[:, self.varying]
        self.low = inputs.min(axis=0)
        self.width = np.ptp(inputs, axis=0)
        self.u = (inputs - self.low) / self.width
        scaling = self.varying, self.low, self.width
        self.sparse = few_for_inputs(*self.u.shape)
        self.given = [
            None if form is None else GivenCovariance(each, points, *scaling, float(spread))
            for each, spread in zip(self.known_means, self.spreads, strict=True)
        ]
        if isinstance(self.mean, ProcessModel):
            m = self.mean(points)
            factors = likely_factors(m, values - m).tolist()
            given = zip(factors, self.known_means, self.spreads, strict=True)
            self.given = [
                GivenProcess(self.mean, j, factor, each, points, *scaling, float(spread))
                for j, (factor, each, spread) in enumerate(given)
            ]
        if prior is not None:
            self.prior = prior.of_inputs(points)
            self.given = [
                given_covariance(self.prior, j, points, column, scaling, self.sparse)
                for j, column in enumerate(columns.T)
            ]
        self.basis = StandardBasis(points, ())
        self.noise_known = noise_known
        self.unit = 1.0
        self.relative = np.ones(len(points))
        self.variances_known: Array | None = None
        if noise_known is not None and noise_known.weights is not None:
            # Relative to the geometric mean, so that a common factor of all weights has no effect.
            weights = noise_known.weights[self.rows]
            self.unit = float(np.exp(np.log(weights).mean()))
            self.relative = self.unit / weights
        if noise_known is not None and noise_known.std is not None:
            self.variances_known = np.square(noise_known.std[self.rows]) / self.spreads

    def noise_variances(self, noise: Covariance | StudentNoise) -> Array:
        """Return the scaled variances of given noise at the data of the search, (n, n_out)."""
        known = None if self.noise_known is None else self.noise_known.rows(self.rows)
        covariances = covariances_of_data(noise, self.X[self.rows], known)
        variances = np.einsum("...jj->...j", covariances)
        return np.asarray(variances * np.ones((len(self.rows), 1)) / self.spreads)


def beside_mean(prior: GaussianProcessPrior, X: Array, y: Array) -> Array:
    """Return y (N, n_out), NaN if missing, minus the mean of a prior.

    Raises:
        ValueError: If the prior has another number of outputs, or an output does not vary.
    """
    if prior.n_outputs != y.shape[1]:
        raise ValueError(f"y has {y.shape[1]} outputs: must be {prior.n_outputs}")
    columns = y - prior.mean_values(X)
    left = filled(columns)
    instead = "remove it from y, or give values of all parameters of its kernel"
    check_outputs_vary(np.where(varies(left), left, filled(y)), "", instead)
    check_outputs_vary(left, " after subtracting the mean of the prior", instead)
    return np.asarray(columns)


def few_for_inputs(n_data: int, n_inputs: int) -> bool:
    """Return whether there are fewer than PER_INPUT data per input, and at most FEW data."""
    return n_data <= FEW and n_data < PER_INPUT * n_inputs


def searched_rows(X: Array, y: Array, seed: int | None) -> Ints:
    """Return the indices of the data of a search; all columns that vary also vary among them."""
    rows = some_rows(len(X), SEARCHED, seed)
    columns = np.hstack([X, y])
    rare = varies(columns) & ~varies(columns[rows])
    added = [rows]
    for column in columns[:, rare].T:
        # The rows that differ most from the common value of the chosen rows.
        away = np.abs(column - column[rows[0]])
        farthest = np.argsort(-away, kind="stable")[:RARE]
        added.append(farthest[away[farthest] > 0.0])
    return np.asarray(np.unique(np.concatenate(added)))


def varying_inputs(X: Array) -> Ints:
    """Return the indices of the inputs of X (N, n_in) that vary; ValueError if there is none."""
    varying = np.flatnonzero(varies(X))
    if not varying.size:
        raise ValueError("X: no input varies, so the prior cannot be estimated: give prior")
    return varying


def sorted_inputs(X: Array, y: Array, chosen: Ints) -> Ints:
    """Return indices of inputs in an order that does not depend on the order of the columns of X.

    Random numbers are assigned to inputs in this order, so that the result does not depend on the
    order of the columns.

    Args:
        X: (N, n_in).
        y: Outputs minus their means, (N, n_out).
        chosen: Indices of the inputs, which vary.
    """
    u = (X[:, chosen] - X[:, chosen].min(axis=0)) / np.ptp(X[:, chosen], axis=0)
    scaled = y / np.sqrt(np.mean(y**2, axis=0))
    by_outputs = [np.linalg.norm(scaled.T @ each, axis=0) for each in (u, u**2)]
    keys = np.vstack([*by_outputs, u.mean(axis=0)]) / np.array([[len(X)], [len(X)], [1]])
    return np.asarray(chosen[np.lexsort(np.round(keys[::-1], DIGITS))])
