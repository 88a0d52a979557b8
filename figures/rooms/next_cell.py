"""What the notebook 07_next_cell takes from figures: which cell next."""

from figures import style
from figures.materials.problem import EFFECTIVE, INPUT_LABELS, INPUT_SCALING, OUTPUT_NAMES
from figures.next_cell import panels
from figures.next_cell.findings import claims, equivalents, tables
from figures.next_cell.study import BOX, LABELS, WORST, compare_seeds, load_study, with_known_prior
from figures.pipeline.paths import SHIPPED_TABLES
from figures.report.record import Record, claims_table, shown_table

__all__ = [
    "BOX",
    "EFFECTIVE",
    "INPUT_LABELS",
    "INPUT_SCALING",
    "LABELS",
    "OUTPUT_NAMES",
    "SHIPPED_TABLES",
    "WORST",
    "Record",
    "claims",
    "claims_table",
    "compare_seeds",
    "equivalents",
    "load_study",
    "panels",
    "shown_table",
    "style",
    "tables",
    "with_known_prior",
]
