"""Batched products of small float32 matrices in vector registers, compiled by numba.

Why this exists. Training spends nearly all of its time in matrix products of about 50 x 50 by
50 x 32, one per member and layer. Libraries choose their kernels for each processor, so the last
digits of results differ between processors. They also pack matrices, which is a waste of time if
these fit into the first-level cache. GFLOP/s of one core, for 50 members
(`python -m bench.training_speed`):

| product                     | Zen 3, AVX2 | PyTorch | Xeon, AVX-512 | PyTorch |
|-----------------------------|-------------|---------|---------------|---------|
| forward                     | 89          | 63      | 170           | 156     |
| gradient of the weights     | 60          | 53      | 102           | 91      |
| gradient of the layer below | 92          | 66      | 171           | 157     |

The same loops in Python, compiled by numba, reach 16 GFLOP/s on Zen 3.

How it works. A tile of the result stays in registers while the rows of B are read one by one. It
has up to 10 rows of 32 columns on AVX-512, and 5 rows of 16 columns on AVX2. Each entry is
Σ_p a_p b_p, summed in the order of p by fused multiply-adds, which round once. Therefore an entry
is bitwise the same for any size of the tiles. The library numba compiles the tiles from LLVM
instructions that this module generates. It compiles them for the instructions of this processor,
even if the variables NUMBA_CPU_NAME and NUMBA_CPU_FEATURES select another target for other code. A
matrix B that is stored by columns is transposed first. A matrix is passed as its address and its
strides in bytes.

How to switch it off. `bnn.training.matmul` uses these products if the processor has AVX2 and fused
multiply-add instructions (FMA). Otherwise, or if the environment variable BNN_PRODUCTS is "torch",
it uses the products of PyTorch.
"""

# numba, not mypy, types the functions that generate instructions:
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bnn._validation import Floats
from bnn.training.processor import has_feature
from safe_files.compiled_code import can_keep_compiled

# LANES is the number of floats in a vector register. A row of a tile has two registers. The number
# of rows leaves some registers free: 20 of 32 on AVX-512 and 10 of 16 on AVX2 hold sums. The
# largest heights divide the layer widths of the paper; the smaller ones are for remaining rows.
LANES = 16 if has_feature("avx512f") else 8
_HEIGHTS = (10, 5, 2, 1) if LANES == 16 else (5, 3, 2, 1)
_WIDTH = 2 * LANES  # columns of a tile
_FEATURES = "+avx2,+fma" + (",+avx512f" if LANES == 16 else "")
_STAGES = tuple(LANES >> stage for stage in range(1, LANES.bit_length()))  # of a transposition

_INT = ir.IntType(32)
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INDICES = ir.VectorType(_INT, LANES)
_ZERO = ir.Constant(_VECTOR, [0.0] * LANES)
_ALIGNMENT = ir.Constant(_INT, 4)


def _compiled(signature: Any = None) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function, and keeps it in numba's cache."""

    def compiled(function: Any) -> Any:
        # numba keeps one file per name, so a processor with other registers needs another name.
        function.__qualname__ += f"_{LANES}"
        return numba.njit(signature, nogil=True, cache=can_keep_compiled())(function)

    return compiled


