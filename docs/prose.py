"""Check the prose of pages, notebooks and docstrings: python -m docs.prose.

docs/prose.toml has the limits, the words to replace, and the exceptions.
"""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = ROOT / "docs" / "prose.toml"
# Parts of a page that are no prose: code, comments, formulas, tables, headings, figures, HTML.
NO_PROSE = re.compile(
    r"```.*?```|<!--.*?-->|\$\$.*?\$\$|(?<=\n\n)(?:    [^\n]*\n)+"
    r"|^[ \t]*(?:[|#<!][^\n]*|\[[^\]\n]*\]: [^\n]*)$",
    re.DOTALL | re.MULTILINE,
)
SENTENCE_END = re.compile(
    r"(?<=[.!?:])[*_)\"]*\s+(?=[A-Z0-9`*\[($✓α-ω])|\n\s*\n|\n\s*(?:[-*]|\d+\.) |:\n"
)

ONE_WORD = re.compile(r"`[^`]+`|\$[^$]+\$")  # code and formulas


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, each on one line."""
    for part in SENTENCE_END.split(text):
        words = " ".join(part.split())
        if words:
            yield words


def page_prose(path: Path) -> str:
    """Return a Markdown page without what is no prose."""
    return NO_PROSE.sub("", path.read_text(encoding="utf-8"))


def table_cells(path: Path) -> Iterator[str]:
    """Yield the cells of the tables of a Markdown page."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for row in re.findall(r"(?m)^\|(.*)\|[ \t]*$", text):
        yield from re.split(r"(?<!\\)\|", row)


def cells(path: Path) -> Iterator[str]:
    """Yield the text cells of a notebook."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])


def cell_prose(text: str) -> str:
    """Return a text cell without what is no prose, quotations and indented formulas."""
    return NO_PROSE.sub("", re.sub(r"(?m)^(?:>|    ).*$", "", text))


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of public names in a module, without their sections and examples."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, kinds) and not getattr(node, "name", "").startswith("_"):
            # Formulas and listings are indented.
            text = re.sub(r"(?m)^    .*$", "", ast.get_docstring(node) or "")
            yield re.split(r"\n(?:Args|Attributes|Returns|Raises|Warns|Source|Examples):\n", text)[
                0
            ]


def faults(name: str, text: str, rules: dict[str, object]) -> Iterator[str]:
    """Yield what is wrong with a text of a file: long sentences, and words to replace."""
    longest = rules["longest_sentence"]
    words = rules["words"]
    allowed = rules["allowed"]
    assert isinstance(longest, int)
    assert isinstance(words, dict)
    assert isinstance(allowed, dict)
    exceptions = allowed.get(name, [])
    for sentence in sentences(text):
        if any(sentence.startswith(each) for each in exceptions):
            continue
        count = len(
            [word for word in ONE_WORD.sub("x", sentence).split() if re.search(r"\w", word)]
        )
        if count > longest:
            yield f"{name}: a sentence of {count} words, at most {longest}: {sentence[:70]} ..."
        for pattern, better in words.items():
            if found := re.search(rf"\b(?:{pattern})\b", sentence):
                yield f"{name}: {found[0]!r}: write {better}: {sentence[:70]} ..."


def check(root: Path = ROOT, rules_file: Path = RULES) -> list[str]:
    """Return what is wrong in the pages, notebooks and docstrings of a checkout."""
    rules = tomllib.loads(rules_file.read_text(encoding="utf-8"))
    found = []
    for page in sorted(path for pattern in rules["pages"] for path in root.glob(pattern)):
        name = page.relative_to(root).as_posix()
        text = "\n\n".join([page_prose(page), *table_cells(page)])
        found += faults(name, text, rules)
        count = len(page.read_text(encoding="utf-8").split())
        most = rules["longer_pages"].get(name, rules["longest_page"])
        if count > most:
            found.append(f"{name}: {count} words, at most {most}")
    for notebook in sorted(path for pattern in rules["notebooks"] for path in root.glob(pattern)):
        name = notebook.relative_to(root).as_posix()
        for text in cells(notebook):
            found += faults(name, cell_prose(text), rules)
            count = len(text.split())
            if count > rules["longest_cell"]:
                most = f"at most {rules['longest_cell']}"
                found.append(f"{name}: a text cell of {count} words, {most}: {text[:70]!r} ...")
    for module in sorted(path for pattern in rules["modules"] for path in root.glob(pattern)):
        name = module.relative_to(root).as_posix()
        for text in docstrings(module):
            found += faults(name, text, rules)
    return found


if __name__ == "__main__":
    problems = check()
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
