"""What the notebook 04_materials_surrogate takes from figures: surrogates of the composite."""

from figures import style
from figures.materials import panels
from figures.materials.problem import (
    OUTPUT_BOUNDS,
    OUTPUT_SCALING,
    load_cases,
    load_samples,
    published_tables,
)
from figures.materials.surrogate import (
    claims,
    improvements,
    prior_function_claims,
    prior_mean_rmse,
    prior_mean_table,
    score_rows,
    train,
)
from figures.pipeline.paths import table_path
from figures.pipeline.processes import repeated, seeds_of
from figures.pipeline.training import PROCEDURES
from figures.report.labels import label
from figures.report.record import Record
from figures.scores import written

__all__ = [
    "OUTPUT_BOUNDS",
    "OUTPUT_SCALING",
    "PROCEDURES",
    "Record",
    "claims",
    "improvements",
    "label",
    "load_cases",
    "load_samples",
    "panels",
    "prior_function_claims",
    "prior_mean_rmse",
    "prior_mean_table",
    "published_tables",
    "repeated",
    "score_rows",
    "seeds_of",
    "style",
    "table_path",
    "train",
    "written",
]
