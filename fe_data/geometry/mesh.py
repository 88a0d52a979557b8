"""Periodic meshes of a microstructure with curved quadratic triangles; only this module uses gmsh.

gmsh fills the faces between the segments of `outline` with straight triangles. Mid-side nodes are
added afterwards. Lengths are relative to the side of the square.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fe_data.arrays import Booleans, Floats, Ints, pair_keys
from fe_data.errors import MeshError
from fe_data.geometry.microstructure import IMAGES
from fe_data.geometry.outline import GROWTH, MATRIX, Outline
from fe_data.schema import BOUNDS
from safe_files.text import Short

try:
    import gmsh
except ImportError as error:
    raise ImportError(f"{error}: add it by pip install gmsh") from None

_NARROW = 1e-6  # a narrower gap between fibres may not be meshed at any resolution
_FINER = (1.25, 1.5, 2.0, 3.0, 4.0)  # factors on the resolution, tried for advice in a message
_TRIANGLE = 2  # gmsh's number of this kind of element
_SIX_NODES = 9  # gmsh's number of quadratic triangles
_FRONTAL_DELAUNAY = 6  # gmsh's number of this algorithm
# Our mid-side nodes 3, 4, 5 are opposite to vertices 0, 1, 2. Other programs begin after vertex 0.
OTHER_ORDER = [0, 1, 2, 5, 3, 4]
# Sides of a triangle with its interior on the left: start, end, and the node between them.
SIDES = np.array([[0, 1, 5], [1, 2, 3], [2, 0, 4]])


def not_cut() -> Ints:
    """Return the interfaces of a mesh without cuts."""
    return np.empty((0, 6), dtype=np.int64)


@dataclass(frozen=True, repr=False)
class Mesh(Short):
    """Mesh of six-node triangles; nodes 3, 4, 5 are opposite to vertices 0, 1, 2."""

    points: Floats  # (n, 2) nodes
    triangles: Ints  # (m, 6) nodes of each triangle
    material: Ints  # (m,) MATRIX, index of the fibre, or n_fibres + index in its interphase
    image_of: Ints  # (n,) node of which each node is a periodic image; itself if it is none
    # (k, 6) nodes of cut outlines: the start, the end and the middle of a side of a triangle of a
    # fibre, which lies on the left, then the nodes that face them
    interfaces: Ints = field(default_factory=not_cut)

    def roots(self) -> Ints:
        """Return the node (n,) of which each node is an image; a corner is an image of an image."""
        root = self.image_of
        while not np.array_equal(root, root[root]):
            root = root[root]
        return root

    def on_outlines(self, inside: Booleans) -> Booleans:
        """Return which nodes (n,) lie between the triangles `inside` (m,) and the others.

        All periodic images of a node do, or none of them.
        """
        root = self.roots()
        of_inside, of_others = np.zeros((2, len(root)), dtype=bool)
        of_inside[root[self.triangles[inside]]] = True
        of_others[root[self.triangles[~inside]]] = True
        return np.asarray((of_inside & of_others)[root])


def generate_mesh(outline: Outline) -> Mesh:
    """Mesh the RVE with curved outlines and matching opposite edges.

    Args:
        outline: Segments of the fibre outlines and of the edges of the square.

    Returns:
        The mesh.

    Raises:
        MeshError: If gmsh fails, an element is inverted, or nodes of opposite edges do not match.

    >>> from fe_data.geometry.microstructure import Microstructure
    >>> mesh = generate_mesh(Outline(Microstructure([[0.5, 0.5]], 0.2), resolution=3.0))
    >>> mesh.triangles.shape[1]
    6
    """
    try:
        return _mesh(outline)
    except MeshError as error:
        raise MeshError(f"{error}{_advice(outline)}") from error.__cause__


def _mesh(outline: Outline) -> Mesh:
    """Mesh the RVE; a MeshError without advice if it cannot be meshed."""
    points, triangles, material = _fill(outline)
    points, triangles = _quadratic(points, triangles, outline)
    require_not_inverted(points[triangles])
    points, image_of = _match_edges(points, outline.micro.height)
    return Mesh(points, triangles, material, image_of)


def with_holes(mesh: Mesh, voids: Ints) -> Mesh:
    """Remove the triangles of voids from a mesh, which leaves holes with free outlines.

    Args:
        mesh: Mesh of a microstructure.
        voids: (k,) indices of the fibres that are voids.

    Returns:
        The mesh without these triangles, and without the nodes inside the voids.

    >>> from fe_data.geometry.microstructure import Microstructure
    >>> mesh = generate_mesh(Outline(Microstructure([[0.5, 0.5]], 0.2), resolution=3.0))
    >>> set(with_holes(mesh, np.array([0])).material.tolist()) == {MATRIX}
    True
    """
    solid = ~np.isin(mesh.material, voids)
    used = np.unique(mesh.triangles[solid])
    position = np.full(len(mesh.points), -1)
    position[used] = np.arange(len(used))
    # Images of a node belong to the same void, so either all of them are kept or none.
    image_of = position[mesh.image_of[used]]
    return Mesh(mesh.points[used], position[mesh.triangles[solid]], mesh.material[solid], image_of)


def _advice(outline: Outline) -> str:
    """Return advice for a message: the narrowest gap, and a resolution that can mesh it."""
    micro = outline.micro
    if not len(micro.centres):
        return ""
    gaps = micro.distances - (micro.outer_radii[:, None] + micro.outer_radii)
    i, j = (int(k) for k in np.unravel_index(gaps.argmin(), gaps.shape))
    gap = f"; the gap between {micro.pair(i, j)} is {gaps[i, j]:.3g} sides of the square wide"
    if gaps[i, j] <= _NARROW:
        return (
            f"{gap}, and those below {_NARROW:g} may be too narrow to mesh at any resolution: "
            "move them apart, or give random ones a min_spacing (option --min-spacing) above 1"
        )
    resolution = outline.resolution
    for finer in (
        resolution * factor for factor in _FINER if resolution * factor <= BOUNDS["resolution"][1]
    ):
        # Round to three digits, as in the message.
        with contextlib.suppress(MeshError):
            _mesh(Outline(micro, float(f"{finer:.3g}")))
            return f"{gap}: increase the resolution from {resolution:.3g} to {finer:.3g}"
    return gap


def _closed_loops(segments: dict[int, tuple[int, int]]) -> list[list[int]]:
    """Chain directed segments {start: (end, curve)} into closed loops of curves."""
    loops: list[list[int]] = []
    first = -1
    node = -1
    while segments or node != first:
        if node == first:
            first = next(iter(segments))
            node = first
            loops.append([])
        if node not in segments:
            raise MeshError("an outline of the microstructure does not close")
        node, curve = segments.pop(node)
        loops[-1].append(curve)
    return loops


def _faces(outline: Outline) -> dict[int, list[list[int]]]:
    """Return closed loops around each material, of segment numbers, negative if reversed."""
    chains: dict[int, dict[int, tuple[int, int]]] = {MATRIX: {}}
    segments = np.concatenate([outline.arcs, outline.edges]).tolist()
    left = [*outline.left.tolist(), *outline.edge_material()]
    right = outline.right.tolist()
    for number, (segment, material) in enumerate(zip(segments, left, strict=True), start=1):
        a, b = segment
        chains.setdefault(material, {})[a] = (b, number)
        if number <= len(right):
            chains.setdefault(right[number - 1], {})[b] = (a, -number)
    return {material: _closed_loops(chain) for material, chain in chains.items()}


def _fill(outline: Outline) -> tuple[Floats, Ints, Ints]:
    """Let gmsh fill the faces: points (n, 2), straight triangles (m, 3) and their material."""
    with _model("rve"):
        try:
            surfaces = _add_faces(outline)
            _set_sizes(outline)
            gmsh.model.mesh.generate(2)
            return _collect(surfaces)
        except Exception as error:
            if type(error) is not Exception:  # gmsh raises plain Exceptions
                raise
            raise MeshError(f"gmsh could not mesh the RVE: {error}") from error


@contextlib.contextmanager
def _model(name: str) -> Iterator[None]:
    """Add a model to gmsh, which is started if necessary, and remove it at the end."""
    if not gmsh.isInitialized():
        # Threads of workers, such as Dask threads, cannot install signal handlers.
        gmsh.initialize(readConfigFiles=False, interruptible=False)
        if threading.current_thread() is threading.main_thread():
            # gmsh has reset SIGTERM, so set the handler of Python again.
            handler = signal.getsignal(signal.SIGTERM)
            signal.signal(signal.SIGTERM, handler or signal.SIG_DFL)
    gmsh.option.setNumber("General.Verbosity", 1)
    gmsh.model.add(name)
    try:
        yield
    finally:
        gmsh.model.remove()


def _add_faces(outline: Outline) -> dict[int, int]:
    """Add points, segments and faces to the gmsh model; return the material of each surface."""
    geo = gmsh.model.geo
    for tag, point in enumerate(outline.points.tolist(), start=1):
        x, y = point
        geo.addPoint(x, y, 0.0, outline.size, tag)
    segments = np.concatenate([outline.arcs, outline.edges])
    for tag, ends in enumerate((segments + 1).tolist(), start=1):
        a, b = ends
        geo.addLine(a, b, tag)
        geo.mesh.setTransfiniteCurve(tag, 2)
    # Area of a loop: 1/2 Σ (x_a y_b - x_b y_a) over its segments
    (xa, ya), (xb, yb) = np.moveaxis(outline.points[segments], 0, 2)
    moment = xa * yb - xb * ya
    surfaces = {}
    for material, loops in _faces(outline).items():
        outer: list[tuple[float, int]] = []
        holes: list[int] = []
        for loop in loops:
            area = float(np.sign(loop) @ moment[np.abs(loop) - 1]) / 2
            tag = geo.addCurveLoop(loop)
            if area > 0:
                outer.append((area, tag))
            else:
                holes.append(tag)
        # Fibres can cut off pieces of matrix at a corner. Only the largest piece has holes.
        for _, tag in sorted(outer, reverse=True):
            surfaces[geo.addPlaneSurface([tag, *holes])] = material
            holes = []
    geo.synchronize()
    return surfaces


def _set_sizes(outline: Outline) -> None:
    """Let the element size grow with the distance from the nearest fibre, up to a bound."""
    gmsh.option.setNumber("Mesh.Algorithm", _FRONTAL_DELAUNAY)
    gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 1)
    gmsh.option.setNumber("Mesh.MeshSizeFromPoints", 0)
    gmsh.option.setNumber("Mesh.MeshSizeMax", outline.coarsest)
    if not len(outline.micro.centres):
        return
    field = gmsh.model.mesh.field
    radii = outline.radii
    fields = []
    for radius, size in zip(*np.unique([radii, outline.sizes], axis=1), strict=True):
        fields.append(_add_size_field(outline, radius, size))
    if outline.micro.interphase:
        # Short segments of thin rings must not fill whole fibres with small elements.
        gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 0)
        extended = field.add("Extend")
        field.setNumbers(extended, "CurvesList", list(range(1, len(outline.arcs) + 1)))
        field.setNumber(extended, "DistMax", outline.coarsest / GROWTH)
        field.setNumber(extended, "SizeMax", outline.coarsest)
        fields.append(extended)
    smallest = field.add("Min")
    field.setNumbers(smallest, "FieldsList", fields)
    field.setAsBackgroundMesh(smallest)


def _add_size_field(outline: Outline, radius: float, size: float) -> int:
    """Add a gmsh field of the element size around all fibres of one radius; return its number."""
    micro = outline.micro
    shifts = IMAGES * [1.0, micro.height]
    images = (micro.centres[outline.radii == radius, None] + shifts).reshape(-1, 2)
    tags = []
    for x, y in images:
        if -radius < x < 1 + radius and -radius < y < micro.height + radius:
            tags.append(gmsh.model.geo.addPoint(x, y, 0.0))
    gmsh.model.geo.synchronize()
    field = gmsh.model.mesh.field
    distance = field.add("Distance")
    field.setNumbers(distance, "PointsList", tags)
    threshold: int = field.add("Threshold")
    field.setNumber(threshold, "InField", distance)
    field.setNumber(threshold, "SizeMin", size)
    field.setNumber(threshold, "SizeMax", outline.coarsest)
    field.setNumber(threshold, "DistMin", radius)
    field.setNumber(threshold, "DistMax", radius + (outline.coarsest - size) / GROWTH)
    return threshold


def _collect(surfaces: dict[int, int]) -> tuple[Floats, Ints, Ints]:
    """Read points, triangles and materials from gmsh, without points that no triangle uses."""
    tags, xyz, _ = gmsh.model.mesh.getNodes()
    parts = []
    material = []
    for surface, tag in surfaces.items():
        _, nodes = gmsh.model.mesh.getElementsByType(_TRIANGLE, surface)
        if not len(nodes):
            raise MeshError(f"gmsh left the face of material {tag} without triangles")
        parts.append(nodes.reshape(-1, 3))
        material.append(np.full(len(parts[-1]), tag))
    corners = np.concatenate(parts)
    used = np.isin(tags, corners)
    points = xyz.reshape(-1, 3)[used, :2]
    position = np.empty(int(tags.max()) + 1, dtype=np.int64)
    position[tags[used]] = np.arange(len(points))
    triangles = position[corners]
    a = points[triangles[:, 0]]
    b = points[triangles[:, 1]]
    c = points[triangles[:, 2]]
    clockwise = (b - a)[:, 0] * (c - a)[:, 1] < (b - a)[:, 1] * (c - a)[:, 0]
    triangles[clockwise] = triangles[clockwise][:, [0, 2, 1]]
    return points, triangles, np.concatenate(material)


def _quadratic(points: Floats, triangles: Ints, outline: Outline) -> tuple[Floats, Ints]:
    """Add mid-side nodes; parabolas on outlines enclose the same area as the circular arcs."""
    # The volume fraction of the mesh is therefore exact at any resolution.
    a, b = triangles[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2).T
    keys, inverse = np.unique(pair_keys(a, b, len(points)), return_inverse=True)
    mid = (points[keys // len(points)] + points[keys % len(points)]) / 2
    if len(outline.arcs):
        _bulge(points, keys, mid, outline)
    six_nodes = np.column_stack([triangles, len(points) + inverse.reshape(-1, 3)])
    return np.concatenate([points, mid]), six_nodes


def _bulge(points: Floats, keys: Ints, mid: Floats, outline: Outline) -> None:
    """Move the middles of outline segments outwards, in place; `keys` (sides,) are sorted."""
    a, b = outline.arcs.T  # the first nodes of the mesh are the points of the outline
    side = np.searchsorted(keys, pair_keys(a, b, len(points)))
    along = points[b] - points[a]
    chord = np.hypot(*along.T)
    r = outline.arc_radii
    # With half the angle of the arc, sin α = chord / 2r, the area of a circular segment is
    # r² (α - sin α cos α). The area under a parabola of sagitta h is 2/3 h chord.
    half = np.arcsin(chord / (2 * r))
    sagitta = 1.5 * r**2 * (half - np.sin(half) * np.cos(half)) / chord
    outward = np.column_stack([along[:, 1], -along[:, 0]]) / chord[:, None]
    mid[side] += sagitta[:, None] * outward


def export_mesh(
    points: Floats,
    triangles: Ints,
    entity: Ints,
    groups: list[tuple[int, str, Ints]],
    path: Path,
    title: str,
) -> None:
    """Write a mesh for other programs by gmsh, in the format that the suffix of the file names.

    Args:
        points: (n, 2) nodes.
        triangles: (m, 6) nodes of each triangle.
        entity: (m,) number of the surface of gmsh that has each triangle, from 1.
        groups: Number and name of each physical group, and its surfaces.
        path: Path of an .msh, .inp or .vtk file, which is replaced.
        title: Name of the gmsh model, which is the title of a .vtk file.
    """
    with _model(title):
        mesh = gmsh.model.mesh
        nodes = np.arange(1, len(points) + 1)
        surfaces = np.unique(entity).tolist()
        for surface in surfaces:
            gmsh.model.addDiscreteEntity(2, surface)
        mesh.addNodes(2, surfaces[0], nodes, np.insert(points, 2, 0.0, axis=1).ravel())
        for surface in surfaces:
            chosen = np.flatnonzero(entity == surface)
            corners = triangles[chosen][:, OTHER_ORDER] + 1
            mesh.addElementsByType(surface, _SIX_NODES, chosen + 1, corners.ravel())
        for number, name, members in groups:
            gmsh.model.addPhysicalGroup(2, members.tolist(), number, name)
        gmsh.option.setNumber("Mesh.Binary", 0)
        gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
        gmsh.option.setNumber("Mesh.SaveGroupsOfElements", 1)  # ELSET of .inp files
        gmsh.write(str(path))


def require_not_inverted(nodes: Floats) -> None:
    """Raise a MeshError if a quadratic triangle with nodes (m, 6, 2) may be inverted."""
    smallest = smallest_jacobian(nodes)
    if smallest <= 0:
        raise MeshError(f"an element of the mesh is inverted: smallest Jacobian {smallest:.3g}")


def smallest_jacobian(nodes: Floats) -> float:
    """Return a lower bound of the Jacobian over quadratic triangles.

    Args:
        nodes: (m, 6, 2) positions of the nodes.

    Returns:
        The bound, relative to the mean Jacobian. If it is positive, no triangle is inverted.

    A triangle with straight sides has one Jacobian:

    >>> corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> middles = [[0.5, 0.5], [0.0, 0.5], [0.5, 0.0]]
    >>> smallest_jacobian(np.array([corners + middles]))
    1.0
    """
    smallest, mean = jacobians(nodes)
    return float(smallest.min() / mean.mean())


def jacobians(nodes: Floats) -> tuple[Floats, Floats]:
    """Return a lower bound (m,) and the mean (m,) of the Jacobian of triangles (m, 6, 2)."""
    # The Jacobian is a quadratic polynomial. Its smallest Bernstein coefficient is a lower bound.
    s, t = np.array([[0, 1, 0, 0.5, 0, 0.5], [0, 0, 1, 0.5, 0.5, 0]])  # vertices, middles of sides
    u = 1 - s - t
    zero = np.zeros(6)
    ds = np.array([1 - 4 * u, 4 * s - 1, zero, 4 * t, -4 * t, 4 * (u - s)])
    dt = np.array([1 - 4 * u, zero, 4 * t - 1, 4 * s, 4 * (u - t), -4 * s])
    x, y = np.moveaxis(nodes, 2, 0)
    value = (x @ ds) * (y @ dt) - (y @ ds) * (x @ dt)
    # The coefficient of a side with values v_a, v_b at its ends and m in the middle is
    # 2 m - (v_a + v_b) / 2.
    v = value[:, :3]
    middle = value[:, 3:]
    coefficient = 2 * middle - (v.sum(axis=1, keepdims=True) - v) / 2
    return np.minimum(v, coefficient).min(axis=1), value.mean(axis=1)


def _match_edges(points: Floats, height: float) -> tuple[Floats, Ints]:
    """Pair nodes of opposite edges, and make their coordinates bitwise equal."""
    points = points.copy()
    image_of = np.arange(len(points))
    for axis in (0, 1):
        other = 1 - axis
        low = np.flatnonzero(points[:, axis] == 0.0)
        high = np.flatnonzero(points[:, axis] == (1.0, height)[axis])
        low = low[np.argsort(points[low, other])]
        high = high[np.argsort(points[high, other])]
        if len(low) != len(high) or np.abs(points[low, other] - points[high, other]).max() > 1e-10:
            raise MeshError(f"nodes on the edges normal to {'xy'[axis]} do not match")
        points[high, other] = points[low, other]
        image_of[high] = image_of[low]
    return points, image_of
