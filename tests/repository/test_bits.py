"""A small run gives the same bits however it is executed.

make test NAME=bits tries more cases.
"""

import shutil

import pytest

from figures.pipeline.arithmetic import can_pin
from tests.repository.environments.bits import EMULATOR, MISSING, OTHERS, Case, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_pin(), reason="not Linux on a processor with AVX2 and FMA"),
]
PARTS = ["functions", "algebra", "realisations", "ensemble"]


@pytest.fixture(scope="module")
def expected():
    return run(Case("as make runs it"), PARTS)


def test_pins_win_over_other_threads_and_kernels(expected):
    case = Case("all at once", options=("--workers", "2"), variables=OTHERS)
    assert run(case, PARTS) == expected


def test_other_kernels_change_the_bits(expected):
    pins = {name: OTHERS[name] for name in ("OPENBLAS_CORETYPE", "MKL_CBWR")}
    hashes = run(Case("without pins", variables=pins), ["algebra", "realisations"], dict)
    assert {task for task in hashes if hashes[task] != expected[task]} == {
        "algebra",
        "realisations",
    }


@pytest.mark.skipif(not shutil.which(EMULATOR), reason=MISSING)
def test_an_emulated_processor_gives_the_same_bits(expected):
    parts = ["functions", "algebra", "realisations"]
    hashes = run(Case("emulated", emulated="Haswell"), parts)
    assert hashes == {task: expected[task] for task in parts}
