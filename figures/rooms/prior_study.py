"""What the notebook 01_prior_study takes from figures: the study of functional priors."""

from figures import style
from figures.pipeline.processes import seeds_of, side_by_side
from figures.prior_study import panels
from figures.prior_study.metrics import claims, distance_table, variance_table, weight_table
from figures.report.record import Record

__all__ = [
    "Record",
    "claims",
    "distance_table",
    "panels",
    "seeds_of",
    "side_by_side",
    "style",
    "variance_table",
    "weight_table",
]
