"""Study of functional priors (section 2.2 of the paper): numbers and figures."""

from figures.prior_study import panels
from figures.prior_study.metrics import (
    claims,
    distance_table,
    small_ensembles,
    variance_table,
    weight_table,
)
