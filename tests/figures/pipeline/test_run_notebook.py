"""Notebooks run from start to end with declared parameters only."""

import json

import nbformat
import pytest
from matplotlib.figure import Figure

from figures.pipeline import run_notebook
from figures.pipeline.paths import notebooks
from figures.pipeline.profiles import REPEATED
from figures.pipeline.run_notebook import NotebookError, execute, find_notebook, main, parameters


def notebook(path, *sources, tags=("parameters",)):
    """A notebook whose first cell holds its parameters."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = list(tags)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(content, path)
    return path


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_notebooks_are_stripped_and_declare_the_common_parameters(path):
    """Their formulas are plain text: no network is needed to show them."""
    repeated = {"with_repeats"} if path.stem in REPEATED else set()
    assert set(parameters(path, {})) == {"profile", "seed", "data_dir", "out_dir"} | repeated
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert not any("$" in cell.source for cell in cells if cell.cell_type == "markdown")


DRAWING = """
import sys
from pathlib import Path
import matplotlib.pyplot as plt
from figures import style
figure, axes = plt.subplots()
axes.plot([1, seed])
style.save(figure, Path(out_dir, "new.svg"))
Path(out_dir, "n.json").write_text('{"figures": {"new.svg": ""}}')
print("seed", seed, Path("notebooks").is_dir())
print("progress", file=sys.stderr)
"""


@pytest.mark.slow
def test_an_executed_notebook_is_a_page_and_removes_pictures_that_it_no_longer_draws(
    tmp_path, monkeypatch
):
    """In a separate kernel, from the root; what is no picture of the folder stays."""
    monkeypatch.delenv("MPLBACKEND", raising=False)
    folder = tmp_path / "out"
    folder.mkdir()
    path = notebook(tmp_path / "n.ipynb", f"out_dir = {str(folder)!r}\nseed = 1", DRAWING)
    of_user = [tmp_path / "precious.svg", folder / "notes.txt", folder / "mine.svg"]
    for file in (*of_user, folder / "old.svg"):
        file.write_text("of the run before")
    Figure().savefig(folder / "new.svg")
    named = json.dumps({"figures": {"old.svg": "", "new.svg": ""}})
    (folder / "n.json").write_text(named)
    execute(path, {"seed": 3})
    assert not (folder / "old.svg").exists()
    assert all(file.read_text() == "of the run before" for file in of_user)
    page = (folder / "notebooks" / "n.html").read_text()
    assert "seed 3 True" in page
    assert "data:image/png" in page
    kept_notebook = nbformat.read(folder / "notebooks" / "n.ipynb", as_version=4)
    outputs = kept_notebook.cells[-1].outputs
    shown = [output.data["text/markdown"] for output in outputs if "data" in output]
    assert shown == ["![new.svg](../new.svg)"]
    assert [output.get("name") for output in outputs if "text" in output] == ["stdout"]
    assert "papermill" not in kept_notebook.metadata


def test_parameters_take_the_types_of_the_defaults_and_others_are_refused(tmp_path, capsys):
    path = notebook(tmp_path / "n.ipynb", "import os\nseed = 1\nname = 'a'\nscale = 0.5", "x = 2")
    values = parameters(path, {"seed": "3", "name": "3", "scale": "1.5"})
    assert values == {"seed": 3, "name": "3", "scale": 1.5}
    assert main(["04_materials_surrogate", "-p", "epochs", "3"]) == 1
    assert capsys.readouterr().err.startswith("error: unknown parameter 'epochs' of 04_materials")
    with pytest.raises(NotebookError, match=r"seed = 'one' .* must be of type int"):
        parameters(find_notebook("04_materials_surrogate"), {"seed": "one"})
    with pytest.raises(NotebookError, match="unknown notebook '07'"):
        find_notebook("07")
    untagged = notebook(tmp_path / "n.ipynb", "seed = 1", tags=())
    with pytest.raises(NotebookError, match="must have a cell tagged 'parameters'"):
        parameters(untagged, {"seed": 2})


@pytest.mark.parametrize("name", ["n.ipynb", "n.html", "unfinished/n.ipynb"])
def test_a_file_of_another_program_is_not_replaced(tmp_path, name):
    path = notebook(tmp_path / "n.ipynb", f"out_dir = {str(tmp_path)!r}", "1 / 0")
    mine = tmp_path / "notebooks" / name
    mine.parent.mkdir(parents=True)
    for write in (lambda: notebook(mine, "x = 1"), mine.mkdir, lambda: mine.symlink_to("none")):
        write()
        with pytest.raises(NotebookError, match=rf"^{mine} was not written by a run: move it, or"):
            execute(path, {})
        mine.rmdir() if mine.is_dir() else mine.unlink()
    assert [*mine.parent.iterdir()] == []  # nothing was executed


def test_failing_cell_is_named_with_its_error(tmp_path, monkeypatch):
    """What was executed until then is where the message says, and results of before stay."""
    path = notebook(tmp_path / "n.ipynb", f"out_dir = {str(tmp_path)!r}", "1 / 0")
    earlier = tmp_path / "notebooks"
    (earlier / "unfinished").mkdir(parents=True)
    notebook(earlier / "n.ipynb", "seed = 1", tags=["injected-parameters"])
    (earlier / "unfinished" / "n.ipynb").write_text("not finished")
    monkeypatch.setattr(run_notebook, "ROOT", tmp_path)
    monkeypatch.setattr(run_notebook, "listed", lambda _: {"notebooks/unfinished/n.ipynb"})
    with pytest.raises(NotebookError, match="of n failed: ZeroDivisionError") as failure:
        execute(path, {})
    of_other_notebook = tmp_path / "notebooks" / "unfinished" / "n.ipynb"
    assert f"(details in {of_other_notebook})" in str(failure.value)
    assert {*tmp_path.rglob("notebooks/**/*.ipynb")} == {earlier / "n.ipynb", of_other_notebook}
    assert "ZeroDivisionError" in of_other_notebook.read_text()
