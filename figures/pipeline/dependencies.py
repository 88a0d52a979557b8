"""Which source files a program depends on, read from its import statements.

Only the packages of this repository count, and imports inside functions count too, so that
editing a module reruns exactly what can be affected by it.
"""

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bnn", "fe_data", "figures", "prior_study")


def module_file(name: str) -> Path | None:
    """Source file of a module of this repository, None when there is none by that name."""
    if name.split(".")[0] not in PACKAGES:
        return None
    base = ROOT.joinpath(*name.split("."))
    candidates = (base / "__init__.py", base.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None)


def imported_names(source: str, package: str = "") -> Iterator[str]:
    """Names that may be modules in the import statements of a source text.

    Args:
        source: Python text.
        package: dotted name of the package it belongs to, for relative imports.

    Yields:
        Dotted names; `from a import b` gives a and a.b, since b may be either.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parts if node.level else []), *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def sources(modules: Iterable[str]) -> list[Path]:
    """Source files that the modules consist of, directly and indirectly, sorted."""
    found: set[Path] = set()
    queue = list(modules)
    while queue:
        name = queue.pop()
        path = module_file(name)
        if "." in name:
            queue.append(name.rpartition(".")[0])  # importing a.b runs a/__init__.py
        if path is None or path in found:
            continue
        found.add(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        queue.extend(imported_names(path.read_text(), package))
    return sorted(found)


def notebook_sources(path: Path) -> list[Path]:
    """Source files behind the import statements of a notebook's code cells, sorted."""
    cells = json.loads(path.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return sources(name for text in code for name in imported_names(text))


def data_files(code: Iterable[Path], folder: Path) -> list[Path]:
    """Files of a folder that the source files name, sorted."""
    texts = [path.read_text() for path in code]
    return [
        path for path in sorted(folder.glob("*.csv")) if any(path.name in text for text in texts)
    ]
