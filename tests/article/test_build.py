"""The article compiles without a warning, and says which fields are empty."""

from importlib.util import find_spec

import pytest

from article import build as article


@pytest.mark.slow
@pytest.mark.skipif(find_spec("typst") is None, reason="typst is not installed")
def test_it_has_at_most_nine_pages_and_no_warning():
    assert 4 <= len(article.compiled(format="png", ppi=10)) <= 9


def test_fields_that_a_person_fills_are_named_until_they_are_filled():
    author = {"name": article.UNNAMED, "email": None}
    empty = {"authors": [author], "affiliations": [], "code": [{"url": None}], "data": []}
    every = article.missing(empty)
    assert "authors: name of author 1" in every
    assert {"affiliations", "code: url", "code: doi", "data: url", "data: doi"} < set(every)
    address = [{"url": "https://example.org"}, {"doi": "10.5281/zenodo.1"}]
    filled = {"authors": [{"name": "A. Author", "email": "a@example.org"}], "code": address}
    assert article.missing(filled | {"affiliations": [{"code": 1}], "data": address}) == []
