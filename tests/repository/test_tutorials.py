"""The tutorials are clean notebooks; `make docs` executes them."""

import ast
import re

import nbformat
import pytest

from docs.prose import ROOT, cells

TUTORIALS = sorted((ROOT / "notebooks" / "tutorials").glob("*.ipynb"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_committed_without_outputs_and_has_unique_cells(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell for cell in code if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_has_no_helpers_and_its_links_lead_somewhere(path):
    """A function of a tutorial is a model of the reader, with words and few lines."""
    notebook = nbformat.read(path, as_version=4)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    functions = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.FunctionDef)]
    assert all(ast.get_docstring(function) for function in functions)
    assert len(functions) <= 1
    assert "figures" not in re.findall(r"(?m)^(?:import|from) (\w+)", code)
    links = re.findall(r"\]\(([^)#:]+)", "\n".join(cells(path)))
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_site_executes_the_tutorials_and_lists_them_behind_the_start():
    assert len(TUTORIALS) == 3
    contents = (ROOT / "docs" / "contents.txt").read_text(encoding="utf-8")
    captions = re.findall(":caption: (.+)", contents)
    assert captions[:2] == ["Start", "Tutorials"]
    settings = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert 'nb_execution_mode = "force"' in settings
    assert "nb_execution_excludepatterns = NOTEBOOKS\n" in re.sub(r" +#.*", "", settings)
