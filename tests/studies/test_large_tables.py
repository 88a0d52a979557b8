"""What the guide and the study say of tables with more than 10,000 rows."""

from pathlib import Path

import numpy as np
import pytest

from studies.large_tables import __main__ as large_tables

GUIDE = Path(__file__).parents[2] / "docs" / "bnn.md"
SCORES = {  # RMSE, coverage and width of 90 % intervals
    large_tables.boosting: (1.11, 0.91, 3.69),
    large_tables.inducing_points: (1.03, 0.92, 3.60),
    large_tables.some_rows: (1.05, 0.91, 3.58),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", SCORES)
def test_errors_and_coverage_are_those_of_the_guide(method):
    if method is large_tables.inducing_points:
        pytest.importorskip("gpytorch", reason="needs the extra botorch")
    error, inside, width = large_tables.scores(method)[:3]
    np.testing.assert_allclose([error, inside, width], SCORES[method], atol=0.02)
    assert 0.87 < inside < 0.93


def test_the_guide_quotes_the_errors():
    text = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert f"is {SCORES[large_tables.inducing_points][0]:.2f} with inducing points" in text
    assert f"{SCORES[large_tables.some_rows][0]:.2f} with 500 of the rows" in text
