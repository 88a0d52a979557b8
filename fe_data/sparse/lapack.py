"""BLAS and LAPACK for compiled code: the routines that SciPy is linked with, by symbol.

Arguments are pointers, as in Fortran; arrays give them as `array.ctypes`. Matrices are stored
column by column, in single precision.
"""

from typing import Any

import llvmlite.binding as llvm
from numba import types as _types
from numba.extending import get_cython_function_address

types: Any = _types
_char, _int = types.CPointer(types.int8), types.CPointer(types.int32)
_real = types.CPointer(types.float32)


def _routine(module: str, name: str, *arguments: Any) -> Any:
    # Numba's cache keeps symbols, not addresses, which change from one process to the next.
    symbol = f"fe_data_{name}"
    llvm.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*arguments))


# uplo, n, a, lda, info
spotrf = _routine("cython_lapack", "spotrf", _char, _int, _real, _int, _int)
# side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb
strsm = _routine(
    "cython_blas", "strsm",
    _char, _char, _char, _char, _int, _int, _real, _real, _int, _real, _int,
)  # fmt: skip
# uplo, trans, n, k, alpha, a, lda, beta, c, ldc
ssyrk = _routine(
    "cython_blas", "ssyrk", _char, _char, _int, _int, _real, _real, _int, _real, _real, _int
)
# uplo, trans, diag, n, a, lda, x, incx
strsv = _routine("cython_blas", "strsv", _char, _char, _char, _int, _real, _int, _real, _int)
# trans, m, n, alpha, a, lda, x, incx, beta, y, incy
sgemv = _routine(
    "cython_blas", "sgemv", _char, _int, _int, _real, _real, _int, _real, _int, _real, _real, _int
)
