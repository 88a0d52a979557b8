"""The article compiles without a warning, has four to six pages, and no number in it is typed."""

import re
from importlib.util import find_spec

import pytest
import yaml

from figures.pipeline.paths import ROOT
from figures.report import article

needs_typst = pytest.mark.skipif(find_spec("typst") is None, reason="typst is not installed")
SOURCES = {path.name: path.read_text() for path in (ROOT / "article").glob("*.typ")}
METADATA = yaml.safe_load((ROOT / "article" / "metadata.yaml").read_text())
LAYOUT = r"\d*\.?\d+(?:pt|em|cm|fr)\b|numbering: \"[\d.]+\""  # sizes, and the form of numbers


@needs_typst
def test_it_has_four_to_six_pages_and_no_warning():
    assert 4 <= len(article.compiled(format="png", ppi=10)) <= 6


@needs_typst
def test_it_is_not_built_from_metrics_that_its_sentences_contradict(monkeypatch):
    given = article.content()
    given["items"]["full"]["Fig. 5"]["verdict"] = "differs"
    monkeypatch.setattr(article, "content", lambda: given)
    with pytest.raises(SystemExit, match="the metrics do not bear this sentence out"):
        article.compiled()


def test_without_typst_it_is_skipped_with_one_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(article, "find_spec", lambda _: None)
    monkeypatch.setattr(article, "TARGET", tmp_path / "article.pdf")
    article.main()
    printed = capsys.readouterr().out
    assert printed == "the article is skipped: typst is not installed (pip install typst)\n"
    assert not article.TARGET.exists()


@pytest.mark.parametrize("text", [*SOURCES.values(), METADATA["title"], METADATA["abstract"]])
def test_no_decimal_number_is_typed(text):
    assert not re.findall(r"\d+\.\d+", re.sub(LAYOUT, "", text))
