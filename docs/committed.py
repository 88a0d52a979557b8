"""Notebooks that have not run here, with the committed pictures and verdicts of the full run."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures.pipeline.paths import MEDIA_TYPES, REFERENCE
from figures.report.comparison import Metrics, read
from figures.report.record import claims_table, shown_table, verdict_table

Output = dict[str, Any]  # of a code cell
NOTE = (
    "*This notebook has not run here: pictures, verdicts and tables of scores are the committed "
    "ones of the full run; cells that show something else have none.*"
)


def with_results(text: str, name: str) -> str:
    """Put what `figures/full` has of a notebook into the cells that show it.

    Args:
        text: The notebook, JSON.
        name: Its name, such as "02_example_1d".

    Returns:
        The notebook with outputs; unchanged where no metrics of it are committed.
    """
    metrics = REFERENCE / f"{name}.json"
    if not metrics.is_file():
        return text
    notebook = json.loads(text)
    found = read([metrics])[name]
    left = dict(found.figures)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = list(outputs("".join(cell["source"]), metrics, found, left))
    first = notebook["cells"][0]
    first["source"] = [*first["source"], f"\n\n{NOTE}"]
    if left:
        raise ValueError(f"{name}: no cell saves {', '.join(left)}")
    return json.dumps(notebook)


def outputs(source: str, metrics: Path, found: Metrics, left: dict[str, str]) -> Iterator[Output]:
    """What a cell shows; pictures that are found are taken out of `left`."""
    for name in [name for name in left if saved(name, source)]:
        del left[name]
        yield displayed(picture(name))
    if "record.verdicts(" in source:
        places = re.findall(r'"((?:Fig\.|Table) \d+)"', source)
        yield table(verdict_table(metrics, *places).to_html())
    for number in re.findall(r"(?m)^shown_table\(.*\[(\d)\]\)$", source):
        yield table(shown_table(found.tables[int(number)]).to_html())
    if re.search(r"(?m)^claims_table\(", source):
        yield table(claims_table(found.claims).to_html())


def saved(name: str, source: str) -> bool:
    """Whether a cell saves a picture, whose name may be put together as in f"fig12_{case}.svg"."""
    for call in re.findall(r'record\.out / f?"([^"]+)"', source):
        pattern = "[^.]+".join(re.escape(part) for part in re.split(r"\{[^}]*\}", call))
        if re.fullmatch(pattern, name):
            return True
    return False


def picture(name: str) -> dict[str, str]:
    """A committed picture as data of a cell's output."""
    path = REFERENCE / name
    if path.suffix == ".svg":
        return {MEDIA_TYPES[path.suffix]: path.read_text(encoding="utf-8")}
    return {MEDIA_TYPES[path.suffix]: base64.b64encode(path.read_bytes()).decode()}


def table(html: str) -> Output:
    """A table as the output of a code cell."""
    return displayed({"text/html": unbroken(html)})


def unbroken(text: str) -> str:
    """Keep a number and its error, its unit or its verdict in one line of a table's cell."""
    text = re.sub(r"(?<=\d) (?=[±%✓✗]|\(\d+\))|(?<=±) (?=\d)", "\u00a0", text)
    text = re.sub(r"\bN = (?=\d)", "N\u00a0=\u00a0", text)
    return re.sub(r"(Fig\.|Table) (?=\d)", "\\1\u00a0", text)


def displayed(data: dict[str, str]) -> Output:
    """An output of a code cell."""
    return {"output_type": "display_data", "data": data, "metadata": {}}
