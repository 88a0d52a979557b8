"""Data of one output in the scale of the search: inputs in [0, 1], variance one."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnn._validation import Array, Ints, check_outputs_vary, filled, varies
from bnn.gp.evidence.hyperpriors import kernel_covariance
from bnn.gp.evidence.laplace import some_rows
from bnn.gp.evidence.prescribed import (
    MeanForm,
    PrescribedCovariance,
    PrescribedProcess,
    detrended,
    likely_factors,
)
from bnn.gp.low_fidelity import ProcessModel
from bnn.gp.process import GaussianProcessPrior
from bnn.noise.heteroscedastic import StandardBasis
from bnn.noise.models import DataNoise

# Up to this many data, families without warps are tried first, each search has several starts, and
# families have a trend. With more data a trend is overconfident in gaps.
FEW = 300
# With fewer data per input, the slopes of a trend often cost more evidence than they gain, so that
# only one family has a trend.
PER_INPUT = 10
SEARCHED = 1500  # most data in a search; if there are more, so many are chosen at random
RARE = 10  # data added to a search for each input or output that is constant in the chosen ones
KEY_DIGITS = 9  # of the keys by which inputs are sorted; the other digits are rounding errors


class OutputData:
    """The scaled data of one output, and their scales.

    Outputs that have the same rows share the choice of the searched rows and the order of the
    inputs. So these do not depend on the order of the outputs.

    Args:
        X: Inputs of all data, (N, n_in).
        y: All outputs, (N, n_out), NaN if missing. If a prior is given, they are minus its mean.
        output: Index of the output.
        outputs: Indices of all outputs that vary; None for all.
        form: Form of the mean; None takes the mean of the data.
        prior: Prior whose open parameters are estimated, in place of `form`.
        data_noise: What is known of the noise of each datum, or None.
        most_rows: Most rows of the output, chosen at random; None takes all.
        seed: Seed of all random choices of the search.

    Attributes:
        seed: As above.
        kernel_given: Whether the kernel of a given prior is the only family.
        mean_given: Whether `form` or the prior describes the mean.
        rows: Indices of the n rows that are searched.
        complete: Whether these are all rows of the output.
        X: Inputs of these rows, (n, n_in).
        mean: Known mean of the output: a number, or a low-fidelity model.
        spread: Variance of the output minus its mean.
        y: Scaled values, (n,).
        inputs: Indices of the inputs that vary, in the order of the search.
        low, width: Least value and range of each of these inputs.
        u: Scaled inputs, (n, n_varying).
        sparse: Whether there are few data per input.
        covariance: Covariance of the mean, or of the given kernel, or None.
        basis: b_i of input-dependent noise, of all inputs.
        unit: Geometric mean of the weights of the data; 1 without weights.
        relative: Variances of unknown noise, relative to that of a datum of weight `unit`, (n,).
        known_variances: Known part of the scaled variances of the noise, (n,); zeros if there is
            none.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        output: int = 0,
        outputs: Ints | None = None,
        *,
        form: MeanForm | None = None,
        prior: GaussianProcessPrior | None = None,
        data_noise: DataNoise | None = None,
        most_rows: int | None = None,
        seed: int | None = 0,
    ) -> None:
        present = ~np.isnan(y)
        every = np.arange(y.shape[1]) if outputs is None else outputs
        alike = [j for j in every if np.array_equal(present[:, j], present[:, output])]
        column = alike.index(output)
        self.seed = seed
        self.kernel_given = prior is not None
        self.mean_given = form is not None or prior is not None
        varying = self._choose_rows(X, y[:, alike], np.flatnonzero(present[:, output]), most_rows)
        values = y[np.ix_(self.rows, alike)]
        columns, spreads, kernel_of_mean = self._without_mean(values, column, form, prior)
        self.spread = float(spreads[column])
        self.y = np.ascontiguousarray((columns / np.sqrt(spreads))[:, column])
        self.inputs = sorted_inputs(self.X, columns, varying)
        inputs = self.X[:, self.inputs]
        self.low = inputs.min(axis=0)
        self.width = np.ptp(inputs, axis=0)
        self.u = (inputs - self.low) / self.width
        self.sparse = few_for_inputs(*self.u.shape)
        self.covariance: PrescribedCovariance | None = None
        scaling = self.inputs, self.low, self.width
        data = self.X, *scaling, self.spread
        if prior is not None:
            features = [prior.active_dims_of(output, X.shape[1])]
            alone = GaussianProcessPrior(0.0, [prior.kernels[output]], 1, features)
            self.covariance = kernel_covariance(
                alone.of_inputs(self.X), self.X, columns[:, column], scaling, self.sparse
            )
        elif isinstance(self.mean, ProcessModel):
            m = self.mean(self.X)
            factor = float(likely_factors(m, values - m)[column])
            self.covariance = PrescribedProcess(
                kernel_of_mean, *data, model=self.mean, output=column, subtracted=factor
            )
        elif form is not None:
            self.covariance = PrescribedCovariance(kernel_of_mean, *data)
        self.basis = StandardBasis(self.X, ())
        self._prescribe_noise(data_noise, output)

    def _choose_rows(self, X: Array, y: Array, rows: Ints, most: int | None) -> Ints:
        """Choose the searched rows among those of the output; return the inputs that vary."""
        if len(rows) < 2:
            raise ValueError(f"X has {len(rows)} rows: must be at least 2")
        if most is not None:
            rows = rows[varied_rows(y[rows], most, 0)]
        varying = np.flatnonzero(varies(X[rows]))
        if not varying.size:
            raise ValueError(
                "X: no input varies, so prior and noise cannot be estimated: give both"
            )
        chosen = varied_rows(np.hstack([X[rows], y[rows]]), SEARCHED, self.seed)
        self.rows = rows[chosen]
        self.complete = len(chosen) == len(rows)
        self.X = X[self.rows]
        return varying

    def _without_mean(
        self, y: Array, column: int, form: MeanForm | None, prior: GaussianProcessPrior | None
    ) -> tuple[Array, Array, Any]:
        """Return y minus its means, their variances, and the kernel of the output's mean."""
        self.mean: Any = 0.0
        if prior is not None:
            return y, y.var(axis=0), None
        if form is None:
            means = y.mean(axis=0)
            self.mean = float(means[column])
            return y - means, y.var(axis=0), None
        columns, kernels, means = detrended(self.X, y, form)
        self.mean = float(means[column]) if form.model is None else form.model
        # Two coefficients are fitted with a process, its factor and a constant.
        fitted = 2 if isinstance(self.mean, ProcessModel) and len(columns) > 2 else 0
        return columns, columns.var(axis=0, ddof=fitted), kernels[column]

    def _prescribe_noise(self, data_noise: DataNoise | None, output: int) -> None:
        """Scale the weights and the known standard deviations of the searched rows."""
        self.unit = 1.0
        self.relative = np.ones(len(self.X))
        self.known_variances = np.zeros(len(self.X))
        if data_noise is not None and data_noise.weights is not None:
            # Relative to the geometric mean, so that a common factor of all weights has no effect.
            weights = data_noise.weights[self.rows]
            self.unit = float(np.exp(np.log(weights).mean()))
            self.relative = self.unit / weights
        if data_noise is not None and data_noise.std is not None:
            self.known_variances = np.square(data_noise.std[self.rows, output]) / self.spread


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


