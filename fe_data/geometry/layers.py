"""Thin layers of elements along the outlines, where plastic strains vary most.

The layer of a material lies on its side of its outlines. The elements next to an outline move away
by a share of their height. Two triangles for each side of the outline fill the gap.
"""

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.geometry.mesh import SIDES, Mesh, jacobians, require_not_inverted

_THICKNESS = 1 / 3  # of a layer, in smallest heights of the elements that move


def with_layer(mesh: Mesh, materials: Ints) -> Mesh:
    """Add a layer of thin elements along the outlines of some materials, inside these materials.

    Args:
        mesh: Mesh of a microstructure. Outlines of holes get no layer.
        materials: (k,) numbers of materials that do not touch each other.

    Returns:
        The mesh with further elements of these materials.

    Raises:
        MeshError: If an element is inverted.

    >>> from fe_data.geometry.mesh import generate_mesh
    >>> from fe_data.geometry.microstructure import Microstructure
    >>> from fe_data.geometry.outline import MATRIX, Outline
    >>> outline = Outline(Microstructure([[0.5, 0.5]], 0.2), resolution=4.0)
    >>> mesh = generate_mesh(outline)
    >>> layered = with_layer(mesh, np.array([MATRIX]))
    >>> len(layered.triangles) - len(mesh.triangles) == 2 * len(outline.arcs)
    True
    """
    inside = np.isin(mesh.material, materials)
    sides = mesh.triangles[inside][:, SIDES].reshape(-1, 3)
    on_outline = mesh.on_outlines(inside)[sides[:, 2]]
    a, b, middle = sides[on_outline].T  # with the material on the left
    corners = np.unique([a, b])
    shift = np.zeros_like(mesh.points)
    shift[corners] = _shift(mesh, mesh.triangles[inside], sides[on_outline])[corners]
    shift[sides[:, 2]] = shift[sides[:, :2]].mean(axis=1)
    # Nodes of the outline get a copy, which moves, and a node between both.
    n = len(mesh.points)
    nodes = np.concatenate([corners, middle])
    copy = np.arange(n)
    copy[nodes] = n + np.arange(len(nodes))
    between = copy + len(nodes)
    stays = np.isin(np.arange(n), nodes)
    moved = mesh.points + shift
    points = np.concatenate(
        [
            np.where(stays[:, None], mesh.points, moved),
            moved[nodes],
            mesh.points[nodes] + shift[nodes] / 2,
        ]
    )
    # The diagonal from a to the copy of b has the node above the middle, so that no layer is
    # inverted: it is the image x(s) + t d(s) of a rectangle, with a parabola x and a linear d.
    low = np.column_stack([a, b, copy[b], between[b], between[middle], middle])
    high = np.column_stack([a, copy[b], copy[a], copy[middle], between[a], between[middle]])
    triangles = mesh.triangles.copy()
    triangles[inside] = copy[triangles[inside]]
    triangles = np.concatenate([triangles, low, high])
    require_not_inverted(points[triangles])
    material = mesh.material[inside].repeat(len(SIDES))[on_outline]
    images = mesh.image_of[nodes]
    return Mesh(
        points,
        triangles,
        np.concatenate([mesh.material, material, material]),
        np.concatenate([mesh.image_of, copy[images], between[images]]),
    )


def _shift(mesh: Mesh, triangles: Ints, sides: Ints) -> Floats:
    """Return how far the nodes (n, 2) of an outline move, into the triangles on its left.

    Args:
        mesh: The mesh.
        triangles: (m, 6) triangles of the material.
        sides: (k, 3) start, end and middle of the sides of the outline.

    Returns:
        The displacement, not a number elsewhere.
    """
    root = mesh.roots()
    points = mesh.points
    a, b, middle = points[sides].swapaxes(0, 1)
    # Tangents of the parabola at its ends: x'(0) = 4 m - 3 a - b, x'(1) = a + 3 b - 4 m
    tangents = np.concatenate([4 * middle - 3 * a - b, a + 3 * b - 4 * middle])
    ends = root[np.concatenate([sides[:, 0], sides[:, 1]])]
    x, y = (np.bincount(ends, component, len(points)) for component in tangents.T)
    normal = np.column_stack([-y, x])
    normal[points == 0.0] = 0.0  # nodes on an edge of the RVE move along it, like their images
    # The smallest height of a triangle is its Jacobian over its longest side.
    smallest, _ = jacobians(points[triangles])
    corners = points[triangles[:, :3]]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    height = np.full(len(points), np.inf)
    np.minimum.at(height, root[triangles[:, :3]], (smallest / lengths.max(axis=1))[:, None])
    with np.errstate(invalid="ignore"):
        shift = _THICKNESS * height[:, None] * normal / np.hypot(*normal.T)[:, None]
    return np.asarray(shift[root])
