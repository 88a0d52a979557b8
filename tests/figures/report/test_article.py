"""The article compiles without a warning and has four to six pages."""

from importlib.util import find_spec

import pytest

from figures.report import article


@pytest.mark.skipif(find_spec("typst") is None, reason="typst is not installed")
def test_it_has_four_to_six_pages_and_no_warning():
    assert 4 <= len(article.compiled(format="png", ppi=10)) <= 6


def test_without_typst_it_is_skipped_with_one_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(article, "find_spec", lambda _: None)
    monkeypatch.setattr(article, "TARGET", tmp_path / "article.pdf")
    article.main()
    assert "pip install typst" in capsys.readouterr().out
    assert not article.TARGET.exists()
