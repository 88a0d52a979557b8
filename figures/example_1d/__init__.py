"""The one-dimensional example (section 3.1 of the paper): ensembles, numbers and figures."""

from figures.example_1d import panels
from figures.example_1d.ensembles import DATA, GRID, Prediction, run
from figures.example_1d.metrics import claims, rows
