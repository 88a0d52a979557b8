"""Our own batched products against float64, on every layout that the training loop uses."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnn import MLP, TrainingSettings
from bnn.training import matmul as products
from bnn.training.loop import train
from bnn.training.vector_products import multiply

SIZES = st.integers(1, 70)
SENTINEL = 7.0


def swapped(matrices):
    return matrices.transpose(0, 2, 1)


@settings(max_examples=20, deadline=None)
@given(SIZES, SIZES, SIZES, st.booleans(), st.booleans(), st.integers(0, 2**16))
def test_product_equals_float64(m, n, columns, turned_a, turned_b, seed):
    """Any size, A and B in rows or in columns; nothing beside the result is written."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, m, n))
    B = rng.standard_normal((3, n, columns))
    A32 = A.astype(np.float32)
    B32 = B.astype(np.float32)
    if turned_a:
        A32 = swapped(np.ascontiguousarray(swapped(A32)))
    if turned_b:
        B32 = swapped(np.ascontiguousarray(swapped(B32)))
    room = np.full((4, m + 1, columns + 1), SENTINEL, np.float32)
    multiply(A32, B32, room[:3, :m, :columns])
    bound = 4e-7 * n * (np.abs(A) @ np.abs(B))
    assert np.all(np.abs(room[:3, :m, :columns] - A @ B) <= bound)
    room[:3, :m, :columns] = SENTINEL
    assert np.all(room == SENTINEL)


# Prints the bits of products of several shapes, B in rows and in columns.
PRINT_BITS = """
import numpy as np
from bnn.training.vector_products import LANES, multiply

print(LANES)
rng = np.random.default_rng(0)
for m, n, columns in [(50, 50, 32), (1, 70, 33), (13, 3, 7), (20, 4, 1)]:
    A = rng.standard_normal((2, m, n), np.float32)
    B = rng.standard_normal((2, n, columns), np.float32)
    for operand in (B, np.ascontiguousarray(B.transpose(0, 2, 1)).transpose(0, 2, 1)):
        out = np.empty((2, m, columns), np.float32)
        multiply(A, operand, out)
        print(out.tobytes().hex())
"""
NARROW = """
from bnn.training import processor

processor.has_feature = lambda name: name != "avx512f"
"""


@pytest.mark.slow
@pytest.mark.skipif(not products.has_feature("avx512f"), reason="the processor lacks AVX-512")
def test_products_have_the_same_bits_with_both_widths_of_vectors(capsys):
    """Committed results have to come out again on processors with and without AVX-512."""
    exec(PRINT_BITS, {})
    wide, *bits = capsys.readouterr().out.splitlines()
    command = [sys.executable, "-c", NARROW + PRINT_BITS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    narrow, *others = done.stdout.splitlines()
    assert (wide, narrow) == ("16", "8")
    assert len(bits) == 8
    assert bits == others


def test_matrices_that_do_not_fit_are_refused():
    """Reading past an end would give numbers that belong to nobody."""
    A, B, out = (np.ones(shape, np.float32) for shape in [(2, 4, 3), (2, 6, 10), (2, 4, 20)])
    with pytest.raises(ValueError, match="contiguous"):
        multiply(A, B[:, :3], out[:, :, ::2])
    for wrong in (B, B[:1, :3], B[:, :3, :5], B[:, :4]):
        with pytest.raises(ValueError, match="must have shapes"):
            multiply(A, wrong, out[:, :, :10])


@pytest.mark.parametrize("choice", ["own", "torch", None])
@pytest.mark.parametrize("fma", [True, False])
def test_both_products_agree(monkeypatch, fma, choice):
    """The choice follows the processor and the environment; either gives the same product."""
    monkeypatch.setattr(products, "has_feature", lambda _: fma)
    monkeypatch.delenv("BNN_PRODUCTS", raising=False)
    if choice:
        monkeypatch.setenv("BNN_PRODUCTS", choice)
    chosen = products.products_on(torch.device("cpu"))
    assert (chosen.multiply is multiply) == (fma and choice != "torch")
    A = torch.rand(2, 4, 3)
    B = torch.rand(2, 3, 6)
    out = torch.empty(2, 4, 6)
    chosen.multiply(*map(chosen.operand, (A, B, out)))
    torch.testing.assert_close(out, A @ B)


def test_training_does_not_depend_on_the_products(monkeypatch):
    """One epoch with our products and one with PyTorch's, up to rounding."""
    architecture = MLP((2, 9, 9, 1))
    rng = np.random.default_rng(1)
    start = 0.3 * rng.standard_normal((3, architecture.n_weights)).astype(np.float32)
    X = rng.standard_normal((50, 2))
    y = rng.standard_normal((3, 50, 1))
    trained = []
    for choice in ("own", "torch"):
        monkeypatch.setenv("BNN_PRODUCTS", choice)
        run = train(architecture, start, X, y, TrainingSettings(epochs=1), seeds=np.arange(3))
        trained.append(run.weights)
    np.testing.assert_allclose(*trained, atol=2e-5)
    monkeypatch.setenv("BNN_PRODUCTS", "mkl")
    with pytest.raises(ValueError, match="BNN_PRODUCTS = 'mkl': must be one of own, torch"):
        products.products_on(torch.device("cpu"))
