"""The site shows every public name and needs no network."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

from docs.prose import cells
from figures.pipeline.paths import REFERENCE, notebooks, results_folder

ROOT = Path(__file__).parents[2]
SHOWN = re.findall(
    r"(?m)^\.\. automodule:: (\S+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
)


def public():
    """The objects that the packages export, by the names that autodoc gives them."""
    found = {}
    for package in map(importlib.import_module, ("bnn", "fe_data")):
        for name in package.__all__:
            value = getattr(package, name)
            key = value.__name__ if isinstance(value, ModuleType) else f"{package.__name__}.{name}"
            found[key] = value
    return found


def test_the_reference_lists_both_packages_and_the_modules_that_they_export():
    """Of a package autodoc shows what is in `__all__`, but neither modules nor what has no text."""
    modules = {name for name, value in public().items() if isinstance(value, ModuleType)}
    assert {"bnn", "fe_data"} | modules == set(SHOWN)
    texts = {name: value.__doc__ for name, value in public().items() if "__version__" not in name}
    assert [name for name, text in texts.items() if not text] == []


@pytest.mark.slow
def test_every_public_name_is_on_the_built_site_and_no_page_asks_for_an_address(tmp_path):
    from sphinx.util.inventory import InventoryFile

    options = ["-q", "-E", "-W", "-c", "docs", "-d", str(tmp_path / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    inventory = InventoryFile.loads((tmp_path / "site" / "objects.inv").read_bytes(), uri="")
    documented = {name for kind in inventory.data for name in inventory.data[kind]}
    assert {name for name in public() if "__version__" not in name} <= documented
    asked = r"<(?:script|link|img|iframe|source)[^>]+(?:src|href)=\"?(?:https?:)?//[^>]*"
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 15
    assert [re.findall(asked, page.read_text(encoding="utf-8")) for page in pages] == [[]] * len(
        pages
    )


@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_a_committed_executed_notebook_links_every_picture_of_its_run(path):
    folder = results_folder(path.stem, REFERENCE.name)
    executed = folder / "notebooks" / path.name
    found = nbformat.read(executed, as_version=4)
    nbformat.validate(found)
    outputs = [output for cell in found.cells for output in cell.get("outputs", [])]
    texts = [output.get("data", {}).get("text/markdown", "") for output in outputs]
    linked = re.findall(r"\]\((.+)\)", "\n".join(texts))
    metrics = json.loads((folder / f"{path.stem}.json").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(f"../{name}" for name in metrics["figures"])
    assert all((executed.parent / name).is_file() for name in linked)
    assert executed.stat().st_size < 300_000
    assert set(cells(path)) <= set(cells(executed))  # as it is written now
