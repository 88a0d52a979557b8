"""What the guide says of GPRegressor for tables with more than 10,000 rows."""

import re
from pathlib import Path

import numpy as np
import pytest

from studies.large_tables.__main__ import scores, some_rows

GUIDE = Path(__file__).parents[2] / "docs" / "bnn.md"


@pytest.mark.slow
def test_error_and_coverage_of_some_rows_are_those_of_the_guide():
    """The rows of the other two in the table say what scikit-learn and GPyTorch reach."""
    error, inside, width = scores(some_rows)[:3]
    text = GUIDE.read_text(encoding="utf-8")
    row = re.search(r"\| `GPRegressor`[^|]*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text)
    np.testing.assert_allclose(
        [error, inside, width], [float(number) for number in row.groups()], atol=0.02
    )
    assert 0.87 < inside < 0.93
