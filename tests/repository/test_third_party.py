"""What the note on licences says of the installed packages."""

import re
from importlib.metadata import metadata

import pytest

from figures.pipeline.paths import ROOT
from tests.repository.test_citation import PROJECT

PAGE = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_nothing_that_bnn_needs_is_under_the_gpl(requirement):
    name = re.match(r"[\w-]+", requirement)[0]
    fields = metadata(name)
    texts = [fields.get("License-Expression", ""), fields.get("License", "")]
    stated = "; ".join([*texts, *fields.get_all("Classifier", [])]).partition("\n")[0]
    assert not re.search(r"\bA?GPL|GNU General", stated)
    assert ("MPL" in stated) == (f"| {name} |" in PAGE)
