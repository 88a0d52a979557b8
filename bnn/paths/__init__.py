"""Surrogates of RVEs along arbitrary strain paths, made of material points."""

from bnn.paths.basis import MaterialPointBasis
from bnn.paths.ensemble import StrainPathEnsemble
from bnn.paths.phases import PhaseProperties
from bnn.paths.scatter import PathScatter, fit_scatter

__all__ = [
    "MaterialPointBasis",
    "PathScatter",
    "PhaseProperties",
    "StrainPathEnsemble",
    "fit_scatter",
]
