"""Loss of ellipticity of a rate-independent material: where strain may concentrate in bands.

A band with the normal n can form if the acoustic tensor n · C · n of the tangent C is singular
(J. W. Rudnicki & J. R. Rice, J. Mech. Phys. Solids 23 (1975) 371). If the flow does not follow from
the yield surface, this may happen while the material still hardens.
"""

import numpy as np

from fe_data.arrays import Booleans, Floats
from fe_data.composite.elasticity import ROOT2

_DIRECTIONS = 36  # normals in the plane, every five degrees


def is_elliptic(tangent: Floats) -> Booleans:
    """Return at which points no band with a normal in the plane x, y can form.

    Args:
        tangent: (n, k, k) tangents in Kelvin's notation with k = 4 or 6 components [MPa].

    Returns:
        Whether the determinant of the acoustic tensor is positive for all normals, (n,).
    """
    size = tangent.shape[1]
    elliptic = np.ones(len(tangent), dtype=bool)
    for angle in np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS:
        c, s = np.cos(angle), np.sin(angle)
        # Kelvin vectors (k, d) of the symmetric part of n g for directions g along x, y (and z)
        N = np.zeros((size, 2 if size == 4 else 3))
        N[[0, 1], [0, 1]] = c, s
        N[3, :2] = s / ROOT2, c / ROOT2
        if size > 4:
            N[4:, 2] = c / ROOT2, s / ROOT2
        # A = Nᵀ C N
        elliptic &= np.linalg.det(N.T @ tangent @ N) > 0
    return elliptic
