"""What the notebook 03_materials_data takes from figures: the data of the materials example."""

from figures import style
from figures.materials import data_panels
from figures.materials.data import (
    SETS,
    claims,
    information_table,
    noise_by_input,
    noise_table,
    scatter_table,
    share_outside,
)
from figures.materials.problem import (
    FEATURES,
    NOISE_COV,
    OUTPUT_BOUNDS,
    OUTPUT_NAMES,
    columns,
    load_designs,
    load_paper_table,
    published_tables,
)
from figures.pipeline.paths import REPLICATES, SHIPPED_TABLES, TEST, TRAINING, table_path
from figures.pipeline.settings import PAPER_TEST
from figures.report.record import Record

__all__ = [
    "FEATURES",
    "NOISE_COV",
    "OUTPUT_BOUNDS",
    "OUTPUT_NAMES",
    "PAPER_TEST",
    "REPLICATES",
    "SETS",
    "SHIPPED_TABLES",
    "TEST",
    "TRAINING",
    "Record",
    "claims",
    "columns",
    "data_panels",
    "information_table",
    "load_designs",
    "load_paper_table",
    "noise_by_input",
    "noise_table",
    "published_tables",
    "scatter_table",
    "share_outside",
    "style",
    "table_path",
]
