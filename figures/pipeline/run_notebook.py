"""Execute a notebook into OUT_DIR: python -m figures.pipeline.run_notebook NAME -p seed 3."""

import argparse
import ast
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
import yaml
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError

from fe_data.files.writing import write_atomic
from figures.pipeline.paths import ROOT, notebook_path, notebooks, pictures


class NotebookError(RuntimeError):
    """A notebook or a parameter does not exist, or a cell of the notebook failed."""


def find_notebook(name: str) -> Path:
    """Path of a notebook of this project."""
    path = notebook_path(name)
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in notebooks()))
        raise NotebookError(f"unknown notebook {name!r}: {known} exist")
    return path


def parameters(path: Path, given: Mapping[str, object]) -> dict[str, Any]:
    """Parameters of a notebook, declared in its cell tagged so; given values may be texts."""
    declared = papermill.inspect_notebook(path)
    if not declared:
        raise NotebookError(f"{path.name} has no cell tagged 'parameters': one is needed")
    values = {name: ast.literal_eval(each["default"]) for name, each in declared.items()}
    for name, raw in given.items():
        if name not in values:
            known = ", ".join(values)
            raise NotebookError(f"unknown parameter {name!r} of {path.stem}: {known} exist")
        kind = type(values[name])
        values[name] = str(raw) if kind is str else yaml.safe_load(str(raw))
        if type(values[name]) is not kind:
            raise NotebookError(f"{name} = {raw!r} of {path.stem} must be of type {kind.__name__}")
    return values


def execute(path: Path, given: Mapping[str, object]) -> None:
    """Execute a notebook from the repository root; NotebookError holds the error of a cell."""
    values = parameters(path, given)
    executed = ROOT / values["out_dir"] / "notebooks" / path.name
    if executed.resolve() == path.resolve():
        what = f"out_dir = {values['out_dir']!r}: the executed notebook would replace its source"
        raise NotebookError(f"{what}, give another folder")
    unfinished = executed.parent / "unfinished" / path.name  # which is written cell by cell
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    metrics = ROOT / values["out_dir"] / f"{path.stem}.json"
    earlier = pictures(metrics) or []
    try:
        papermill.execute_notebook(
            path,
            unfinished,
            parameters=values,
            cwd=ROOT,
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            # Errors of cells come back as results; the log has the kernel's notes on its own end.
            extra_arguments=["--log-level=CRITICAL"],
        )
    except PapermillExecutionError as error:
        cause = f"{error.ename}: {error.evalue} (details in {unfinished})"
        raise NotebookError(f"cell {error.exec_count} of {path.stem} failed: {cause}") from None
    page, _ = HTMLExporter(embed_images=True).from_filename(str(unfinished))
    write_atomic(executed.with_suffix(".html"), page.encode(), None)
    write_atomic(executed, small(nbformat.read(unfinished, as_version=4)).encode(), None)
    unfinished.unlink()
    later = pictures(metrics)
    for picture in earlier:
        if later is not None and picture not in later and picture.is_file():
            picture.unlink()  # of tables that there were


def small(notebook: nbformat.NotebookNode) -> str:
    """An executed notebook as text; a figure that it saved is a link to the file next to it.

    It can be committed: it has no times of cells, no progress and no paths of this machine.
    """
    for part in (notebook, *notebook.cells):
        for name in ("papermill", "execution"):
            part.metadata.pop(name, None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            if name := output.get("metadata", {}).get("picture"):
                output.data = {"text/markdown": f"![{name}](../{name})"}
    return nbformat.writes(notebook).replace(f"{ROOT}/", "") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m figures.pipeline.run_notebook")
    parser.add_argument("notebook")
    parser.add_argument(
        "-p", dest="parameters", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    options = parser.parse_args(arguments)
    try:
        execute(find_notebook(options.notebook), dict(options.parameters))
    except NotebookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # whoever started this program says so
        return 130
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("default")
    sys.exit(main())
