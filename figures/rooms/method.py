"""What the notebook 00_method takes from figures: the method, line by line."""

from figures import style
from figures.example_1d import panels
from figures.example_1d.ensembles import DATA
from figures.report.record import Record

__all__ = [
    "DATA",
    "Record",
    "panels",
    "style",
]
