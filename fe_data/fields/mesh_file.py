"""Write the mesh of an RVE for other finite-element programs."""

import re
import tempfile
from pathlib import Path

import numpy as np

from fe_data.arrays import Ints
from fe_data.composite.phases import INTERPHASE
from fe_data.composite.rve import CompositeSolution
from fe_data.geometry.domain import Domain
from fe_data.geometry.mesh import export_mesh
from fe_data.geometry.microstructure import Microstructure
from fe_data.mechanics.rve import RVESolution
from fe_data.settings import require_kind, require_path
from safe_files.writing import require_own, write_atomic

_TITLE = "RVE of fe_data"  # tells that `save_mesh` wrote a file
# Beginnings of the files, which may be replaced.
_BEGINNINGS = {
    ".msh": rb"\$MeshFormat\n.{0,50}\n\$EndMeshFormat\n\$Comments\n" + _TITLE.encode(),
    ".inp": rb"\*Heading\n " + _TITLE.encode(),
    ".vtk": rb"# vtk DataFile Version \S+\n" + _TITLE.encode(),
}


def save_mesh(rve: RVESolution | CompositeSolution, path: Path) -> None:
    """Write the mesh of an RVE for gmsh (.msh), Abaqus (.inp) or VTK (.vtk).

    The triangles are quadratic with curved sides. Lengths are relative to the side of the square.
    To find periodic pairs, sort the nodes of two opposite edges by their other coordinate, which
    is equal for both nodes of a pair. The four corners are images of one node. Voids are holes.
    The curved sides keep the area of each phase exact. Physical groups (.msh) and element sets
    (.inp) have the names of the phases. Surfaces are numbered: 1 is the matrix,
    2 + i is fibre i, and 2 + n + i is the interphase around fibre i of n. In .inp files `Surface2`
    is the element set of fibre 0, with elements CPE6 (plane strain). In .vtk files these numbers
    are the field CellEntityIds.

    Args:
        rve: Solved RVE of either solver.
        path: Path of a file that ends in .msh, .inp or .vtk. An earlier file of this function is
            replaced.

    Raises:
        ValueError: If the file has another suffix.
        FileExistsError: If another file has this path.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import Inputs, Settings, save_mesh, solve_rve
        >>> coarse = Settings(n_fibres=1, resolution=3, increments=10)
        >>> rve = solve_rve(Inputs(0.2, 400.0, 400.0, 0.4), coarse)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_mesh(rve, Path(folder, "rve.inp"))
        ...     text = Path(folder, "rve.inp").read_text()
        >>> [name for name in ("matrix", "fibres") if f"ELSET={name}" in text]
        ['matrix', 'fibres']
    """
    require_kind("rve", rve, RVESolution, CompositeSolution)
    path = require_path("path", path)
    require_mesh_file(path)
    d: Domain = rve.model.domain if isinstance(rve, CompositeSolution) else rve.discretisation
    points, triangles = d.points, d.triangles
    if len(d.interfaces):  # join the two sides of the interfaces again
        joined = np.arange(len(points))
        joined[d.interfaces[:, :3]] = d.interfaces[:, 3:]
        used, places = np.unique(joined[triangles], return_inverse=True)
        points, triangles = points[used], places.reshape(triangles.shape)
    entity = d.material + 2
    groups = _groups(rve.microstructure, entity)
    if path.suffix == ".vtk":  # its numbers are those of groups, and it has no names
        groups = [(surface, "", np.array([surface])) for surface in np.unique(entity).tolist()]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, f"mesh{path.suffix}")
        export_mesh(points, triangles, entity, groups, written, _TITLE)
        data = written.read_bytes()
        if path.suffix == ".inp":
            data = data.replace(str(written).encode(), _TITLE.encode(), 1)
            data = data.replace(b"type=CPS6", b"type=CPE6")  # plane strain, not plane stress
        elif path.suffix == ".msh":
            end = b"$EndMeshFormat\n"
            comment = b"$Comments\n" + _TITLE.encode() + b"\n$EndComments\n"
            data = data.replace(end, end + comment, 1)
    write_atomic(path, data, _BEGINNINGS[path.suffix])


def require_mesh_file(path: Path) -> None:
    """Check that a mesh may be written: a ValueError for another suffix, else `require_own`."""
    if path.suffix not in _BEGINNINGS:
        allowed = f"{', '.join(_BEGINNINGS)} (gmsh, Abaqus, VTK)"
        raise ValueError(f"path = {str(path)!r:.200}: a mesh file must end in one of {allowed}")
    require_own(path, _BEGINNINGS[path.suffix])


def _groups(micro: Microstructure, entity: Ints) -> list[tuple[int, str, Ints]]:
    """Return number, name and surfaces of each phase; names are admitted by Abaqus."""
    phases = np.array(["matrix", *micro.phases, *[INTERPHASE] * len(micro.phases)])
    surfaces = np.unique(entity)
    groups: dict[str, Ints] = {}
    for phase in dict.fromkeys(phases[surfaces - 1].tolist()):
        name = re.sub(r"\W", "_", phase, flags=re.ASCII)
        if not name[:1].isalpha():
            name = f"phase_{name}"
        while name in groups:
            name += "_"
        groups[name] = surfaces[phases[surfaces - 1] == phase]
    return [(i, *group) for i, group in enumerate(groups.items(), start=1)]
