"""Files of text are UTF-8, whatever the encoding of the locale is.

Ruff asks for an encoding where it can tell that a call is one of a path; here every call counts.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "bnn",
    "fe_data",
    "prior_study",
    "figures",
    "bench",
    "examples",
    "docs",
    "tests/repository/lanes",
)
ENCODING_AT = {"read_text": 0, "write_text": 1}  # its place among the arguments


def open_mode(call: ast.Call) -> str:
    """The mode of a call of open, path.open or os.fdopen; "r" where none is given."""
    place = 0 if ast.unparse(call.func).endswith(".open") else 1
    given = [word.value for word in call.keywords if word.arg == "mode"]
    given += call.args[place : place + 1]
    return ast.literal_eval(given[0]) if given else "r"


def takes_the_encoding_of_the_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text and names no encoding."""
    called = ast.unparse(call.func)
    name = called.rpartition(".")[2]
    if called == "os.open" or any(word.arg == "encoding" for word in call.keywords):
        return False
    if name in ENCODING_AT:
        return len(call.args) <= ENCODING_AT[name]
    return name in ("open", "fdopen") and "b" not in open_mode(call)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("path.read_text()", True),
        ("path.read_text('ascii')", False),
        ("path.write_text(text)", True),
        ("path.write_text(text, encoding='utf-8')", False),
        ("path.open('a')", True),
        ("open(0)", True),
        ("open(name, mode='rb')", False),
        ("os.fdopen(1, 'w')", True),
        ("os.fdopen(1, 'rb')", False),
    ],
)
def test_calls_are_told_apart(code, found):
    assert takes_the_encoding_of_the_locale(ast.parse(code, mode="eval").body) == found


def calls(folder: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call in the source files of a folder, with its place."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_of_text_is_utf_8(folder):
    found = [place for place, call in calls(folder) if takes_the_encoding_of_the_locale(call)]
    assert found == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_printed_is_in_latin_1(folder):
    """A terminal that lacks a letter would end the command."""
    printed = [(place, c) for place, c in calls(folder) if ast.unparse(c.func) == "print"]
    assert [place for place, call in printed if max(ast.unparse(call)) > "\xff"] == []
