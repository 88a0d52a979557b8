"""What the guide says of tables with more than 10,000 rows."""

import re
from pathlib import Path

import numpy as np
import pytest

from studies.large_tables import __main__ as large_tables

GUIDE = Path(__file__).parents[2] / "docs" / "bnn.md"
ROWS = {
    large_tables.boosting: "Gradient boosting",
    large_tables.inducing_points: "Inducing points",
    large_tables.some_rows: "`GPRegressor`",
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ROWS)
def test_errors_and_coverage_are_those_of_the_guide(method):
    if method is large_tables.inducing_points:
        pytest.importorskip("gpytorch", reason="needs the extra botorch")
    error, inside, width = large_tables.scores(method)[:3]
    text = GUIDE.read_text(encoding="utf-8")
    row = re.search(rf"\| {ROWS[method]}[^|]*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text)
    np.testing.assert_allclose([error, inside, width], [float(n) for n in row.groups()], atol=0.02)
    assert 0.87 < inside < 0.93
