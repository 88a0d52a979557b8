"""A mesh in dolfinx: ordered for locality, with merged periodic nodes, and its function spaces.

Only this module depends on the version of dolfinx ("=" means as in the column to the left):

                 0.5, 0.6                  0.7 to 0.9           0.10                 0.11
element          ufl.VectorElement         basix.ufl.element    =                    =
create_mesh      cells, points, element    =                    cells, element, points  =
geometry.dofmap  adjacency list            array                =                    dofmaps[0]
dofs of a space  adjacency list            array                =                    =
space            (Vector)FunctionSpace     functionspace        =                    =
quadrature       ufl.VectorElement         quadrature_element   =                    =
Expression.eval  cells                     mesh, cells          =                    =
settings of JIT  get_parameters (0.5)      get_options          =                    =
"""

import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fe_data.arrays import Floats, Ints
from fe_data.geometry.mesh import Mesh, not_cut
from safe_files.locking import lock
from safe_files.text import Short

# Importing dolfinx redirects all warnings of the process to a log (ffcx); this is undone below. The
# import also parses sys.argv, which fails if an argument cannot be encoded in the locale, such as a
# path with an accent in an ASCII locale. So hide the arguments.
_show_warning = warnings.showwarning
_words = sys.argv
sys.argv = [""]
try:
    import basix
    import dolfinx
    import dolfinx.fem.petsc  # noqa: F401 (makes it an attribute)
    import dolfinx.mesh
    import ufl
    from mpi4py import MPI
except ImportError as error:
    raise ImportError(f"{error}: install dolfinx by setup.sh, or from conda-forge or apt") from None
finally:
    sys.argv = _words

if warnings.showwarning is not _show_warning:
    logging.captureWarnings(False)

# Type checkers do not see the exports of these packages, nor names of other versions.
_basix: Any = basix
_dolfinx: Any = dolfinx
QUADRATURE_DEGREE = 2
_P2 = _basix.ElementFamily.P, _basix.CellType.triangle, 2, _basix.LagrangeVariant.equispaced


def quadrature(degree: int) -> tuple[Floats, Floats]:
    """Return points (q, 2) in the reference triangle and weights (q,), exact for this degree."""
    points, weights = _basix.make_quadrature(_basix.CellType.triangle, degree)
    return np.asarray(points), np.asarray(weights)


def quadratic_gradients(points: Floats) -> Floats:
    """Return derivatives (2, q, 6) of quadratic shape functions in the reference triangle."""
    return np.asarray(_basix.create_element(*_P2).tabulate(1, points)[1:, :, :, 0])


QUADRATURE = quadrature(QUADRATURE_DEGREE)  # three points
REFERENCE_GRADIENTS = quadratic_gradients(QUADRATURE[0])
_VERSION = tuple(int(number) for number in _dolfinx.__version__.split(".")[:2])


@dataclass(frozen=True, repr=False)
class Domain(Short):
    """A mesh in the order of dolfinx, with merged periodic nodes."""

    points: Floats  # (n, 2) nodes
    triangles: Ints  # (m, 6) nodes of each element
    material: Ints  # (m,) MATRIX, index of the fibre, or n_fibres + index in its interphase
    merged: Ints  # (n,) index of each node after periodic images are merged
    n_nodes: int  # number of nodes after the merge
    element: str  # kind of element in the matrix, see `mechanics.elements.VOLUMETRIC_MODES`
    mesh: dolfinx.mesh.Mesh
    interfaces: Ints = field(
        default_factory=not_cut, kw_only=True
    )  # (k, 6) nodes of cut outlines, see `Mesh`


