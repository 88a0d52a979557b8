"""Surrogates of RVEs along arbitrary strain paths, made of material points."""

from bnn.paths.basis import MaterialPointBasis
from bnn.paths.ensemble import StrainPathEnsemble
from bnn.paths.material_points import PhaseProperties, mean_field_stress
from bnn.paths.scatter import PathScatter, fit_scatter

__all__ = [
    "MaterialPointBasis",
    "PathScatter",
    "PhaseProperties",
    "StrainPathEnsemble",
    "fit_scatter",
    "mean_field_stress",
]
