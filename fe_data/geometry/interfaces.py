"""Cut a mesh along the outlines of the fibres, so that its faces can separate.

Each node on an outline gets a copy, which belongs to the fibre. The sides of triangles along the
outlines become elements of zero thickness with six nodes.
"""

import numpy as np

from fe_data.geometry.mesh import SIDES, Mesh


def cut_outlines(mesh: Mesh, n_fibres: int) -> Mesh:
    """Cut a mesh between the fibres and what surrounds them.

    Args:
        mesh: Mesh of a microstructure.
        n_fibres: Number of fibres.

    Returns:
        The mesh with further nodes, and with `interfaces`.

    >>> from fe_data.geometry.mesh import generate_mesh
    >>> from fe_data.geometry.microstructure import Microstructure
    >>> from fe_data.geometry.outline import Outline
    >>> outline = Outline(Microstructure([[0.5, 0.5]], 0.2), resolution=4.0)
    >>> mesh = cut_outlines(generate_mesh(outline), 1)
    >>> len(mesh.interfaces) == len(outline.arcs)
    True
    """
    in_fibre = (mesh.material >= 0) & (mesh.material < n_fibres)
    root = mesh.roots()
    on_outline = mesh.on_outlines(in_fibre)
    of_fibre = np.unique(mesh.triangles[in_fibre])
    copied = of_fibre[on_outline[of_fibre]]
    copy = np.arange(len(root))
    copy[copied] = len(root) + np.arange(len(copied))
    triangles = np.where(in_fibre[:, None], copy[mesh.triangles], mesh.triangles)
    present = np.zeros(len(root), dtype=bool)
    present[mesh.triangles[~in_fibre]] = True
    sides = mesh.triangles[in_fibre][:, SIDES].reshape(-1, 3)
    # The node in the middle of a side belongs to two triangles only.
    sides = sides[on_outline[sides[:, 2]] & present[sides[:, 2]]]
    # Periodic images have the same key. Nodes without a triangle are left out.
    keys = np.concatenate([root, len(root) + root[copied]])
    points = np.concatenate([mesh.points, mesh.points[copied]])
    used = np.unique(triangles)
    _, first, place = np.unique(keys[used], return_index=True, return_inverse=True)
    position = np.full(len(points), -1)
    position[used] = np.arange(len(used))
    return Mesh(
        points[used],
        position[triangles],
        mesh.material,
        first[place],
        position[np.column_stack([copy[sides], sides])],
    )
