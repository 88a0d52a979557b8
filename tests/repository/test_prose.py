"""The check of the prose: what it finds, and what it leaves alone."""

import json

from docs import prose

RULES = """
longest_sentence = 6
longest_page = 40
longest_cell = 9
pages = ["*.md"]
notebooks = ["*.ipynb"]
modules = ["*.py"]
[longer_pages]
"long.md" = 60
[code]
vague_names = ["found", "part"]
modules = ["code/*.py"]
unread = ["code/old.py"]
[code.allowed]
"code/setting.py" = ["part"]
[words]
"truth tables?" = "reference data"
[allowed]
"long.md" = ["This one may"]
"""


DOCSTRING = """A truth table.

    Read:

        a formula of eight words that stays, indented
    """
CELLS = [
    "Eight words are allowed. This cell has eight.",
    "One two three. One two three four. A truth table.",
    "> One two three four five six seven eight",
    "Ten words of two sentences. They are too many here.",
]


def test_long_sentences_cells_pages_and_words_are_found(tmp_path):
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    page = "# A truth table in a heading is not read\n\nOne two three four five six seven.\n"
    code = "```\na truth table of one two three four five six seven eight\n```\n"
    code += "\n    one two three four five six seven eight\n\n"
    table = "| One two three four five six seven. | = 1 ± 2 ± 3 ± 4 |\n"
    pages = {
        "page.md": page + "- Two truth tables.\n" + "Word.\n\n" * 40,
        "long.md": "This one may have more words than six.\n" + "Word.\n\n" * 40,
        "code.md": code,
        "table.md": table,
        "module.py": f'def f():\n    """{DOCSTRING}"""\n',
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    cells = [{"cell_type": "markdown", "source": text.splitlines(True)} for text in CELLS]
    cells.append({"cell_type": "code", "source": "# " + "word " * 20})
    (tmp_path / "cells.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    faults = prose.check(tmp_path, tmp_path / "rules.toml")
    files = ["page.md"] * 3 + ["table.md"] + ["cells.ipynb"] * 3 + ["module.py"]
    assert [message.split(":")[0] for message in faults] == files
    parts = "of 7 words|reference| words, at|of 7 words|reference|of 10 words|of 10 words|reference"
    for fault, expected_words in zip(faults, parts.split("|"), strict=True):
        assert expected_words in fault


VAGUE = """import found

class _Part:
    def __init__(self, part):
        self.found = part
        self.length = len(found.name(part=2))

def parts(rows):
    for found in rows:
        yield [part for part in found]
"""


def test_names_that_say_nothing_are_found_where_they_are_defined_except_in_unread_files(tmp_path):
    """Uses of a name, keywords of calls and longer names may stay."""
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    (tmp_path / "code").mkdir()
    for name in ("new", "old"):
        (tmp_path / "code" / f"{name}.py").write_text(VAGUE, encoding="utf-8")
    (tmp_path / "code" / "setting.py").write_text("part = 1\nfound = 2\n", encoding="utf-8")
    places = [fault.split(": ")[:2] for fault in prose.check(tmp_path, tmp_path / "rules.toml")]
    wanted = {
        ("code/new.py:3", "_Part"),
        ("code/new.py:4", "part"),
        ("code/new.py:5", "found"),
        ("code/new.py:9", "found"),
        ("code/new.py:10", "part"),
        ("code/setting.py:2", "found"),
    }
    assert {(place, fault.split("'")[1]) for place, fault in places} == wanted
