"""BLAS and LAPACK for compiled code: the routines that SciPy is linked with, by symbol.

Arguments are pointers, as in Fortran; arrays give them as `array.ctypes`. Matrices are stored
column by column, in single precision.
"""

from typing import Any

import llvmlite.binding as llvm
from numba import types as _types
from numba.extending import get_cython_function_address

types: Any = _types
_POINTERS = {"c": types.CPointer(types.int8), "i": types.CPointer(types.int32)}
_POINTERS["s"] = types.CPointer(types.float32)


def _routine(module: str, name: str, arguments: str) -> Any:
    # Numba's cache keeps symbols, not addresses, which change from one process to the next.
    symbol = f"fe_data_{name}"
    llvm.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*(_POINTERS[kind] for kind in arguments)))


# Arguments: c is a character, i an integer, s single precision.
spotrf = _routine("cython_lapack", "spotrf", "cisii")  # uplo, n, a, lda, info
# side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb
strsm = _routine("cython_blas", "strsm", "cccciissisi")
# uplo, trans, n, k, alpha, a, lda, beta, c, ldc
ssyrk = _routine("cython_blas", "ssyrk", "cciississi")
