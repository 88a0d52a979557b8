"""Surrogates of cells along any path of strain: networks of material points."""

from bnn.paths.network import Phases, PointNetwork, stress_of_phases

__all__ = ["Phases", "PointNetwork", "stress_of_phases"]
