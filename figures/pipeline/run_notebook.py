"""Execute a notebook into its `out_dir`: python -m figures.pipeline.run_notebook NAME -p seed 3."""

import argparse
import ast
import json
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError

from fe_data.files.yaml_file import parse_yaml
from figures.pipeline.clean import listed, note
from figures.pipeline.paths import ROOT, notebook_path, notebooks, pictures
from safe_files.writing import write_atomic

# Tag of the cell that papermill adds to an executed notebook, also in its page
INJECTED = b"injected-parameters"


class NotebookError(RuntimeError):
    """A notebook or a parameter does not exist, or a cell of the notebook fails."""


def find_notebook(name: str) -> Path:
    """Return the path of a notebook of this project; NotebookError if there is none."""
    path = notebook_path(name)
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in notebooks()))
        raise NotebookError(f"unknown notebook {name!r}: must be one of {names}")
    return path


def parameters(path: Path, replaced: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters of a notebook: defaults of its tagged cell, replaced by given values.

    Given values may be texts, which are converted to the type of the default.

    Raises:
        NotebookError: If there is no cell tagged "parameters", a parameter does not exist, or a
            value has another type.
    """
    declared = papermill.inspect_notebook(path)
    if not declared:
        raise NotebookError(f"{path.name} must have a cell tagged 'parameters'")
    values = {name: ast.literal_eval(entry["default"]) for name, entry in declared.items()}
    for name, raw in replaced.items():
        if name not in values:
            names = ", ".join(values)
            raise NotebookError(
                f"unknown parameter {name!r} of {path.stem}: must be one of {names}"
            )
        kind = type(values[name])
        values[name] = str(raw) if kind is str else parse_yaml(str(raw).encode())
        if type(values[name]) is not kind:
            raise NotebookError(f"{name} = {raw!r} of {path.stem} must be of type {kind.__name__}")
    return values


def execute(path: Path, replaced: Mapping[str, object]) -> None:
    """Execute a notebook in the root of the repository, and save it in `out_dir`/notebooks.

    Raises:
        NotebookError: If a parameter is invalid, the executed notebook would replace a file of
            another program, or a cell fails; the message has its error.
    """
    values = parameters(path, replaced)
    executed = ROOT / values["out_dir"] / "notebooks" / path.name
    if executed.resolve() == path.resolve():
        what = f"out_dir = {values['out_dir']!r}: the executed notebook would replace its source"
        raise NotebookError(f"{what}, give another folder")
    unfinished = executed.parent / "unfinished" / path.name  # written cell by cell
    for file in (executed, executed.with_suffix(".html"), unfinished):
        _require_own(file)
    note(unfinished)
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
            # Errors of cells are returned; the log would only have messages about the kernel's end.
            extra_arguments=["--log-level=CRITICAL"],
        )
    except PapermillExecutionError as error:
        cause = f"{error.ename}: {error.evalue} (details in {unfinished})"
        raise NotebookError(f"cell {error.exec_count} of {path.stem} failed: {cause}") from None
    page, _ = HTMLExporter(embed_images=True).from_filename(str(unfinished))
    write_atomic(executed.with_suffix(".html"), page.encode(), None)
    write_atomic(executed, small(nbformat.read(unfinished, as_version=4), values).encode(), None)
    note(executed, executed.with_suffix(".html"))
    unfinished.unlink()
    later = pictures(metrics)
    for picture in earlier:
        if later is not None and picture not in later and picture.is_file():
            picture.unlink()  # left from an earlier run


def _require_own(path: Path) -> None:
    """Raise a NotebookError if a file exists that no run has listed or written."""
    if path.is_relative_to(ROOT) and path.relative_to(ROOT).as_posix() in listed(ROOT):
        return
    if os.path.lexists(path) and not (path.is_file() and INJECTED in path.read_bytes()):
        raise NotebookError(f"{path} was not written by a run: move it, or give another out_dir")


def small(notebook: nbformat.NotebookNode, parameters: Mapping[str, object]) -> str:
    """Return an executed notebook as text that can be committed.

    It has no cell times, no progress output and no absolute paths of the checkout and
    of parameters, which become relative to the checkout. Saved figures are replaced by links to
    their files.
    """
    for item in (notebook, *notebook.cells):
        for name in ("papermill", "execution"):
            item.metadata.pop(name, None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [stream for stream in cell.outputs if stream.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            if name := output.get("metadata", {}).get("picture"):
                output.data = {"text/markdown": f"![{name}](../{name})"}
    text = nbformat.writes(notebook)
    values = [value for value in map(str, parameters.values()) if Path(value).is_absolute()]
    shown = {f"{ROOT}/": "", **{value: os.path.relpath(value, ROOT) for value in values}}
    for path, relative in shown.items():
        for written in (path, _escaped(path)):
            text = text.replace(_in_json(written), _in_json(relative))
    return text + "\n"


def _escaped(text: str) -> str:
    """Return a text as papermill writes it into the cell of parameters."""
    return text.encode("unicode_escape").decode()


def _in_json(text: str) -> str:
    """Return a text as it stands between the quotes of a notebook's file."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
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
    except KeyboardInterrupt:  # reported by the program that started this one
        return 130
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("default")
    sys.exit(main())
