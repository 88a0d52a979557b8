"""Warnings of inputs and outputs that are constant in the data."""

import warnings

import numpy as np

from bnn._validation import Array, below_rounding, filled, varies
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
