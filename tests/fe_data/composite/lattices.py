"""Periodic lattices of one fibre, for comparison with closed forms and published constants."""

import dataclasses

import numpy as np

from fe_data.composite.cell import Cell
from fe_data.composite.rve import composite_cell, composite_domain
from fe_data.geometry.microstructure import Microstructure
from fe_data.geometry.outline import MATRIX

HEXAGONAL_AREA = np.sqrt(0.75)  # of the parallelogram with sides of 1


def square(vf):
    """One fibre in the middle of the square."""
    return Microstructure([[0.5, 0.5]], np.sqrt(vf / np.pi))


def hexagonal_domain(vf, resolution):
    """One fibre in a parallelogram with two sides of 1 at 60 degrees: a hexagonal array.

    The mesh is that of the square, moved so that the square becomes the parallelogram and the fibre
    only turns.
    """
    radius = np.sqrt(vf * HEXAGONAL_AREA / np.pi)
    domain = composite_domain(Microstructure([[0.5, 0.5]], radius), resolution)
    sheared = np.array([[1.0, 0.5], [0.0, np.sqrt(0.75)]])
    u, _, v = np.linalg.svd(sheared)
    turned = u @ v
    x = domain.points - 0.5
    # The share of the turn is 1 in the fibre, and falls to 0 at the edge in the same direction.
    distance = np.hypot(*x.T)
    edge = 0.5 * distance / np.maximum(np.abs(x).max(axis=1), 1e-300)
    share = np.clip((edge - distance) / np.maximum(edge - radius, 1e-300), 0.0, 1.0)
    share[distance <= radius] = 1.0
    moved = share[:, None] * (x @ turned.T) + (1 - share[:, None]) * (x @ sheared.T)
    return dataclasses.replace(domain, points=moved)


def hexagonal_cell(phases, vf, resolution):
    """Elastic cell of a hexagonal array."""
    domain = hexagonal_domain(vf, resolution)
    in_matrix = domain.material == MATRIX
    materials = [("matrix", phases.matrix, in_matrix), ("fibres", phases.fibres, ~in_matrix)]
    return Cell(domain, materials, out_of_plane=True, elastic=True, area=HEXAGONAL_AREA)


def square_cell(phases, vf, resolution):
    """Elastic cell of a square array."""
    domain = composite_domain(square(vf), resolution)
    return composite_cell(phases, square(vf), domain, out_of_plane=True, elastic=True)
