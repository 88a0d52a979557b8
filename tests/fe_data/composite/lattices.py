"""Periodic lattices of one fibre, for comparison with closed forms and published constants."""

import numpy as np

from fe_data.composite.rve import composite_domain, composite_model
from fe_data.geometry.microstructure import Microstructure


def square(vf):
    """One fibre in the middle of the square."""
    return Microstructure([[0.5, 0.5]], np.sqrt(vf / np.pi))


def hexagonal(vf):
    """Two fibres in a rectangle of 1 by √3: a hexagonal array whose nearest centres are 1 apart."""
    height = np.sqrt(3.0)
    centres = [[0.25, 0.25 * height], [0.75, 0.75 * height]]
    return Microstructure(centres, np.sqrt(vf * height / (2 * np.pi)), height=height)


def hexagonal_cell(phases, vf, resolution):
    """Elastic model of a hexagonal array."""
    domain = composite_domain(phases, hexagonal(vf), resolution, elastic=True)
    return composite_model(phases, hexagonal(vf), domain, out_of_plane=True, elastic=True)


def square_cell(phases, vf, resolution):
    """Elastic model of a square array."""
    domain = composite_domain(phases, square(vf), resolution, elastic=True)
    return composite_model(phases, square(vf), domain, out_of_plane=True, elastic=True)
