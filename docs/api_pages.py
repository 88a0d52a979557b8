"""Pages of the reference: one per name in docs/api.rst, with links to what uses the name."""

import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from docs.gallery.pages import anchor, ordered

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "api"  # ignored by git
NAME = re.compile(r"(?m)^   ((?:bnn|fe_data)\.\S+)$")
HEADING = re.compile(r"(?m)^#{1,3} (.+)$")  # of a level that MyST gives an address
CODE = re.compile(r"(?m)^```.*?^```", re.DOTALL)  # in which a comment is no heading
IMPORT = re.compile(r"from (bnn|fe_data)[\w.]* import (\([^)]*\)|[^\n]*)")
# Pages that list everything, or that tell history.
LEFT_OUT = {"CHANGELOG.md", "CONTRIBUTING.md", "THIRD_PARTY.md"}


def listed() -> list[str]:
    """Return the names that docs/api.rst lists, such as bnn.metrics.rmse."""
    return NAME.findall((ROOT / "docs" / "api.rst").read_text(encoding="utf-8"))


def uses(name: str, text: str) -> re.Match[str] | None:
    """Find the first use of a public name in a script, a page or a notebook."""
    package, _, short = name.partition(".")
    for imported in IMPORT.finditer(text):
        if imported[1] == package and re.search(rf"\b{short}\b", imported[2]):
            return imported
    dotted = re.escape(short)
    call = rf"\b{dotted}\b" if "." in short else rf"\b{package}\.{dotted}\b|`{dotted}[`(.]"
    return re.search(call, text)


def sources(notebooks: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, title, address from the root of the site, and text of what may use a name."""
    for example, words in ordered().items():
        text = (ROOT / "examples" / f"{example}.py").read_text(encoding="utf-8")
        yield "Examples", words, f"examples/README.html#{anchor(words)}", text
    for pattern in ("*.md", "bnn/README.md", "fe_data/README.md", "docs/*.md"):
        for path in sorted(ROOT.glob(pattern)):
            if path.name not in LEFT_OUT:
                text = path.read_text(encoding="utf-8")
                address = path.relative_to(ROOT).with_suffix(".html").as_posix()
                yield "Pages", HEADING.findall(text)[0], address, text
    for name in notebooks:
        cells = json.loads((ROOT / name).read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        yield "Notebooks", HEADING.findall(text)[0], name.replace(".ipynb", ".html"), text


def links(name: str, pages: list[tuple[str, str, str, str]]) -> str:
    """Return the section with links to examples, pages and notebooks that use a name."""
    kinds: dict[str, list[str]] = {}
    for kind, title, address, text in pages:
        use = uses(name, text)
        if use is None:
            continue
        prose = CODE.sub(lambda block: " " * len(block[0]), text)
        headings = HEADING.findall(prose, 0, use.start()) if kind == "Pages" else []
        section = f"#{anchor(headings[-1])}" if len(headings) > 1 else ""
        words = re.sub(r"[`*]", "", title)
        kinds.setdefault(kind, []).append(f"`{words} <../../{address}{section}>`__")
    if not kinds:
        return ""
    lines = [f"- **{kind}:** {', '.join(uses_of_kind)}" for kind, uses_of_kind in kinds.items()]
    return "\n".join(["", "Where it is used", "-" * 16, "", *lines, ""])


def write(notebooks: list[str]) -> None:
    """Write the pages; notebooks are given as paths from the root."""
    FOLDER.mkdir(exist_ok=True)
    pages = list(sources(notebooks))
    for name in listed():
        value = pkgutil.resolve_name(name)
        kind = "function"
        if inspect.isclass(value):
            kind = "exception" if issubclass(value, BaseException) else "class"
        heading = f"{name}\n{'=' * len(name)}\n\n.. auto{kind}:: {name}\n"
        page = FOLDER / f"{name}.rst"
        text = heading + links(name, pages)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
