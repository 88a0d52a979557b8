"""Surrogates of the composite (notebook 04, section 3.2 of the paper): numbers and figures."""

from figures.materials_surrogate import panels
from figures.materials_surrogate.surrogate import (
    claims,
    comparison_claims,
    improvements,
    prior_function_claims,
    prior_mean_rmse,
    prior_mean_table,
    score_rows,
    train,
)
