"""Missing outputs, and inputs and outputs that are constant in the data of `fit`."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bnn._validation import Array, as_array, below_rounding, check_real, filled, varies
from safe_files.help_page import ExplainedWarning


class ConstantInputWarning(ExplainedWarning):
    """An input is constant in the data of `fit`, or later has a value other than this constant."""


class ConstantOutputWarning(ExplainedWarning):
    """An output varies in the data of `fit`, but so little that it is predicted as a constant."""


def warn_of_constant(X: Array) -> None:
    """Warn the caller of `fit` if an input is constant in X (N, n_in), unless N = 1."""
    constant = np.flatnonzero(~varies(X))
    if constant.size and len(X) > 1:
        i = constant[0]
        what = below_rounding(X[:, i]) or "is constant in the data, so its effect cannot be learnt"
        message = f"input {i} {what}"
        warnings.warn(message, ConstantInputWarning, stacklevel=5)


def warn_of_rounding(y: Array, constants: Array) -> None:
    """Warn the caller of `fit` if an output of y (N, n_out) varies, but is taken for a constant."""
    values = filled(y)
    for j in np.flatnonzero(~np.isnan(constants)):
        if text := below_rounding(values[:, j]):
            warnings.warn(f"output {j} {text}", ConstantOutputWarning, stacklevel=4)
            return


def missing_outputs(y: ArrayLike) -> NDArray[np.bool_] | None:
    """Return a mask of NaN in y (N, n_out); None if there is no NaN, or y has one column."""
    check_real(y=y)
    try:
        values = np.asarray(y)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # reported when they are converted
        return None
    # None and pandas' NA make an array of objects, which is rejected later.
    if (
        values.dtype.kind != "f"
        or values.ndim != 2
        or values.shape[1] < 2
        or not np.isnan(values).any()
    ):
        return None
    missing: NDArray[np.bool_] = np.isnan(values)
    check_present(~missing)
    return missing


def where_present(noise_std: ArrayLike | None, missing: NDArray[np.bool_]) -> ArrayLike | None:
    """Return noise_std with NaN replaced by a value without effect where y is missing."""
    if noise_std is None or np.shape(noise_std) != missing.shape:
        return noise_std
    std = as_array("noise_std", noise_std)
    present = np.where(missing, np.nan, std)
    return np.where(missing & np.isnan(std), filled(present), std)


def check_present(present: NDArray[np.bool_]) -> None:
    """Raise ValueError if a row has no output, or an output has fewer than two values."""
    for i in np.flatnonzero(~present.any(axis=1))[:1]:
        raise ValueError(f"y: row {i} has no output: leave it out")
    counts = present.sum(axis=0)
    for j in np.flatnonzero(counts < 2)[:1]:
        raise ValueError(f"y: output {j} has {counts[j]} values: must be at least 2")
