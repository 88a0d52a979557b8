"""What the notebook 04_materials_why takes from figures: what the gain of anchoring rests on."""

from figures import style
from figures.knowledge.truth import load_truth
from figures.pipeline.paths import tables_below
from figures.report.record import Record, claims_table, shown_table
from figures.why import panels
from figures.why.alike import judge_draws
from figures.why.ensembles import load_training_draws
from figures.why.reasons import run_draws
from figures.why.tables import claims, tables

__all__ = [
    "Record",
    "claims",
    "claims_table",
    "judge_draws",
    "load_training_draws",
    "load_truth",
    "panels",
    "run_draws",
    "shown_table",
    "style",
    "tables",
    "tables_below",
]
