"""RVEs whose fibres debond, for several tests."""

import dataclasses

import numpy as np

from fe_data import Interface, Isotropic, Material, Microstructure, Phases, solve_composite

GLASS_EPOXY = Phases(Material(Isotropic(3.5, 0.35)), Material(Isotropic(70.0, 0.2)))
INTERFACE = Interface(50.0, 75.0, 2.0, 6.0, 7.0, stiffness_N_mm3=1e8)
DEBONDING = dataclasses.replace(GLASS_EPOXY, interface=INTERFACE)
ONE = Microstructure([[0.5, 0.5]], np.sqrt(0.4 / np.pi))
CUT = Microstructure([[0.1, 0.5], [0.6, 0.03]], np.sqrt(0.15 / np.pi))  # by the edges of the RVE


def simulated(phases, fibres, loading, **choices):
    choices = {"increments": 5, "resolution": 6.0, "silent": True, **choices}
    return solve_composite(phases, fibres, loading, **choices)