def create_domain(mesh: Mesh, element: str) -> Domain:
    """Order a mesh for locality and merge periodic nodes; `element` is the kind in the matrix."""
    domain = _create_mesh(mesh)
    material = mesh.material[np.asarray(domain.topology.original_cell_index)]
    geometry = domain.geometry
    nodes = np.asarray(geometry.input_global_indices)
    points = np.ascontiguousarray(geometry.x[:, :2])
    dofmap = geometry.dofmap if _VERSION < (0, 11) else geometry.dofmaps[0]
    triangles = _flat(dofmap).reshape(-1, 6)
    position = np.empty(len(nodes), dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    image_of = position[mesh.image_of[nodes]]
    while not np.array_equal(image_of, image_of[image_of]):  # a corner is an image of an image
        image_of = image_of[image_of]
    masters, merged = np.unique(image_of, return_inverse=True)
    interfaces = position[mesh.interfaces]
    whole = points, triangles, material, merged, len(masters), element, domain
    return Domain(*whole, interfaces=interfaces)


def _create_mesh(mesh: Mesh) -> dolfinx.mesh.Mesh:
    """Make the dolfinx mesh with quadratic geometry, in one process."""
    cells = mesh.triangles.astype(np.int64)
    points = mesh.points
    if _VERSION < (0, 7):
        element = ufl.VectorElement("Lagrange", ufl.Cell("triangle", geometric_dimension=2), 2)
        return dolfinx.mesh.create_mesh(MPI.COMM_SELF, cells, points, ufl.Mesh(element))
    import basix.ufl

    element = basix.ufl.element("Lagrange", "triangle", 2, shape=(2,))
    arguments = (cells, points, element) if _VERSION < (0, 10) else (cells, element, points)
    return dolfinx.mesh.create_mesh(MPI.COMM_SELF, *arguments)


def _flat(dofmap: Any) -> Ints:
    """Return the flat array of the nodes or dofs of all triangles."""
    return np.asarray(dofmap.array if _VERSION < (0, 7) else dofmap).ravel()


def dofs(space: Any) -> Ints:
    """Return dofs (m, k) of each triangle; all components of a tensor count as one dof."""
    return _flat(space.dofmap.list).reshape(space.mesh.topology.index_map(2).size_local, -1)


def assign(function: Any, values: Floats) -> None:
    """Assign values (m, k, ...) at the nodes or points of all elements to a function."""
    place = dofs(function.function_space).ravel()
    function.x.array.reshape(-1, values.size // place.size)[place] = values.reshape(place.size, -1)


@contextlib.contextmanager
def _compilation() -> Iterator[None]:
    """Let dolfinx compile elements, forms and expressions into the cache of the user.

    Only one process compiles at a time, because another process that needs the same form would wait
    for ten seconds and then fail. After an interrupted compilation unfinished files are removed,
    because a later run would wait for them.
    """
    options = _dolfinx.jit.get_parameters if _VERSION < (0, 6) else _dolfinx.jit.get_options
    cache = Path(options()["cache_dir"])
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("ab") as file, warnings.catch_warnings():
        lock(file.fileno())
        before = set(cache.glob("*.c*"))
        logged = logging.root.manager.disable
        logging.disable(max(logged, logging.INFO))  # hides output of the C compiler
        # The form compiler of dolfinx 0.5 uses deprecated NumPy functions, and leaves files open.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            yield
        except BaseException:
            _remove_unfinished(set(cache.glob("*.c*")) - before)
            raise
        finally:
            logging.disable(logged)


def _remove_unfinished(files: set[Path]) -> None:
    """Delete sources without a mark that they are compiled, and marks without a source."""
    marks = {file for file in files if file.suffix == ".cached"}
    sources = {file for file in files if file.suffix == ".c"}
    finished = sources & {mark.with_suffix("") for mark in marks}
    for file in sources - finished | {
        mark for mark in marks if mark.with_suffix("") not in finished
    }:
        file.unlink(missing_ok=True)


@_compilation()
def space(mesh: dolfinx.mesh.Mesh, family: str, degree: int, shape: tuple[int, ...] = ()) -> Any:
    """Return the function space of scalars, or of vectors if a shape is given."""
    if _VERSION < (0, 7):
        kind = _dolfinx.fem.VectorFunctionSpace if shape else _dolfinx.fem.FunctionSpace
        return kind(mesh, (family, degree))
    return _dolfinx.fem.functionspace(mesh, (family, degree, shape))


@_compilation()
def quadrature_space(mesh: dolfinx.mesh.Mesh, size: int) -> Any:
    """Return the space of vectors at the integration points."""
    if _VERSION < (0, 7):
        rule = {"quad_scheme": "default", "dim": size}
        element = ufl.VectorElement("Quadrature", mesh.ufl_cell(), QUADRATURE_DEGREE, **rule)
        return _dolfinx.fem.FunctionSpace(mesh, element)
    import basix.ufl

    element = basix.ufl.quadrature_element("triangle", (size,), "default", QUADRATURE_DEGREE)
    return _dolfinx.fem.functionspace(mesh, element)


def measure(mesh: dolfinx.mesh.Mesh) -> Any:
    """Return the measure dx in UFL that sums over the integration points."""
    rule = {"quadrature_degree": QUADRATURE_DEGREE, "quadrature_scheme": "default"}
    return ufl.Measure("dx", domain=mesh, metadata=rule)


def at_points(expression: Any, mesh: dolfinx.mesh.Mesh, size: int) -> Callable[[], Floats]:
    """Compile a UFL vector; return a function that evaluates it at all points, (m q, size)."""
    with _compilation():
        compiled = _dolfinx.fem.Expression(expression, QUADRATURE[0])
    cells = np.arange(mesh.topology.index_map(2).size_local, dtype=np.int32)
    place = (cells,) if _VERSION < (0, 7) else (mesh, cells)
    return lambda: np.asarray(compiled.eval(*place)).reshape(-1, size)


@_compilation()
def compiled_form(form: Any) -> Any:
    """Compile a form in UFL."""
    return _dolfinx.fem.form(form)


def assembler(form: Any) -> Callable[[], sp.csr_matrix]:
    """Compile a form; return a function that assembles its matrix in SciPy."""
    compiled = compiled_form(form)
    matrix = _dolfinx.fem.petsc.create_matrix(compiled)

    def assemble() -> sp.csr_matrix:
        matrix.zeroEntries()
        _dolfinx.fem.petsc.assemble_matrix(matrix, compiled)
        matrix.assemble()
        return sp.csr_matrix(matrix.getValuesCSR()[::-1], matrix.getSize())

    return assemble
