"""Errors and warnings name sections of the page When something fails, and these exist."""

import copy
import re
import typing
import warnings

import pytest

import bnn
import fe_data
from docs.gallery.pages import anchor
from docs.prose import ROOT
from fe_data.cli.commands import say
from fe_data.errors import memory_errors
from safe_files.help_page import PAGE, ExplainedError, ExplainedWarning, Section, see

SECTIONS = typing.get_args(Section)
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
HEADINGS = {anchor(line[3:]): line for line in TEXT.splitlines() if line.startswith("## ")}


def explained():
    """The public errors and warnings that name a section."""
    for package in (bnn, fe_data):
        for value in (getattr(package, name) for name in package.__all__):
            if isinstance(value, type) and issubclass(value, ExplainedError | ExplainedWarning):
                yield value


def test_every_section_that_a_message_names_is_on_the_page():
    assert {*SECTIONS} <= {*HEADINGS}
    assert len([*explained()]) > 10
    assert {kind.section for kind in explained()} <= {*SECTIONS}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_named_by_a_message(section):
    sources = [path for top in ("bnn", "fe_data") for path in (ROOT / top).rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in sources)
    named = re.findall(r"(?:section = |see\()[\"'](.+?)[\"']", texts)
    assert section in named


def test_the_page_explains_every_public_warning():
    names = [name for name in bnn.__all__ if name.endswith("Warning")]
    assert len(names) > 7
    assert [name for name in names if f"`{name}`" not in TEXT] == []


def test_quoted_messages_are_those_of_the_packages():
    """Texts in code in the first column: messages with gaps, or names. Python's are left out."""
    sources = [path for top in ("bnn", "fe_data") for path in (ROOT / top).rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in sources)
    texts = re.sub(r'"\s*\n\s*f?"', "", texts)  # literals over several lines
    texts = texts.replace("{_FAR_STRAIN:g}", "1.5")
    symptoms = [line.split("|")[1] for line in TEXT.splitlines() if line.count("|") > 3]
    quoted = [words for cell in symptoms for words in re.findall(r"`([^`]+)`", cell)]
    quoted = [words for words in quoted if len(words) > 11]
    missing = {
        words for words in quoted if not all(piece.strip() in texts for piece in words.split("…"))
    }
    assert len(quoted) > 20
    assert missing == {"No module named 'dolfinx'", "No module named", "MaterialPoint.respond"}


def test_an_error_keeps_its_text_and_ends_its_traceback_with_the_section(capsys):
    error = fe_data.MeshError("gmsh could not mesh the RVE")
    assert str(error) == "gmsh could not mesh the RVE"
    assert error.__notes__ == [see("meshing")]
    again = copy.copy(error)  # as pickle does
    assert (str(again), again.__notes__) == (str(error), error.__notes__)
    say(error, 1)
    assert capsys.readouterr().err == f"fe_data: {error}; {see('meshing')}\n"


def test_a_warning_ends_with_the_section():
    with pytest.warns(bnn.BoundsWarning, match=f"too far; {see('warnings')}"):
        warnings.warn("too far", bnn.BoundsWarning, stacklevel=1)


def test_full_memory_leads_to_the_section():
    with pytest.raises(MemoryError) as caught, memory_errors():
        raise RuntimeError("CUDA out of memory")
    assert caught.value.__notes__ == [see("memory")]
