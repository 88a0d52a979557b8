"""What depends on what, and when samples are kept."""

import json

import pytest

from figures.pipeline import dependencies
from figures.pipeline.dependencies import imported_names, notebook_sources, sources


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A repository: one.a → one.b (inside a function), two.c → nothing, two.e → three → three.d."""
    files = {
        "one/__init__.py": "",
        "one/a.py": "import numpy\ndef f():\n    from .b import g\n    return g()\n",
        "one/b.py": "def g(): return 1\n",
        "one/unused.py": "import one.a\n",
        "two/__init__.py": "",
        "two/c.py": "import os\n",
        "two/e.py": "from three import f\n",
        "three/__init__.py": "",
        "three/__init__.pyi": "from .d import f\n",
        "three/d.py": "def f(): return 1\n",
        "three/unused.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setattr(dependencies, "PACKAGES", ("one", "two", "three"))
    monkeypatch.syspath_prepend(tmp_path)
    dependencies.import_graph.cache_clear()
    yield tmp_path
    dependencies.import_graph.cache_clear()


def names(paths, root):
    return [str(path.relative_to(root)) for path in paths]


def test_sources_follow_imports_inside_functions_and_nothing_else(packages):
    assert names(sources(["one.a"]), packages) == ["one/__init__.py", "one/a.py", "one/b.py"]


@pytest.mark.parametrize(
    ("module", "own"), [("two.e", ["two/__init__.py", "two/e.py"]), ("three", [])]
)
def test_sources_hold_what_a_package_imports_when_its_names_are_used(packages, module, own):
    assert names(sources([module]), packages) == ["three/__init__.py", "three/d.py", *own]


def test_sources_of_a_notebook_are_those_of_its_code_cells(packages):
    cells = [
        {"cell_type": "markdown", "source": ["import one.a"]},
        {"cell_type": "code", "source": ["from two import c\n", "c"]},
    ]
    (packages / "n.ipynb").write_text(json.dumps({"cells": cells}))
    found = names(notebook_sources(packages / "n.ipynb"), packages)
    assert found == ["two/__init__.py", "two/c.py"]


@pytest.mark.parametrize(
    ("statement", "expected"), [("import a.b as c", {"a.b"}), ("from a import b", {"a", "a.b"})]
)
def test_names_of_import_statements(statement, expected):
    assert imported_names(statement) == expected


def test_simulation_of_a_dataset_does_not_depend_on_the_networks():
    packages = {
        path.relative_to(dependencies.ROOT).parts[0]
        for path in sources(["fe_data.dataset.generate"])
    }
    assert packages == {"fe_data"}
