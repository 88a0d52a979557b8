"""Execute a notebook with parameters: python -m figures.pipeline.run_notebook NAME -p seed 3.

Only the variables of the cell tagged `parameters` can be set. The executed notebook and its HTML
go to OUT_DIR/notebooks.
"""

import argparse
import ast
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
import yaml

from figures.pipeline.paths import ROOT

NOTEBOOKS = ROOT / "notebooks"


class NotebookError(RuntimeError):
    """A notebook was asked for wrongly, or one of its cells failed."""


def find_notebook(name: str) -> Path:
    """Path of a notebook given by name or path.

    Raises:
        NotebookError: there is none.
    """
    path = Path(name) if name.endswith(".ipynb") else NOTEBOOKS / f"{name}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb")))
        raise NotebookError(f"unknown notebook {name!r}: {known} exist")
    return path


def declared_parameters(path: Path) -> dict[str, Any]:
    """Variables of the parameters cell with their defaults.

    Args:
        path: notebook.

    Returns:
        Name and default of each parameter.

    Raises:
        NotebookError: not exactly one cell is tagged `parameters`, or it is more than a list of
            literal assignments.
    """
    cells = nbformat.read(path, as_version=4).cells
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(
            f"{path.name} has {len(tagged)} cells tagged 'parameters': one is needed"
        )
    declared = {}
    for statement in ast.parse(tagged[0].source).body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise NotebookError(f"{path.name}: its parameters cell must hold assignments only")
        declared[ast.unparse(statement.targets[0])] = ast.literal_eval(statement.value)
    return declared


def check_parameters(path: Path, given: dict[str, Any]) -> None:
    """Refuse parameters that the notebook does not declare, or of another type.

    Raises:
        NotebookError: naming the parameter and what is allowed.
    """
    declared = declared_parameters(path)
    for name, value in given.items():
        if name not in declared:
            known = ", ".join(declared)
            raise NotebookError(f"unknown parameter {name!r} of {path.stem}: {known} exist")
        expected = type(declared[name])
        if expected is not type(value):
            raise NotebookError(
                f"parameter {name} = {value!r} of {path.stem} must be of type {expected.__name__}"
            )


def execute(path: Path, parameters: dict[str, Any]) -> Path:
    """Execute a notebook from the repository root.

    Args:
        path: notebook.
        parameters: values of declared parameters; `out_dir` is where the results go.

    Returns:
        The executed notebook as HTML.

    Raises:
        NotebookError: a parameter is refused, or a cell fails; the message holds the cell's error.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError

    check_parameters(path, parameters)
    out_dir = Path({**declared_parameters(path), **parameters}["out_dir"])
    folder = (out_dir if out_dir.is_absolute() else ROOT / out_dir) / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    executed = folder / path.name
    try:
        papermill.execute_notebook(
            path,
            executed,
            parameters=parameters,
            cwd=ROOT,
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            extra_arguments=["--log-level=ERROR"],  # the kernel's notes on its own transport
        )
    except PapermillExecutionError as error:
        detail = f"{error.ename}: {error.evalue}"
        raise NotebookError(
            f"cell {error.exec_count} of {path.stem} failed: {detail} (details in {executed})"
        ) from None
    return write_html(executed)


def write_html(executed: Path) -> Path:
    """Convert an executed notebook to a page beside it."""
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(embed_images=True).from_filename(str(executed))
    target = executed.with_suffix(".html")
    target.write_text(page)
    return target


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m figures.pipeline.run_notebook", description=__doc__
    )
    parser.add_argument("notebook")
    parser.add_argument(
        "-p", dest="parameters", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    options = parser.parse_args(arguments)
    try:
        path = find_notebook(options.notebook)
        declared = declared_parameters(path)
        values = {
            n: v if isinstance(declared.get(n), str) else yaml.safe_load(v)
            for n, v in options.parameters
        }
        execute(path, values)
    except NotebookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("default")
    sys.exit(main())
