"""The tutorials are clean notebooks; `make docs` executes them."""

import ast
import re

import matplotlib.pyplot as plt
import nbformat
import pytest

from docs.prose import ROOT, cells

TUTORIALS = sorted((ROOT / "notebooks" / "tutorials").glob("*.ipynb"))
# What a tutorial prints, and what must hold for these numbers
PRINTED = [
    (
        "from_a_table",
        r"RMSE ([\d.]+) GPa, range.*\ninside the 95 % band: ([\d.]+)\n.*band: ([\d.]+) of 100.*\n"
        r"RMSE ([\d.]+) GPa\ninside the 95 % band: ([\d.]+)\n"
        r"Gaussian noise: RMSE ([\d.]+) GPa\nheavy-tailed noise: RMSE ([\d.]+) GPa",
        # Rows of an extrapolation err together, in one direction: a share of them scatters more.
        lambda error, inside, crossed, far, inside_far, gaussian, robust: (
            error < 0.5
            and min(inside, crossed) > 0.9
            and inside_far > 0.8
            and far > error
            and robust < 0.2 * gaussian
        ),
    ),
    (
        "knowledge_as_a_prior",
        r"RMSE ([\d.]+) GPa\n.*: ([\d.]+)\np = ([\d.]+)\nRMSE ([\d.]+) GPa\n.*: ([\d.]+)\n"
        r"p = ([\d.]+)\nRMSE ([\d.]+) GPa\n.*: ([\d.]+)",
        lambda without, covered, p, informed, covers, p_wrong, corrected, inside: (
            max(informed, corrected) < 0.5 * without
            and min(covered, covers, inside) > 0.9
            and p_wrong < 0.05 < p
        ),
    ),
    (
        "from_fibres_to_a_ply",
        r"([\d.]+) fibres, volume fraction ([\d.]+)\nat 1 %: ([\d.]+) MPa\n"
        r"E_T ([\d.]+) GPa instead of ([\d.]+) GPa\ninside the 95 % band: ([\d.]+) of 12 values",
        # The curve bends: its end is below that of an elastic ply, 10 MPa for each GPa.
        lambda count, vf, stress, stiffer, shipped, inside: (
            (count, vf) == (12, 0.5)
            and 5 * shipped < stress < 10 * shipped < 10 * stiffer
            and inside > 0.9
        ),
    ),
]


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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "printed", "holds"), PRINTED, ids=["table", "knowledge", "ply"])
def test_numbers_of_a_tutorial_are_as_its_words_say(
    name, printed, holds, tmp_path, monkeypatch, capsys
):
    """The order of the numbers in what the cells print is that of the notebook."""
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(ROOT / "notebooks" / "tutorials" / f"{name}.ipynb", as_version=4)
    variables = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, name, "exec"), variables)
    plt.close("all")
    numbers = re.search(printed, capsys.readouterr().out)
    assert numbers
    assert holds(*map(float, numbers.groups()))
