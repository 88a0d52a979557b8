"""Intel MKL's Pardiso, where its library is installed: an alternative to CHOLMOD on x86."""

import ctypes
import ctypes.util
import functools
import os
import sys
import weakref
from pathlib import Path

import numpy as np

_POSITIVE_DEFINITE = 2
_ANALYSE, _FACTORISE, _SOLVE, _RELEASE = 11, 22, 33, -1
_NOT_POSITIVE_DEFINITE = -4


@functools.cache
def library() -> ctypes.CDLL | None:
    """MKL's runtime library, from this environment or the system; None where there is none.

    The environment variable FE_DATA_SOLVER=petsc leaves it aside.
    """
    if os.environ.get("FE_DATA_SOLVER", "").lower() == "petsc":
        return None
    folders = [Path(sys.prefix) / "lib", Path(sys.prefix) / "Library" / "bin"]
    candidates = [str(path) for folder in folders for path in sorted(folder.glob("*mkl_rt*"))]
    candidates.append(ctypes.util.find_library("mkl_rt") or "")
    for candidate in filter(None, candidates):
        try:
            found = ctypes.CDLL(candidate)
            found.pardiso.restype = None
        except (OSError, AttributeError):
            continue
        found.MKL_Set_Num_Threads(
            1
        )  # one core a cell; results do not depend on the machine's count
        return found
    return None


class PardisoSolver:
    """Sparse Cholesky for one sparsity pattern, of which the upper triangle is stored.

    Same use as `linear_solver.PetscSolver`.
    """

    name = "pardiso"

    def __init__(self, indptr: np.ndarray, indices: np.ndarray):
        self.values = np.zeros(len(indices))
        self._n = len(indptr) - 1
        self._indptr, self._indices = indptr.astype(np.int32), indices.astype(np.int32)
        self._handle = np.zeros(64, dtype=np.int64)
        self._parameters = np.zeros(64, dtype=np.int32)
        # Own parameters; nested dissection; C indices.
        self._parameters[[0, 1, 34]] = 1, 2, 1
        self._analysed = False

    def factorise(self) -> None:
        """Factorise the current values; the symbolic phase is done once."""
        if not self._analysed:
            self._analysed = True
            self._call(_ANALYSE)
            # Its memory is MKL's, which nobody else frees.
            shared = (self._handle, self._parameters, self._indptr, self._indices)
            weakref.finalize(self, _pardiso, library(), _RELEASE, self.values, *shared)
        self._broken = False
        self._call(_FACTORISE)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Solve for right-hand sides (n,) or (n, k); nan where the matrix was indefinite."""
        b = np.asfortranarray(rhs, dtype=float)
        x = np.zeros_like(b, order="F")
        if self._broken:
            x[...] = np.nan
        elif x.size:
            self._call(_SOLVE, b, x)
        return x

    def _call(self, phase: int, b: np.ndarray | None = None, x: np.ndarray | None = None) -> None:
        shared = (self._handle, self._parameters, self._indptr, self._indices)
        error = _pardiso(library(), phase, self.values, *shared, b, x)
        if error == _NOT_POSITIVE_DEFINITE:
            self._broken = True
        elif error:
            raise RuntimeError(f"Pardiso failed with error {error} in phase {phase}")


def _pardiso(mkl, phase, values, handle, parameters, indptr, indices, b=None, x=None) -> int:
    """Call MKL's pardiso; returns its error code."""
    b, x = (np.zeros(1) if v is None else v for v in (b, x))
    count = 1 if b.ndim == 1 else b.shape[1]
    error = ctypes.c_int32(0)
    numbers = (1, 1, _POSITIVE_DEFINITE, phase, len(indptr) - 1)
    head = [ctypes.byref(ctypes.c_int32(v)) for v in numbers]
    matrix = [a.ctypes.data_as(ctypes.c_void_p) for a in (values, indptr, indices)]
    options = parameters.ctypes.data_as(ctypes.c_void_p)
    right = [a.ctypes.data_as(ctypes.c_void_p) for a in (b, x)]
    mkl.pardiso(
        handle.ctypes.data_as(ctypes.c_void_p), *head, *matrix, None,
        ctypes.byref(ctypes.c_int32(count)), options, ctypes.byref(ctypes.c_int32(0)), *right,
        ctypes.byref(error),
    )  # fmt: skip
    return error.value
