"""Value of the RVEs that `bnn.select_runs` selects for the composite (notebook 07)."""

from studies.active_learning import panels
from studies.active_learning.findings import claims, equivalents, tables
from studies.active_learning.study import (
    BOX,
    LABELS,
    WORST,
    compare_seeds,
    load_study,
    with_known_prior,
)
