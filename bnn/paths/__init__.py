"""Surrogates of cells along any path of strain, of material points about mean fields."""

from bnn.paths.bank import MaterialPointBasis
from bnn.paths.ensemble import StrainPathEnsemble
from bnn.paths.network import PhaseProperties, PhysicallyRecurrentNetwork, mean_field_stress
from bnn.paths.scatter import PathScatter, fit_scatter

__all__ = [
    "MaterialPointBasis",
    "PathScatter",
    "PhaseProperties",
    "PhysicallyRecurrentNetwork",
    "StrainPathEnsemble",
    "fit_scatter",
    "mean_field_stress",
]
