"""The table of the imports in CONTRIBUTING.md is the one that the source files give.

`python -m tests.repository.test_contributing` writes it again.
"""

import argparse
from pathlib import Path

import grimp

from figures.report.tables import markdown, with_blocks

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
PACKAGES = ("bnn", "fe_data", "prior_study", "figures")


def imports() -> str:
    """Room → rooms that it imports; those that another one of them imports as well are left out."""
    graph = grimp.build_graph(*PACKAGES)
    rooms = [room for package in PACKAGES for room in sorted(graph.find_children(package))]
    for room in rooms:
        if graph.find_children(room):
            graph.squash_module(room)
    rows = []
    for room in rooms:
        found = graph.find_modules_directly_imported_by(room) & {*rooms} - {room}
        via = {
            other
            for other in found
            if any(graph.chain_exists(importer=each, imported=other) for each in found - {other})
        }
        if found:
            rows.append([f"`{room}`", ", ".join(f"`{other}`" for other in sorted(found - via))])
    return markdown(["room", "imports"], rows)


def current() -> str:
    """The page with that table."""
    return with_blocks(PAGE.read_text(encoding="utf-8"), {"imports": imports()})


def test_the_table_shows_the_imports():
    assert "`fe_data.geometry`" in imports()
    assert PAGE.read_text(encoding="utf-8") == current()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(current(), encoding="utf-8")
