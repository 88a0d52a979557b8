"""What depends on what."""

import json

import pytest

from figures.pipeline import dependencies
from figures.pipeline.dependencies import notebook_sources


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A repository: one.a → one.b (inside a function), two.e → three → three.d by its stub."""
    files = {
        "one/__init__.py": "",
        "one/a.py": "import numpy\ndef f():\n    from .b import g\n    return g()\n",
        "one/b.py": "def g(): return 1\n",
        "one/unused.py": "import one.a\n",
        "two/__init__.py": "",
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


@pytest.mark.parametrize(
    ("module", "files"),
    [
        ("one.a", ["one/__init__.py", "one/a.py", "one/b.py"]),
        ("two.e", ["three/__init__.py", "three/d.py", "two/__init__.py", "two/e.py"]),
    ],
)
def test_a_notebook_depends_on_what_its_code_imports_at_any_time(packages, module, files):
    cells = [
        {"cell_type": "markdown", "source": ["import one.unused"]},
        {"cell_type": "code", "source": [f"import {module}\n", "1"]},
    ]
    (packages / "n.ipynb").write_text(json.dumps({"cells": cells}))
    sources = [str(path.relative_to(packages)) for path in notebook_sources(packages / "n.ipynb")]
    assert sources == files
