"""Notebooks run from start to end with declared parameters only."""

import json

import nbformat
import pytest

from figures.pipeline.paths import NOTEBOOKS, ROOT
from figures.pipeline.run_notebook import (
    NotebookError,
    execute,
    find_notebook,
    main,
    parameters,
)

ALL = sorted(NOTEBOOKS.glob("*.ipynb"))
DRAWING = """
from pathlib import Path
Path(out_dir, "n.json").write_text('{"figures": {"new.svg": ""}}')
"""
SCORES = {"rmse", "miscalibration", "elppd"}


def notebook(path, *sources, tags=("parameters",)):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = list(tags)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(content, path)
    return path


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_notebooks_are_stripped_and_declare_the_common_parameters(path):
    assert set(parameters(path, {})) == {"profile", "seed", "data_dir", "out_dir"}
    code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


def test_materials_notebook_scores_every_method(executed):
    metrics = json.loads((executed / "04_materials_surrogate.json").read_text())
    assert set(metrics["rows"]) == {"published", "proper"}
    for rows in metrics["rows"].values():
        assert set(rows) == {"prior", "outd_anchored", "outd_vanilla"}
        for row in rows.values():
            assert set(row) > SCORES
            assert row["rmse"]["mean"] > 0
            assert 0 < row["miscalibration"]["mean"] < 0.5
    assert (metrics["n_train"], metrics["n_test"]) == ({"outd": 10}, 6)


def test_materials_notebook_says_where_its_numbers_come_from(executed):
    provenance = json.loads((executed / "04_materials_surrogate.json").read_text())["provenance"]
    assert provenance["seed"] == 3
    assert len(provenance["inputs_sha256"]) == 2
    assert {"commit", "config_sha256", "torch", "wall_time_s", "processor"} < set(provenance)


def test_executed_notebook_is_a_page(tmp_path):
    """Run in a kernel of its own, from the repository root, with the parameters that were given."""
    path = notebook(
        tmp_path / "n.ipynb",
        f"out_dir = {str(tmp_path / 'out')!r}\nseed = 1",
        "from pathlib import Path\nprint('seed', seed, Path('notebooks').is_dir())",
    )
    execute(path, {"seed": 3})
    page = (tmp_path / "out" / "notebooks" / "n.html").read_text()
    assert "seed 3 True" in page


def test_pictures_that_a_notebook_no_longer_draws_go(tmp_path):
    """Fig. 12 of a training set that the tables had; a picture of the user's own stays."""
    path = notebook(tmp_path / "n.ipynb", f"out_dir = {str(tmp_path)!r}", DRAWING)
    for name in ("old.svg", "new.svg", "mine.svg"):
        (tmp_path / name).write_text("of the run before")
    (tmp_path / "n.json").write_text('{"figures": {"old.svg": "", "new.svg": ""}}')
    execute(path, {})
    assert sorted(each.name for each in tmp_path.glob("*.svg")) == ["mine.svg", "new.svg"]


def test_files_that_are_no_pictures_of_the_folder_stay(tmp_path):
    """Whatever a metrics file of before names."""
    folder = tmp_path / "out"
    path = notebook(tmp_path / "n.ipynb", f"out_dir = {str(folder)!r}", DRAWING)
    folder.mkdir()
    precious = [tmp_path / "precious.svg", folder / "notes.txt"]
    for each in precious:
        each.write_text("mine")
    named = {"../precious.svg": "", str(precious[0]): "", "notes.txt": ""}
    (folder / "n.json").write_text(json.dumps({"figures": named}))
    execute(path, {})
    assert [each.read_text() for each in precious] == ["mine", "mine"]


FIRST = """\
from pathlib import Path
import matplotlib.pyplot as plt
from figures import style
plt.ion()
@plt.style.context(style.STYLE)
def drawn():
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    return figure
"""


