"""Write fields over the load steps as XDMF, which ParaView opens."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree as ET

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.composite.damage import DAMAGE
from fe_data.composite.rve import CompositeSolution, PhaseFields
from fe_data.geometry.domain import Domain
from fe_data.geometry.mesh import OTHER_ORDER
from fe_data.geometry.outline import MATRIX
from fe_data.loading import IN_PLANE
from fe_data.mechanics.elements import strain_at_points
from fe_data.mechanics.properties import von_mises
from fe_data.mechanics.rve import LoadStep, RVESolution
from fe_data.settings import require_kind, require_path
from safe_files.progress import counted
from safe_files.writing import replacing, require_own

ENDING = ".xdmf"
BEGINNING = rb".*<Xdmf Version=.3\.0.>\s*<Domain>\s*<Grid Name=.RVE. GridType=.Collection."
_AT_NODES = ("displacement", "opening", "interface_damage", "traction_MPa")
NEVER = b"(?!)"  # matches no file


def save_fields(rve: RVESolution | CompositeSolution, path: Path) -> None:
    """Write displacement, strain, stress and plastic strain over the load steps.

    The time of a step is its increment, which is the row of `rve.history`. The file has

    - `displacement` at the nodes, relative to the side of the RVE
    - `strain` and `stress_MPa`: tensors (3, 3), means over each triangle
    - `von_mises_MPa` and the equivalent `plastic_strain`, means over each triangle
    - `opening`, `interface_damage` and `traction_MPa` at the nodes of cut outlines, if fibres can
      debond. The opening has the normal component, the tangential one, and the one along z, and so
      has the traction
    - `damage`, the mean over each triangle, if a phase can soften
    - `material` of each triangle: -1 in the matrix, otherwise the number of the fibre, plus the
      number of all fibres in its interphase

    Args:
        rve: Solved RVE of either solver. With `keep_steps=True` all increments are written,
            otherwise only the end.
        path: Path of an .xdmf file. A .bin file next to it has the numbers, in single precision.
            Earlier files of this function are replaced.

    Raises:
        ValueError: If the file has another suffix.
        FileExistsError: If another file has one of these paths.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import Inputs, Settings, save_fields, solve_rve
        >>> coarse = Settings(n_fibres=1, resolution=3, increments=10)
        >>> rve = solve_rve(Inputs(0.2, 400.0, 400.0, 0.4), coarse, keep_steps=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_fields(rve, Path(folder, "rve.xdmf"))
        ...     sorted(path.name for path in Path(folder).iterdir())
        ['rve.bin', 'rve.xdmf']
    """
    require_kind("rve", rve, RVESolution, CompositeSolution)
    path = require_path("path", path, ENDING)
    require_own_fields(path)
    with replacing_fields(rve, path):
        pass


def require_own_fields(path: Path) -> None:
    """Check that fields may be written, like `require_own`; a .bin file needs its XDMF file."""
    require_own(path, BEGINNING)
    require_own(path.with_suffix(".bin"), None if path.exists() else NEVER)


@contextlib.contextmanager
def replacing_fields(rve: RVESolution | CompositeSolution, path: Path) -> Iterator[None]:
    """Write fields like `save_fields`; they replace existing files at the end of the block."""
    if isinstance(rve, CompositeSolution):
        d: Domain = rve.model.domain
        steps: Any = range(len(rve.steps))
    else:
        d = rve.discretisation
        steps = rve.steps or (LoadStep(rve.path.x, rve.fields),)
    cells = "Triangle_6", d.triangles[:, OTHER_ORDER]
    material = {"material": d.material}
    values = (_values(rve, step) for step in counted(steps, "fields", "step"))
    with _replacing_series(path, cells, d.points, material, values):
        yield


def save_interfaces(rve: CompositeSolution, path: Path) -> None:
    """Write the interfaces over the load steps, as lines with three nodes.

    The lines are on the side of the fibres. The file has, at the nodes,

    - `displacement`, relative to the side of the RVE
    - `opening`: the normal component, the tangential one, and the one along z, relative to this
      side
    - `interface_damage`, from 0 to 1
    - `traction_MPa`: the same components as the opening

    Args:
        rve: Solved RVE whose fibres can debond, see `save_fields` for its steps.
        path: Path of an .xdmf file, see `save_fields`.

    Raises:
        ValueError: If the file has another suffix, or fibres cannot debond.
        FileExistsError: If another file has one of these paths.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import Loading, Microstructure, named_phases, save_interfaces
        >>> from fe_data import solve_composite
        >>> pull = Loading((0.001, None, None), increments=1)
        >>> one = Microstructure([[0.5, 0.5]], 0.3)
        >>> rve = solve_composite(named_phases("glass_epoxy_debonding"), one, pull, resolution=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_interfaces(rve, Path(folder, "cracks.xdmf"))
        ...     sorted(path.name for path in Path(folder).iterdir())
        ['cracks.bin', 'cracks.xdmf']
    """
    require_kind("rve", rve, CompositeSolution)
    path = require_path("path", path, ENDING)
    require_own_fields(path)
    sides = rve.model.domain.interfaces[:, :3]
    if not len(sides):
        raise ValueError("rve has no interfaces: its fibres cannot debond")
    nodes, lines = np.unique(sides, return_inverse=True)
    cells = "Edge_3", lines.reshape(-1, 3)
    values = (
        {name: at_nodes[nodes] for name, at_nodes in _nodal_values(rve, step).items()}
        for step in range(len(rve.steps))
    )
    with _replacing_series(path, cells, rve.model.domain.points[nodes], {}, values):
        pass


@contextlib.contextmanager
def _replacing_series(
    path: Path,
    cells: tuple[str, Ints],
    points: Floats,
    constant: dict[str, Ints],
    steps: Iterable[dict[str, Floats]],
) -> Iterator[None]:
    """Write a mesh and its fields over the steps; they replace existing files at the end.

    Args:
        path: Path of the XDMF file.
        cells: Kind of cells in XDMF, and their nodes.
        points: (n, 2) nodes.
        constant: Fields of cells that do not change.
        steps: Fields of each step by name.
    """
    kind, nodes = cells
    series = ET.Element("Grid", Name="RVE", GridType="Collection", CollectionType="Temporal")
    numbers = path.with_suffix(".bin")
    with replacing(numbers, None) as file:
        topology = _item(file, nodes)
        place = _item(file, points)
        same = [_attribute(name, _item(file, values)) for name, values in constant.items()]
        for time, fields in enumerate(steps):
            grid = ET.SubElement(series, "Grid", Name="step", GridType="Uniform")
            ET.SubElement(grid, "Time", Value=str(time))
            elements = {"TopologyType": kind, "NumberOfElements": str(len(nodes))}
            ET.SubElement(grid, "Topology", elements).append(topology)
            ET.SubElement(grid, "Geometry", GeometryType="XY").append(place)
            grid.extend(same)
            for name, values in fields.items():
                grid.append(_attribute(name, _item(file, values)))
        for item in series.iter("DataItem"):
            item.text = numbers.name
        root = ET.Element("Xdmf", Version="3.0")
        ET.SubElement(root, "Domain").append(series)
        ET.indent(root)
        # Replace the XDMF file first, because a .bin file without it could never be replaced.
        with replacing(path, None) as described:
            ET.ElementTree(root).write(described, encoding="utf-8", xml_declaration=True)
            yield


def _item(file: BinaryIO, values: Floats | Ints) -> ET.Element:
    """Append an array (n, ...) to a file, and return the XDMF element that describes it."""
    kind = "Int" if values.dtype.kind == "i" else "Float"
    stored = values.reshape(len(values), -1).astype("<i4" if kind == "Int" else "<f4")
    described = {
        "Format": "Binary",
        "NumberType": kind,
        "Precision": "4",
        "Endian": "Little",
        "Seek": str(file.tell()),
        "Dimensions": " ".join(map(str, stored.shape)),
    }
    item = ET.Element("DataItem", described)
    file.write(stored.tobytes())
    return item


def _attribute(name: str, item: ET.Element) -> ET.Element:
    """Make a field of a grid, at nodes or in elements."""
    center = "Node" if name in _AT_NODES else "Cell"
    kinds = {"1": "Scalar", "3": "Vector", "9": "Tensor"}
    kind = kinds[item.attrib["Dimensions"].split()[-1]]
    attribute = ET.Element("Attribute", Name=name, AttributeType=kind, Center=center)
    attribute.append(item)
    return attribute


def _values(rve: RVESolution | CompositeSolution, step: Any) -> dict[str, Floats]:
    """Return all fields at a step by name: displacement of nodes, and means over triangles."""
    if isinstance(rve, CompositeSolution):
        m = len(rve.model.domain.triangles)
        means = _means_of_phases(rve.fields(step).values(), m)
        damage = {DAMAGE: rve.damage(step)} if rve.model.damageable else {}
        return {**_nodal_values(rve, step), **means, **damage}
    means = _means_of_phases(_phases(rve, step), len(rve.discretisation.triangles))
    return {"displacement": _displacement(rve, step), **means}


def _nodal_values(rve: CompositeSolution, step: int) -> dict[str, Floats]:
    """Return the fields at the nodes by name."""
    return {"displacement": rve.displacement(step), **rve.interface_fields(step)}


def _means_of_phases(phases: Iterable[PhaseFields], m: int) -> dict[str, Floats]:
    """Return the means over each of m triangles: tensors (m, 3, 3) and scalars (m,)."""
    means = {"strain": np.zeros((m, 3, 3)), "stress_MPa": np.zeros((m, 3, 3))}
    means |= {"von_mises_MPa": np.zeros(m), "plastic_strain": np.zeros(m)}
    for phase in phases:
        elements = phase.elements
        means["strain"][elements] = _symmetric(_means(phase, phase.strain))
        means["stress_MPa"][elements] = _symmetric(_means(phase, phase.stress))
        means["von_mises_MPa"][elements] = _means(phase, von_mises(phase.stress))
        if "p" in phase.state:
            means["plastic_strain"][elements] = _means(phase, phase.state["p"])
    return means


def _symmetric(values: Floats) -> Floats:
    """Return the symmetric tensors (m, 3, 3) from components (m, 6) xx, yy, zz, xy, xz, yz."""
    return np.asarray(values[:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]])


def _displacement(rve: RVESolution, step: LoadStep) -> Floats:
    """Return the displacement (n, 3) of the nodes, relative to the side of the RVE."""
    d = rve.discretisation
    fluctuation = rve.problem.fluctuation(step.x).reshape(-1, 2)[d.merged]
    exx, eyy, gxy = step.x[-3:]
    in_plane = fluctuation + d.points @ np.array([[exx, gxy / 2], [gxy / 2, eyy]])
    return np.column_stack([in_plane, np.zeros(len(in_plane))])


def _phases(rve: RVESolution, step: LoadStep) -> Iterator[PhaseFields]:
    """Yield the fields of the matrix and of each fibre, as those of the general solver."""
    d = rve.discretisation
    u = rve.problem.fluctuation(step.x)
    elements = (d.matrix, *d.fibres)
    stresses = (step.fields.matrix_stress, *step.fields.fibre_stress)
    for material, (phase, stress) in enumerate(zip(elements, stresses, strict=True), start=MATRIX):
        strain = np.zeros((*stress.shape[:2], 6))
        strain[..., IN_PLANE] = strain_at_points(phase, u, step.x[-3:])
        tensor = np.zeros(strain.shape)
        tensor[..., :4] = stress
        state = {"p": step.fields.plastic_strain} if material == MATRIX else {}
        rows = np.flatnonzero(d.material == material)
        yield PhaseFields(rows, phase.weights, strain, tensor, state)


def _means(phase: PhaseFields, values: Floats) -> Floats:
    """Return the means (m, ...) over each element of values (m, q, ...) at its points."""
    weights = phase.weights / phase.weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("mq,mq...->m...", weights, values))
