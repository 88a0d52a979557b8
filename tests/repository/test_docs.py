"""The site shows every public name and needs no network."""

import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import nbformat
import pytest

from docs import api_pages, conf
from docs.prose import cells
from figures.pipeline.paths import REFERENCE, notebooks, results_folder

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"


def public():
    """The classes and functions that the packages and their public modules export."""
    headings = {}
    for package in map(importlib.import_module, ("bnn", "fe_data")):
        for name in package.__all__:
            value = getattr(package, name)
            members = {f"{package.__name__}.{name}": value}
            if isinstance(value, ModuleType):
                names = getattr(value, "__all__", [n for n in vars(value) if n[0] != "_"])
                here = {n: getattr(value, n) for n in names}
                members = {f"{package.__name__}.{name}.{n}": v for n, v in here.items()}
                members = {
                    n: v
                    for n, v in members.items()
                    if inspect.isroutine(v) or inspect.isclass(v)
                    if v.__module__.startswith(value.__name__)
                }
            headings |= {n: v for n, v in members.items() if callable(v)}
    return headings


def test_the_reference_lists_each_public_name_once():
    """A name that the package and one of its modules export is listed once, under either."""
    names = api_pages.listed()
    assert len({*names}) == len(names)
    listed = [pkgutil.resolve_name(name) for name in names]
    assert [name for name, value in public().items() if value not in listed] == []
    assert [name for name, value in zip(names, listed, strict=True) if not value.__doc__] == []


@pytest.mark.parametrize(
    ("name", "text", "is_used"),
    [
        ("bnn.GPRegressor", "model = bnn.GPRegressor().fit(X, y)", True),
        ("bnn.GPRegressor", "from bnn import (\n    GPRegressor,\n)", True),
        ("bnn.GPRegressor", "`GPRegressor(noise=0.0)` for simulators", True),
        ("bnn.GPRegressor", "bnn.GPRegressors", False),
        ("fe_data.law", "write `law: j2`, or `lawful`", False),
        ("fe_data.law", "from bnn import law", False),
        ("bnn.metrics.rmse", "bnn.metrics.rmse(y, mean)", True),
        ("bnn.metrics.rmse", "the rmse of rmse()", False),
    ],
)
def test_uses_of_a_public_name_are_recognised(name, text, is_used):
    assert (api_pages.uses(name, text) is not None) is is_used


def test_a_page_links_the_sections_and_examples_that_use_a_name():
    text = api_pages.links("bnn.load", list(api_pages.sources([])))
    assert "`How to use bnn <../../docs/bnn.html#save-and-load>`__" in text
    assert "`Fit your own table <../../examples/README.html#fit-your-own-table>`__" in text


def test_pages_link_the_notebooks_that_the_site_shows():
    """The executed ones; `make docs` rejects links to others."""
    shown = {ROOT / name for name in (*conf.NOTEBOOKS, *conf.TUTORIALS)}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("studies/*/README.md")]
    linked = [
        (page.parent / link).resolve()
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+\.ipynb)", page.read_text(encoding="utf-8"))
    ]
    assert len(linked) > 8
    assert [path for path in linked if path not in shown] == []


@pytest.mark.slow
@pytest.mark.skipif(
    not (SITE / "objects.inv").exists(), reason="build/docs is not there: make docs writes it"
)
def test_every_public_name_is_on_the_built_site_and_no_page_asks_for_an_address():
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="")
    documented = {name for kind in inventory.data for name in inventory.data[kind]}
    assert {*api_pages.listed()} <= documented
    asked = r"<(?:script|link|img|iframe|source)[^>]+(?:src|href)=\"?(?:https?:)?//[^>]*"
    pages = list(SITE.resolve().rglob("*.html"))
    assert len(pages) > 15
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    assert {page for page, text in texts.items() if re.search(asked, text)} == set()
    assert dead_links(texts) == []
    assert [page.name for page, text in texts.items() if not is_restricted(text)] == []
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    search = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    page = search["docnames"].index("docs/api/bnn.GPRegressor")
    in_title = search["titleterms"]["gpregressor"]  # a number if one page alone has it there
    assert page in (in_title if isinstance(in_title, list) else [in_title])
    assert page in search["terms"]["noise_std"]


def is_restricted(text: str) -> bool:
    """Whether a page has one content security policy, above all that it loads or runs."""
    policies = [match.start() for match in re.finditer("http-equiv=.Content-Security-Policy", text)]
    loads = re.search(r"<(?:script|style|link|img|body)\b", text)
    return len(policies) == 1 and loads is not None and policies[0] < loads.start()


def test_the_policy_of_a_page_allows_no_address():
    text = re.search(r'content="([^"]*)"', conf.POLICY)[1]
    directives = dict(directive.split(maxsplit=1) for directive in text.split("; "))
    assert directives.pop("default-src") == "'none'"
    beside_the_page = {"'self'", "file:", "data:", "'unsafe-inline'"}
    assert {
        name for name, sources in directives.items() if set(sources.split()) - beside_the_page
    } == set()
    assert {"script-src", "style-src", "img-src", "connect-src", "base-uri"} <= set(directives)


@pytest.mark.parametrize("run", ["figures/full", None])
def test_copied_pages_of_a_run_are_restricted(tmp_path, monkeypatch, run):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "README.html").touch()
    pages = [tmp_path / "figures" / "full" / name for name in ("index.html", "notebooks/02.html")]
    for page in pages:
        page.parent.mkdir(parents=True, exist_ok=True)
        fetched = '<script src="https://example.org/mathjax.js"></script>'
        page.write_text(f"<html><head>{fetched}</head><body></body></html>", encoding="utf-8")
    monkeypatch.setattr(conf, "ROOT", tmp_path)
    monkeypatch.setattr(conf, "RUN", run)
    conf.finish(SimpleNamespace(outdir=tmp_path / "site"), None)
    copies = [tmp_path / "site" / page.relative_to(tmp_path) for page in pages]
    texts = [copy.read_text(encoding="utf-8") for copy in copies if copy.exists()]
    assert len(texts) == (2 if run else 0)
    assert all(is_restricted(text) and "example.org" not in text for text in texts)


def dead_links(texts: dict[Path, str]) -> list[str]:
    """Links from a page of the reference whose page or section is missing."""
    faults = []
    for page, text in texts.items():
        if page.parent.name != "api":
            continue
        for name, section in re.findall(r'href="([^":#]+\.html)#?([^"]*)"', text):
            target = texts.get((page.parent / name).resolve(), "")
            if not target or (section and f'id="{section}"' not in target):
                faults.append(f"{page.name}: {name}#{section}")
    return faults


@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_a_committed_executed_notebook_links_every_picture_of_its_run(path):
    folder = results_folder(path.stem, REFERENCE.name)
    executed = folder / "notebooks" / path.name
    notebook = nbformat.read(executed, as_version=4)
    nbformat.validate(notebook)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.get("data", {}).get("text/markdown", "") for output in outputs]
    linked = re.findall(r"\]\((.+)\)", "\n".join(texts))
    metrics = json.loads((folder / f"{path.stem}.json").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(f"../{name}" for name in metrics["figures"])
    assert all((executed.parent / name).is_file() for name in linked)
    assert executed.stat().st_size < 300_000
    assert set(cells(path)) <= set(cells(executed))  # as it is written now
