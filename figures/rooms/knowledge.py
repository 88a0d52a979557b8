"""What the notebook 06_knowledge takes from figures: what knowledge is worth."""

from figures import style
from figures.knowledge import panels
from figures.knowledge.findings import claims, equivalents, tables
from figures.knowledge.study import (
    judge,
    judge_draws,
    judge_ensembles_over_draws,
    mean_fields,
    noises,
    training_sets,
)
from figures.knowledge.truth import TRUTH, load_truth
from figures.materials.draws import load_draws
from figures.materials.problem import EFFECTIVE, INPUT_SCALING, OUTPUT_SCALING, scaled
from figures.pipeline.paths import SHIPPED_TABLES, table_path, tables_below
from figures.pipeline.profiles import load_profile
from figures.report.record import Record, claims_table, shown_table

__all__ = [
    "EFFECTIVE",
    "INPUT_SCALING",
    "OUTPUT_SCALING",
    "SHIPPED_TABLES",
    "TRUTH",
    "Record",
    "claims",
    "claims_table",
    "equivalents",
    "judge",
    "judge_draws",
    "judge_ensembles_over_draws",
    "load_draws",
    "load_profile",
    "load_truth",
    "mean_fields",
    "noises",
    "panels",
    "scaled",
    "shown_table",
    "style",
    "table_path",
    "tables",
    "tables_below",
    "training_sets",
]
