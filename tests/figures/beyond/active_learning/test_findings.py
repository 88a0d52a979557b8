"""Claims and tables of notebook 07 follow its numbers."""

import matplotlib.pyplot as plt
import pytest

from figures.beyond.active_learning import panels
from figures.beyond.active_learning.findings import claims, equivalents, tables
from figures.beyond.active_learning.study import BETA, BOX, DRAWN, HYPERCUBE, LABELS, WORST, Errors
from figures.scores import Interval
from figures.style import save
from tests.figures.report.committed import committed_run


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


def test_the_committed_metrics_have_the_names_that_a_run_writes(rows):
    committed = committed_run("full")["07_active_learning"]
    assert set(committed["rows"]) == set(committed["known"]) == set(rows) == set(LABELS)
    assert set(committed["cells"]) == set(equivalents(rows))


def test_claims_turn_with_the_numbers(rows):
    assert [each.holds for each in claims(rows, rows)] == [True] * 5
    rows[BOX][35] = errors(0.03)
    rows[WORST][35] = errors(0.01, scatter=0.01)
    rows[BETA + BOX][5] = errors(0.07)
    assert [each.holds for each in claims(rows, rows)] == [False, None, False, False, None]


def test_it_is_known_how_many_cells_of_a_hypercube_have_the_same_error(rows):
    assert equivalents(rows)[BOX] == {"rmse": "70", "worst": "70"}
    assert equivalents(rows)[WORST] == {"rmse": "more than 100", "worst": "more than 100"}
    assert len(tables(rows)[0].rows) == 4 + 6 + 6 + 2 + 2 + 2
    rows[BOX][35] = errors(0.05)
    assert equivalents(rows)[BOX]["rmse"] == "fewer than 25"


def test_the_picture_shows_errors_over_cells(rows, tmp_path):
    figure = panels.errors(rows)
    assert [len(axes.containers) for axes in figure.axes] == [3, 3]
    save(figure, tmp_path / "errors.svg")
    plt.close("all")
