"""What names the project to others says the same everywhere: CITATION.cff and codemeta.json."""

import json
import tomllib

import pytest
import yaml

import bnn
import fe_data
from figures.pipeline.paths import ROOT
from tests.repository.validators import validate

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
CODEMETA = json.loads((ROOT / "codemeta.json").read_text())
AUTHORS = [each["name"] for each in PROJECT["authors"]]


def test_the_packages_have_the_version_of_the_project():
    assert bnn.__version__ == fe_data.__version__ == PROJECT["version"]


def test_codemeta_says_what_the_package_says():
    for name in ("name", "description", "version"):
        assert CODEMETA[name] == PROJECT[name]
    assert CODEMETA["readme"] == PROJECT["readme"]
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"
    assert CODEMETA["softwareRequirements"] == PROJECT["dependencies"]
    assert [each["name"] for each in CODEMETA["author"]] == AUTHORS


def test_the_citation_says_what_the_package_says():
    assert CITATION["title"].startswith(f"{PROJECT['name']}: ")
    assert CITATION["version"] == PROJECT["version"]
    assert [each["name"] for each in CITATION["authors"]] == AUTHORS


def test_the_licence_is_one():
    text = (ROOT / PROJECT["license"]["file"]).read_text()
    assert text.startswith(f"{CITATION['license']} License")
    assert CODEMETA["license"] == f"https://spdx.org/licenses/{CITATION['license']}"


def test_both_name_the_same_paper():
    paper = CITATION["preferred-citation"]
    article = CODEMETA["referencePublication"]
    assert CITATION["references"] == [paper]
    assert paper["title"] == article["name"]
    assert [(each["given-names"], each["family-names"]) for each in paper["authors"]] == [
        (each["givenName"], each["familyName"]) for each in article["author"]
    ]


def test_the_article_names_the_same_people_and_paper():
    """And nothing is missing of what ReScience C asks for; what is not known yet is empty."""
    article = yaml.safe_load((ROOT / "article" / "metadata.yaml").read_text())
    paper = CITATION["preferred-citation"]
    assert [each["name"] for each in article["authors"]] == AUTHORS
    assert article["title"] == f"[Re] {paper['title']}"
    cited, key, *_ = article["replication"]
    assert all(each["family-names"] in cited["cite"] for each in paper["authors"])
    assert paper["title"] in cited["cite"]
    assert f"{{{key['bib']}," in (ROOT / "article" / article["bibliography"]).read_text()
    fields = (
        "abstract affiliations article authors bibliography code contributors data dates domain"
    )
    fields += " journal keywords language replication review title type"
    assert sorted(article) == fields.split()


@pytest.mark.slow
def test_the_citation_is_of_its_format(tmp_path):
    validate("cffconvert", "--validate", "-i", ROOT / "CITATION.cff")
    broken = tmp_path / "CITATION.cff"
    broken.write_text((ROOT / "CITATION.cff").read_text().replace("title:", "titel:"))
    with pytest.raises(AssertionError, match="titel"):
        validate("cffconvert", "--validate", "-i", broken)
