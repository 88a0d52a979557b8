"""The article compiles without a warning and has four to six pages."""

from importlib.util import find_spec

import pytest

from figures.report import article


@pytest.mark.skipif(find_spec("typst") is None, reason="typst is not installed")
def test_it_has_four_to_six_pages_and_no_warning():
    assert 4 <= len(article.compiled(format="png", ppi=10)) <= 6
