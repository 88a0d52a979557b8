"""The drawing of the imports in CONTRIBUTING.md is the one that the source files give.

`python -m tests.repository.test_contributing` draws it again.
"""

import re
from pathlib import Path

import grimp

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
DRAWING = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.S)
PACKAGES = ("bnn", "fe_data", "prior_study", "figures")


def drawing() -> str:
    """Rooms and arrows to what they import; an arrow that other arrows imply is left out."""
    graph = grimp.build_graph(*PACKAGES)
    rooms = {package: sorted(graph.find_children(package)) for package in PACKAGES}
    nodes = {room for group in rooms.values() for room in group}
    for room in nodes:
        if graph.find_children(room):
            graph.squash_module(room)
    lines = ["flowchart TD"]
    for package, group in rooms.items():
        names = (f"    {room}[{room.removeprefix(package + '.')}]" for room in group)
        lines += [f'  subgraph "{package}"', *names, "  end"]
    for room in sorted(nodes):
        imported = graph.find_modules_directly_imported_by(room) & nodes - {room}
        for other in sorted(imported):
            between = imported - {other}
            if not any(graph.chain_exists(importer=via, imported=other) for via in between):
                lines.append(f"  {room} --> {other}")
    return "\n".join(lines) + "\n"


def test_the_drawing_shows_the_imports():
    assert DRAWING.search(PAGE.read_text())[0] == drawing()


if __name__ == "__main__":
    PAGE.write_text(DRAWING.sub(drawing(), PAGE.read_text()))