def test_every_figure_is_shown(tmp_path, monkeypatch):
    """The project's style is entered for each figure and left again, interactive mode included."""
    monkeypatch.delenv("MPLBACKEND", raising=False)
    folder = f"out_dir = {str(tmp_path)!r}"
    saving = [f"style.save(drawn(), Path(out_dir) / '{name}.png')" for name in "ab"]
    path = notebook(tmp_path / "n.ipynb", folder, FIRST, *saving)
    execute(path, {})
    executed = nbformat.read(tmp_path / "notebooks" / "n.ipynb", as_version=4)
    assert ["image/png" in cell.outputs[0].data for cell in executed.cells[-2:]] == [True, True]


@pytest.mark.slow
def test_pages_of_the_quick_run_show_what_their_cells_draw():
    """Every figure, and nothing on standard error; `make quick` comes first."""
    paths = sorted((ROOT / "figures" / "quick" / "notebooks").glob("*.ipynb"))
    if not paths:
        pytest.skip("make quick has not run")
    for path in paths:
        for cell in nbformat.read(path, as_version=4).cells:
            outputs = cell.get("outputs", [])
            kinds = [kind for output in outputs for kind in output.get("data", {})]
            assert kinds.count("image/png") >= cell.source.count("style.save("), path.name
            assert not [o.text for o in outputs if o.get("name") == "stderr"], path.name
            assert not any("widget" in kind for kind in kinds), path.name


def test_notebooks_have_no_formulas_that_need_a_network():
    for path in ALL:
        texts = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
        assert not any("$" in cell.source for cell in texts), path.name


def test_unknown_parameter_is_refused(capsys):
    assert main(["04_materials_surrogate", "-p", "epochs", "3"]) == 1
    assert capsys.readouterr().err == (
        "error: unknown parameter 'epochs' of 04_materials_surrogate: "
        "profile, seed, data_dir, out_dir exist\n"
    )


def test_parameter_of_another_type_is_refused():
    with pytest.raises(NotebookError, match=r"seed = 'one' .* must be of type int"):
        parameters(find_notebook("04_materials_surrogate"), {"seed": "one"})


def test_given_texts_take_the_types_of_the_defaults(tmp_path):
    path = notebook(tmp_path / "n.ipynb", "seed = 1\nname = 'a'\nscale = 0.5")
    found = parameters(path, {"seed": "3", "name": "3", "scale": "1.5"})
    assert found == {"seed": 3, "name": "3", "scale": 1.5}


def test_unknown_notebook_is_refused():
    with pytest.raises(NotebookError, match="unknown notebook '07'"):
        find_notebook("07")


def test_untagged_parameters_are_refused(tmp_path):
    path = notebook(tmp_path / "n.ipynb", "seed = 1", tags=())
    with pytest.raises(NotebookError, match="no cell tagged 'parameters'"):
        parameters(path, {"seed": 2})


def test_only_what_the_parameters_cell_assigns_is_a_parameter(tmp_path):
    path = notebook(tmp_path / "n.ipynb", "import os\nseed = 1", "epochs = 2")
    assert parameters(path, {}) == {"seed": 1}


def test_failing_cell_is_named_with_its_error(tmp_path):
    """What was executed until then is where the message says, not among the finished ones."""
    path = notebook(tmp_path / "n.ipynb", f"out_dir = {str(tmp_path)!r}", "1 / 0")
    words = "of n failed: ZeroDivisionError: division by zero"
    with pytest.raises(NotebookError, match=words) as failure:
        execute(path, {})
    kept = tmp_path / "notebooks" / "unfinished" / "n.ipynb"
    assert f"(details in {kept})" in str(failure.value)
    assert [*tmp_path.rglob("notebooks/**/*.ipynb")] == [kept]


def test_an_interruption_is_an_exit_code(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("figures.pipeline.run_notebook.execute", interrupted)
    assert main(["00_method"]) == 130
    assert capsys.readouterr().err == ""
