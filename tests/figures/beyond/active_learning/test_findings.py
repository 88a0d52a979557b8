"""Claims and tables of notebook 07 follow its numbers."""

import pytest

from figures.beyond.active_learning.findings import claims, equivalents
from figures.beyond.active_learning.study import BETA, BOX, DRAWN, HYPERCUBE, WORST, Errors
from figures.scores import Interval


def errors(value, scatter=1e-4):
    values = tuple(value + scatter * i for i in (-1, 0, 1))
    return Errors(*(Interval(tuple(scale * v for v in values)) for scale in (1, 2, 0.5, 0.8)))


@pytest.fixture
def rows():
    """The error is 1 / cells of a hypercube; a chosen cell is worth two."""
    counts = range(10, 36, 5)
    return {
        HYPERCUBE: {n: errors(1 / n) for n in DRAWN},
        BOX: {n: errors(0.5 / n) for n in counts},
        WORST: {n: errors(0.3 / n) for n in counts},
        BETA + BOX: {0: errors(0.2), 5: errors(0.05)},
        BETA + WORST: {0: errors(0.2), 5: errors(0.05)},
        BETA + HYPERCUBE: {5: errors(0.1), 20: errors(0.06)},
    }


def test_claims_turn_with_the_numbers(rows):
    assert [each.holds for each in claims(rows, rows)] == [True] * 5
    rows[BOX][35] = errors(0.03)
    rows[WORST][35] = errors(0.01, scatter=0.01)
    rows[BETA + BOX][5] = errors(0.07)
    assert [each.holds for each in claims(rows, rows)] == [False, None, False, False, None]


def test_it_is_known_how_many_cells_of_a_hypercube_have_the_same_error(rows):
    assert equivalents(rows)[BOX] == {"rmse": "70", "worst": "70"}
    assert equivalents(rows)[WORST] == {"rmse": "more than 100", "worst": "more than 100"}
    rows[BOX][35] = errors(0.05)
    assert equivalents(rows)[BOX]["rmse"] == "fewer than 25"