class _Emitter:
    """Generates vector instructions at the position of an LLVM builder.

    The function at this position is compiled for a processor with _FEATURES.
    """

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        # llvmlite writes this LLVM attribute, but its own `add` does not know it.
        set.add(builder.function.attributes, f'"target-features"="{_FEATURES}"')

    def address(self, start: ir.Value, count: int, stride: ir.Value | int) -> ir.Value:
        """Return start + count * stride."""
        if isinstance(stride, int):
            return self.builder.add(start, ir.Constant(start.type, count * stride))
        return self.builder.add(start, self.builder.mul(stride, ir.Constant(start.type, count)))

    def broadcast(self, value: ir.Value) -> ir.Value:
        """Return a vector with the value in all lanes."""
        kind = ir.VectorType(value.type, LANES)
        empty = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(empty, value, ir.Constant(_INT, 0))
        return self.builder.shuffle_vector(one, empty, ir.Constant(_INDICES, [0] * LANES))

    def number(self, address: ir.Value) -> ir.Value:
        """Load one number."""
        return self.builder.load(self.builder.inttoptr(address, _FLOAT.as_pointer()))

    def first(self, count: ir.Value) -> ir.Value:
        """Return a mask of the first `count` lanes: none if count <= 0, all if count >= LANES."""
        lanes = ir.Constant(_INDICES, list(range(LANES)))
        count = self.broadcast(self.builder.trunc(count, _INT))
        return self.builder.icmp_signed("<", lanes, count)

    def load(self, address: ir.Value, mask: ir.Value | None) -> ir.Value:
        """Load the lanes in the mask; the others are zero, and their memory is not read."""
        pointer = self.builder.inttoptr(address, _VECTOR.as_pointer())
        if mask is None:  # all lanes, which is faster on AVX2
            return self.builder.load(pointer, align=4)
        return self._call("llvm.masked.load", "p0", pointer, _ALIGNMENT, mask, _ZERO)

    def store(self, value: ir.Value, address: ir.Value, mask: ir.Value | None) -> None:
        """Store the lanes in the mask, or all lanes if there is no mask."""
        pointer = self.builder.inttoptr(address, _VECTOR.as_pointer())
        if mask is None:
            self.builder.store(value, pointer, align=4)
            return
        self._call("llvm.masked.store", "p0", value, pointer, _ALIGNMENT, mask)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """Return a b + c, rounded once."""
        return self._call("llvm.fma", "", a, b, c)

    def _call(self, name: str, suffix: str, *arguments: ir.Value) -> ir.Value:
        result = ir.VoidType() if name.endswith("store") else _VECTOR
        name = ".".join(filter(None, (name, f"v{LANES}f32", suffix)))
        kind = ir.FunctionType(result, [a.type for a in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, arguments)

    def exchange(self, rows: list[ir.Value], size: int) -> None:
        """Exchange the off-diagonal size x size blocks, one stage of a transposition."""
        lanes = range(LANES)
        upper = [lane if not lane & size else LANES + lane - size for lane in lanes]
        lower = [LANES + lane if lane & size else lane + size for lane in lanes]
        for i in (lane for lane in lanes if not lane & size):
            pair = rows[i], rows[i + size]
            rows[i] = self.builder.shuffle_vector(*pair, ir.Constant(_INDICES, upper))
            rows[i + size] = self.builder.shuffle_vector(*pair, ir.Constant(_INDICES, lower))


def _tile(height: int, count: int, masked: bool) -> Any:
    """Return a function that multiplies `height` rows of A by `count` vectors of columns of B.

    If masked, it uses only the first n_columns of these columns.
    """

    @intrinsic
    def tile(_, a, a_row, a_column, b, b_row, c, c_row, n_inner, n_columns):
        def generate(context, builder, _, arguments):
            a, a_row, a_column, b, b_row, c, c_row, n_inner, n_columns = arguments
            emit = _Emitter(builder)
            masks: list[Any] = [None] * count
            if masked:
                masks = [emit.first(emit.address(n_columns, -LANES * v, 1)) for v in range(count)]
            sums = [
                [cgutils.alloca_once_value(builder, _ZERO) for _ in masks] for _ in range(height)
            ]
            with cgutils.for_range(builder, n_inner) as loop:
                row = builder.add(b, builder.mul(b_row, loop.index))
                vectors = [
                    emit.load(emit.address(row, v, 4 * LANES), m) for v, m in enumerate(masks)
                ]
                column = builder.add(a, builder.mul(a_column, loop.index))
                for i, places in enumerate(sums):
                    factor = emit.broadcast(emit.number(emit.address(column, i, a_row)))
                    for vector, place in zip(vectors, places, strict=True):
                        builder.store(emit.fma(factor, vector, builder.load(place)), place)
            for i, places in enumerate(sums):
                row = emit.address(c, i, c_row)
                for v, (mask, place) in enumerate(zip(masks, places, strict=True)):
                    emit.store(builder.load(place), emit.address(row, v, 4 * LANES), mask)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 9), generate

    return tile


def _strip(count: int, masked: bool) -> Any:
    """Return a function that multiplies all rows of A by `count` vectors of columns of B."""
    first, second, third, _ = _HEIGHTS
    tile_1, tile_2, tile_3, tile_4 = (_tile(height, count, masked) for height in _HEIGHTS)

    @numba.njit(nogil=True)
    def strip(a, a_row, a_column, b, b_row, c, c_row, n_rows, n_inner, n_columns):
        while n_rows > 0:
            if n_rows >= first:
                tile_1(a, a_row, a_column, b, b_row, c, c_row, n_inner, n_columns)
                done = first
            elif n_rows >= second:
                tile_2(a, a_row, a_column, b, b_row, c, c_row, n_inner, n_columns)
                done = second
            elif n_rows >= third:
                tile_3(a, a_row, a_column, b, b_row, c, c_row, n_inner, n_columns)
                done = third
            else:
                tile_4(a, a_row, a_column, b, b_row, c, c_row, n_inner, n_columns)
                done = 1
            a = a + done * a_row
            c = c + done * c_row
            n_rows = n_rows - done

    return strip