def varied_rows(columns: Array, most: int, seed: int | None) -> Ints:
    """Return indices of at most `most` rows at random; all columns that vary vary among them.

    For a column with rare values a few rows are added.
    """
    rows = some_rows(len(columns), most, seed)
    if len(rows) == len(columns):
        return rows
    rare = varies(columns) & ~varies(columns[rows])
    added = [rows]
    for column in columns[:, rare].T:
        # The rows that differ most from the common value of the chosen rows.
        away = np.abs(column - column[rows[0]])
        farthest = np.argsort(-away, kind="stable")[:RARE]
        added.append(farthest[away[farthest] > 0.0])
    return np.asarray(np.unique(np.concatenate(added)))


def sorted_inputs(X: Array, y: Array, chosen: Ints) -> Ints:
    """Return indices of inputs in an order that does not depend on the order of the columns of X.

    Random numbers are assigned to the chosen inputs, which vary, in this order. The outputs y
    (N, n_out) are minus their means.
    """
    u = (X[:, chosen] - X[:, chosen].min(axis=0)) / np.ptp(X[:, chosen], axis=0)
    scaled = y / np.sqrt(np.mean(y**2, axis=0))
    by_outputs = [np.linalg.norm(scaled.T @ columns, axis=0) for columns in (u, u**2)]
    keys = np.vstack([*by_outputs, u.mean(axis=0)]) / np.array([[len(X)], [len(X)], [1]])
    return np.asarray(chosen[np.lexsort(np.round(keys[::-1], KEY_DIGITS))])
