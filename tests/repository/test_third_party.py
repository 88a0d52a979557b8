"""What the note on licences says of the installed packages."""

import re
from importlib.metadata import metadata

import pytest

from figures.pipeline.paths import ROOT
from tests.repository.test_citation import PROJECT

PAGE = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")


def licence(package):
    """All that a wheel states, in one text."""
    fields = metadata(package)
    stated = [fields.get("License-Expression", ""), fields.get("License", "")]
    return "; ".join([*stated, *fields.get_all("Classifier", [])])


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_nothing_that_bnn_needs_is_under_the_gpl(requirement):
    name = re.match(r"[\w-]+", requirement)[0]
    stated = licence(name).partition("\n")[0]
    assert not re.search(r"\bA?GPL|GNU General", stated)
    assert ("MPL" in stated) == (f"| {name} |" in PAGE)


def test_gmsh_comes_with_the_extra_fe_alone():
    extras = PROJECT["optional-dependencies"]
    having = [extra for extra, needed in extras.items() if "gmsh" in " ".join(needed)]
    assert having == ["fe"]
    assert re.search(r"^\| gmsh [\d.]+ \| GPL-2.0-or-later", PAGE, re.MULTILINE)
