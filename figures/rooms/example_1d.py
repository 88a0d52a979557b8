"""What the notebook 02_example_1d takes from figures: the one-dimensional example."""

from figures import style
from figures.example_1d import panels
from figures.example_1d.ensembles import DATA, GRID, Prediction, run
from figures.example_1d.metrics import claims, rows
from figures.pipeline.processes import repeated, seeds_of
from figures.pipeline.training import PROCEDURES
from figures.report.record import Record

__all__ = [
    "DATA",
    "GRID",
    "PROCEDURES",
    "Prediction",
    "Record",
    "claims",
    "panels",
    "repeated",
    "rows",
    "run",
    "seeds_of",
    "style",
]
