"""What the notebook 08_paths takes from figures: stress under any loading."""

from figures import style
from figures.paths import panels
from figures.paths.findings import claims, leaving, shares, tables
from figures.paths.study import (
    BOUNDS,
    FILES,
    LABELS,
    compare,
    load_study,
    one,
    spread_of_theta,
    typical,
)
from figures.report.record import Record, claims_table, shown_table

__all__ = [
    "BOUNDS",
    "FILES",
    "LABELS",
    "Record",
    "claims",
    "claims_table",
    "compare",
    "leaving",
    "load_study",
    "one",
    "panels",
    "shares",
    "shown_table",
    "spread_of_theta",
    "style",
    "tables",
    "typical",
]
