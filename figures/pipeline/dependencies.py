"""Source files of this repository that a program imports, also indirectly or inside functions."""

import ast
import functools
import json
from collections.abc import Iterable
from pathlib import Path

import grimp

from figures.pipeline.paths import ROOT

PACKAGES = ("bnn", "fe_data", "figures", "prior_study", "safe_files", "studies")


@functools.cache
def import_graph() -> grimp.ImportGraph:
    """Return the modules of this repository with their imports; a module imports its package."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for package in PACKAGES:
        for importer in graph.find_modules_that_directly_import(package):
            for module in offered(package) & graph.modules:
                graph.add_import(importer=importer, imported=module)
    for module in graph.modules - set(PACKAGES):  # importing a.b runs a/__init__.py
        graph.add_import(importer=module, imported=module.rpartition(".")[0])
    return graph


def module_file(name: str) -> Path:
    """Return the source file of a module or package of this repository."""
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def offered(package: str) -> set[str]:
    """Return the modules that a package imports lazily, which its stub file lists."""
    stub = module_file(package).with_suffix(".pyi")
    return imported_names(stub.read_text(encoding="utf-8"), package) if stub.is_file() else set()


def imported_names(code: str, package: str = "") -> set[str]:
    """Return the dotted names in the import statements of a source text that may be modules."""
    # `from a import b` gives a and a.b, because b may be a module or an object of a. `from .`
    # refers to the package, and is ignored if no package is given.
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            base = ".".join(filter(None, [package if node.level else "", node.module]))
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names


def sources(modules: Iterable[str]) -> list[Path]:
    """Return the source files of modules and of everything that they import, sorted.

    Names that are not modules of this repository are ignored.
    """
    graph = import_graph()
    named = graph.modules & set(modules)
    imported = named | (graph.modules & set().union(*map(offered, named)))
    upstream = (graph.find_upstream_modules(module) for module in imported)
    return sorted(map(module_file, imported.union(*upstream)))


def simulation_sources() -> list[Path]:
    """Return the source files on which simulated samples depend, without modules for plots."""
    programs = ["fe_data.dataset.generate", "figures.pipeline.arithmetic"]
    return [file for file in sources(programs) if file.name != "plots.py"]


def notebook_sources(path: Path) -> list[Path]:
    """Return the source files that the code cells of a notebook import, sorted."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return sources(name for text in code for name in imported_names(text))


def data_files(code: Iterable[Path], folder: Path) -> list[Path]:
    """Return the CSV files of a folder whose names occur in the source files, sorted."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in code)
    return [table for table in sorted(folder.glob("*.csv")) if table.name in text]
