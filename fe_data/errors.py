"""Errors that end a simulation; each message says what happened and where."""

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from safe_files.help_page import ExplainedError, see

if TYPE_CHECKING:
    from fe_data.arrays import Floats

# What libraries say if memory is full: PyTorch, SuperLU, PETSc, and C++ below gmsh
_FULL = re.compile(r"can't allocate memory|out of memory|malloc fails|bad_alloc", re.IGNORECASE)


@contextlib.contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a MemoryError instead of other errors in the block which say that memory is full.

    PyTorch, for example, raises a RuntimeError. Such an error belongs to the machine, not to the
    sample that is simulated.

    Raises:
        MemoryError: If memory is full.

    >>> try:
    ...     with memory_errors():
    ...         raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
    ... except MemoryError as error:
    ...     print(error)
    DefaultCPUAllocator: can't allocate memory
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or not _FULL.search(str(error)):
            raise
        full = MemoryError(" ".join(str(error).split())[:300])
        full.add_note(see("memory"))
        raise full from error


class SimulationError(RuntimeError):
    """A simulation failed; `generate` records the reason and tries a second microstructure.

    Examples:
        >>> from fe_data import SimulationError
        >>> [kind.__name__ for kind in SimulationError.__subclasses__()]
        ['MicrostructureError', 'MeshError', 'ConvergenceError', 'FitError']
    """


class MicrostructureError(ExplainedError, SimulationError):
    """No admissible microstructure was found.

    Examples:
        >>> import fe_data
        >>> issubclass(fe_data.MicrostructureError, fe_data.SimulationError)
        True
    """

    section = "microstructures"


class MeshError(ExplainedError, SimulationError):
    """The mesh has an invalid element or unpaired periodic nodes.

    Examples:
        >>> import fe_data
        >>> issubclass(fe_data.MeshError, fe_data.SimulationError)  # so that a sample is repeated
        True
    """

    section = "meshing"


class ConvergenceError(ExplainedError, SimulationError):
    """Newton's method failed even after the load step was cut back to its minimum.

    Attributes:
        history: Volume averages at the start and after each increment that was reached, like the
            `history` of a solved RVE; None if the error does not belong to a loading path.

    Examples:
        >>> import fe_data
        >>> issubclass(fe_data.ConvergenceError, fe_data.SimulationError)  # a sample is repeated
        True
    """

    section = "newtons-method"
    history: "dict[str, Floats] | None" = None


class FitError(SimulationError):
    """A curve has too few plastic increments to fit a power law.

    `solve_rve` and `generate` keep such an RVE, without b_eff and c_eff.

    Examples:
        >>> import numpy as np
        >>> from fe_data.mechanics.properties import fit_power_law
        >>> fit_power_law(mises=np.array([410.0]), plastic=np.array([0.001]), a=400.0)
        Traceback (most recent call last):
        ...
        fe_data.errors.FitError: only 1 increment reaches 400 MPa with a plastic strain...
    """
