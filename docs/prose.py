"""Check the prose of pages, notebooks and docstrings, and names in code: python -m docs.prose.

docs/prose.toml has the limits, the words to replace, vague names, and the exceptions.
"""

import argparse
import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
    for sentence in SENTENCE_END.split(text):
        words = " ".join(sentence.split())
        if words:
            yield words


def table_cells(text: str) -> Iterator[str]:
    """Yield the cells of the tables of a Markdown page."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for row in re.findall(r"(?m)^\|(.*)\|[ \t]*$", text):
        yield from re.split(r"(?<!\\)\|", row)


def cells(path: Path) -> Iterator[str]:
    """Yield the text cells of a notebook."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])


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
        if sentence.startswith(tuple(exceptions)):
            continue
        count = len(
            [word for word in ONE_WORD.sub("x", sentence).split() if re.search(r"\w", word)]
        )
        if count > longest:
            yield f"{name}: a sentence of {count} words, at most {longest}: {sentence[:70]} ..."
        for pattern, better in words.items():
            if word := re.search(rf"\b(?:{pattern})\b", sentence):
                yield f"{name}: {word[0]!r}: write {better}: {sentence[:70]} ..."


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of what a module defines: variables, attributes, arguments, the rest."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def files(root: Path, patterns: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield name and path of the files that match a pattern."""
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        yield path.relative_to(root).as_posix(), path


def page_faults(root: Path, rules: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong in the pages."""
    for name, page in files(root, rules["pages"]):
        text = page.read_text(encoding="utf-8")
        yield from faults(name, "\n\n".join([NO_PROSE.sub("", text), *table_cells(text)]), rules)
        count = len(text.split())
        most = rules["longer_pages"].get(name, rules["longest_page"])
        if count > most:
            yield f"{name}: {count} words, at most {most}"


def notebook_faults(root: Path, rules: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong in the text cells of the notebooks."""
    for name, notebook in files(root, rules["notebooks"]):
        for text in cells(notebook):
            prose = re.sub(r"(?m)^(?:>|    ).*$", "", text)  # without quotations and formulas
            yield from faults(name, NO_PROSE.sub("", prose), rules)
            count = len(text.split())
            if count > rules["longest_cell"]:
                most = f"at most {rules['longest_cell']}"
                yield f"{name}: a text cell of {count} words, {most}: {text[:70]!r} ..."


def docstring_faults(root: Path, rules: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong in the docstrings."""
    for name, module in files(root, rules["modules"]):
        for text in docstrings(module):
            yield from faults(name, text, rules)


def name_faults(root: Path, rules: dict[str, Any]) -> Iterator[str]:
    """Yield the names in code that do not say what they hold."""
    code = rules["code"]
    unread = {name for name, _ in files(root, code["unread"])}
    for module, path in files(root, code["modules"]):
        vague = {*code["vague_names"]} - {*code["allowed"].get(module, [])}
        for line, name in [] if module in unread else names(path):
            if name.strip("_").lower() in vague:
                yield f"{module}:{line}: {name!r} does not say what it is: name the thing"


def check(root: Path = ROOT, rules_file: Path = RULES) -> list[str]:
    """Return what is wrong in the pages, notebooks, docstrings and names of a checkout."""
    rules = tomllib.loads(rules_file.read_text(encoding="utf-8"))
    checks = page_faults, notebook_faults, docstring_faults, name_faults
    return [fault for faults_of in checks for fault in faults_of(root, rules)]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    problems = check()
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