_full_strip = _strip(2, masked=False)
_wide_rest = _strip(2, masked=True)
_narrow_rest = _strip(1, masked=True)


@intrinsic
def _transpose_block(_, b, b_column, n_columns, n_inner, t, t_row):
    """Write LANES x LANES numbers of B, contiguous along its columns, to the rows of T."""

    # Missing columns are replaced by the first one, missing rows by zeros. T has space for them.
    def generate(context, builder, _, arguments):
        b, b_column, n_columns, n_inner, t, t_row = arguments
        emit = _Emitter(builder)
        mask = emit.first(n_inner)
        rows = []
        for j in range(LANES):
            there = builder.icmp_signed("<", ir.Constant(n_columns.type, j), n_columns)
            address = builder.select(there, emit.address(b, j, b_column), b)
            rows.append(emit.load(address, mask))
        for size in _STAGES:
            emit.exchange(rows, size)
        everywhere = emit.first(ir.Constant(n_inner.type, LANES))
        for p, row in enumerate(rows):
            emit.store(row, emit.address(t, p, t_row), everywhere)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 6), generate


@_compiled()
def _transpose(b, b_column, n_inner, n_columns, t, t_row):
    for j in range(0, n_columns, LANES):
        for p in range(0, n_inner, LANES):
            start = b + j * b_column + 4 * p
            _transpose_block(  # type: ignore[call-arg]  # the typing context is implied
                start, b_column, n_columns - j, n_inner - p, t + p * t_row + 4 * j, t_row
            )


@_compiled()
def _multiply(a, a_row, a_column, b, b_row, c, c_row, n_rows, n_inner, n_columns):
    while n_columns >= _WIDTH:
        _full_strip(a, a_row, a_column, b, b_row, c, c_row, n_rows, n_inner, n_columns)
        b = b + 4 * _WIDTH
        c = c + 4 * _WIDTH
        n_columns = n_columns - _WIDTH
    if n_columns > LANES:
        _wide_rest(a, a_row, a_column, b, b_row, c, c_row, n_rows, n_inner, n_columns)
    elif n_columns > 0:
        _narrow_rest(a, a_row, a_column, b, b_row, c, c_row, n_rows, n_inner, n_columns)


_MATRICES = types.Array(types.float32, 3, "A")


@_compiled(types.void(_MATRICES, _MATRICES, _MATRICES))
def multiply(A: Floats, B: Floats, out: Floats) -> None:
    """Write A[k] B[k] to out[k], float32 (k, rows, columns), without the interpreter's lock."""
    n_rows = A.shape[1]
    n_inner = A.shape[2]
    n_columns = B.shape[2]
    if B.shape[:2] != (len(A), n_inner) or out.shape != (len(A), n_rows, n_columns):
        raise ValueError("A, B and out must have shapes (k, m, n), (k, n, p) and (k, m, p)")
    if A.size == 0 or B.size == 0:
        out[:] = 0.0
        return
    turned = B.strides[2] != 4 and n_columns > 1
    if (turned and B.strides[1] != 4 and n_inner > 1) or (out.strides[2] != 4 and n_columns > 1):
        raise ValueError("B and out must be contiguous along an axis of their matrices")
    room = (n_inner + LANES, n_columns + LANES) if turned else (0, 0)
    T = np.empty(room, np.float32)
    for k in range(len(A)):
        b = B.ctypes.data + k * B.strides[0]
        b_row = B.strides[1]
        if turned:
            _transpose(b, B.strides[2], n_inner, n_columns, T.ctypes.data, T.strides[0])
            b = T.ctypes.data
            b_row = T.strides[0]
        _multiply(
            A.ctypes.data + k * A.strides[0],
            A.strides[1],
            A.strides[2],
            b,
            b_row,
            out.ctypes.data + k * out.strides[0],
            out.strides[1],
            n_rows,
            n_inner,
            n_columns,
        )
