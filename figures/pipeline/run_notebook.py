"""Execute a notebook into OUT_DIR: python -m figures.pipeline.run_notebook NAME -p seed 3."""

import argparse
import ast
import sys
import warnings
from pathlib import Path
from typing import Any

import papermill
import yaml
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError

from figures.pipeline.paths import NOTEBOOKS, ROOT


class NotebookError(RuntimeError):
    """A notebook was asked for wrongly, or one of its cells failed."""


def find_notebook(name: str) -> Path:
    """Path of a notebook given by name or path."""
    path = Path(name) if name.endswith(".ipynb") else NOTEBOOKS / f"{name}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb")))
        raise NotebookError(f"unknown notebook {name!r}: {known} exist")
    return path


def declared_parameters(path: Path) -> dict[str, Any]:
    """Parameters of a notebook with their defaults, from its cell tagged `parameters`."""
    declared = papermill.inspect_notebook(path)
    if not declared:
        raise NotebookError(f"{path.name} has no cell tagged 'parameters': one is needed")
    return {name: ast.literal_eval(each["default"]) for name, each in declared.items()}


def check_parameters(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """All parameters of a notebook: its defaults, with the given ones in their place."""
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
    return declared | given


def execute(path: Path, given: dict[str, Any]) -> None:
    """Execute a notebook from the repository root; NotebookError holds the error of a cell."""
    folder = ROOT / check_parameters(path, given)["out_dir"] / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    executed = folder / path.name
    try:
        papermill.execute_notebook(
            path,
            executed,
            parameters=given,
            cwd=ROOT,
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            extra_arguments=["--log-level=ERROR"],  # the kernel's notes on its own transport
        )
    except PapermillExecutionError as error:
        raise NotebookError(
            f"cell {error.exec_count} of {path.stem} failed: {error.ename}: {error.evalue} "
            f"(details in {executed})"
        ) from None
    page, _ = HTMLExporter(embed_images=True).from_filename(str(executed))
    executed.with_suffix(".html").write_text(page)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m figures.pipeline.run_notebook")
    parser.add_argument("notebook")
    parser.add_argument("-p", dest="parameters", nargs=2, action="append", default=[],
                        metavar=("NAME", "VALUE"))  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        path = find_notebook(options.notebook)
        declared = declared_parameters(path)
        texts = {name for name, default in declared.items() if isinstance(default, str)}
        given = {n: v if n in texts else yaml.safe_load(v) for n, v in options.parameters}
        execute(path, given)
    except NotebookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("default")
    sys.exit(main())
