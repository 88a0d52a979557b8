"""Surrogates of cells along any path of strain, of material points about mean fields."""

from bnn.paths.bank import PointBank
from bnn.paths.ensemble import PathEnsemble
from bnn.paths.network import Phases, PointNetwork, stress_of_phases
from bnn.paths.scatter import PathScatter, fit_scatter

__all__ = [
    "PathEnsemble",
    "PathScatter",
    "Phases",
    "PointBank",
    "PointNetwork",
    "fit_scatter",
    "stress_of_phases",
]
