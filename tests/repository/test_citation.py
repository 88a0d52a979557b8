"""CITATION.cff, codemeta.json and the article name the project as the package does."""

import json
import tomllib

import pytest
import yaml

import bnn
import fe_data
from figures.pipeline.paths import ROOT
from tests.repository.validators import validate

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
AUTHORS = [author["name"] for author in PROJECT["authors"]]


def test_version_title_licence_and_authors_are_those_of_the_package():
    assert bnn.__version__ == fe_data.__version__ == PROJECT["version"]
    for name in ("name", "description", "version", "readme"):
        assert CODEMETA[name] == PROJECT[name]
    assert CODEMETA["softwareRequirements"] == PROJECT["dependencies"]
    assert CITATION["title"].startswith(f"{PROJECT['name']}: ")
    assert CITATION["version"] == PROJECT["version"]
    for listed in (CODEMETA["author"], CITATION["authors"]):
        assert [author["name"] for author in listed] == AUTHORS
    (file,) = PROJECT["license-files"]
    text = (ROOT / file).read_text(encoding="utf-8")
    assert PROJECT["license"] == CITATION["license"]
    assert text.startswith(f"{CITATION['license']} License")
    assert CODEMETA["license"] == f"https://spdx.org/licenses/{CITATION['license']}"


def test_all_name_the_same_paper():
    paper = CITATION["references"][0]
    names = [author["family-names"] for author in paper["authors"]]
    reference = CODEMETA["referencePublication"]
    assert paper["title"] == reference["name"]
    assert names == [author["familyName"] for author in reference["author"]]
    article = yaml.safe_load((ROOT / "article" / "metadata.yaml").read_text(encoding="utf-8"))
    assert [author["name"] for author in article["authors"]] == AUTHORS
    assert article["title"] == f"[Re] {paper['title']}"
    cited, key, *_ = article["replication"]
    assert all(name in cited["cite"] for name in [*names, paper["title"]])
    bibliography = ROOT / "article" / article["bibliography"]
    assert f"{{{key['bib']}," in bibliography.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_citation_is_of_its_format(tmp_path):
    validate("cffconvert", "--validate", "-i", ROOT / "CITATION.cff")
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    broken = tmp_path / "CITATION.cff"
    broken.write_text(text.replace("title:", "titel:"), encoding="utf-8")
    with pytest.raises(AssertionError, match="titel"):
        validate("cffconvert", "--validate", "-i", broken)
