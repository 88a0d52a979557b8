"""Value of knowledge of mechanics and of the noise for the composite (notebook 06)."""

from studies.prior_knowledge import panels
from studies.prior_knowledge.findings import claims, equivalents, tables
from studies.prior_knowledge.study import (
    judge,
    judge_draws,
    judge_ensembles_over_draws,
    noises,
    training_sets,
)
