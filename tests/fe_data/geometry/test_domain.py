"""Functions, measure and matrices on a mesh, as forms in UFL use them."""

import dolfinx.fem
import dolfinx.jit
import pytest
import ufl
from cffi import FFI
from dolfinx.mesh import create_rectangle
from mpi4py import MPI

from fe_data.geometry import domain


@pytest.fixture(scope="module")
def mesh():
    return create_rectangle(MPI.COMM_SELF, [[0.0, 0.0], [2.0, 1.0]], [4, 3])


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache of compiled forms, whatever the user's own one holds."""
    (defaults,) = (v for name, v in vars(dolfinx.jit).items() if name.startswith("DOLFINX_DEFAULT"))
    monkeypatch.setitem(defaults, "cache_dir", (tmp_path, ""))
    return tmp_path


def test_forms_compile_in_an_empty_cache_also_after_an_interruption(mesh, cache, monkeypatch):
    """Without a warning, which would be an error here."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    v = ufl.TestFunction(domain.space(mesh, "Lagrange", 1))
    form = v * domain.measure(mesh)
    compiled_before = set(cache.glob("*.c"))
    with monkeypatch.context() as patch:
        patch.setattr(FFI, "compile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            domain.compiled_form(form)
    assert set(cache.glob("*.c")) == compiled_before  # dolfinx would wait for another, then fail
    vector = dolfinx.fem.assemble_vector(domain.compiled_form(form))
    assert sum(vector.array) == pytest.approx(2.0)  # the area
    assert set(cache.glob("*.c")) > compiled_before
