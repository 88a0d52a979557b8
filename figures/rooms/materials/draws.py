"""What the notebook 04_materials_draws takes from figures: independent draws of the tables."""

from figures import style
from figures.materials import draws_panels
from figures.materials.draws import (
    gains,
    load_draws,
    over_draws,
    scatter,
    table_of_gains,
    train_draws,
)
from figures.materials.problem import fit_theta
from figures.materials.surrogate import comparison_claims, improvements
from figures.pipeline.paths import drawn, table_path
from figures.report.labels import label
from figures.report.record import Record, shown_table
from figures.scores import written

__all__ = [
    "Record",
    "comparison_claims",
    "drawn",
    "draws_panels",
    "fit_theta",
    "gains",
    "improvements",
    "label",
    "load_draws",
    "over_draws",
    "scatter",
    "shown_table",
    "style",
    "table_of_gains",
    "table_path",
    "train_draws",
    "written",
]
