"""The site that `make docs` builds from the READMEs, the notebooks and the docstrings.

The root of the checkout is the source folder, so that a link from one README to another, or to a
picture, leads where it leads in the checkout. Nothing is fetched, neither here nor by a reader.
"""

import re
import shutil
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs import api_pages
from docs.gallery.pages import cards, sections

project = "composite-bnn"
html_theme = "furo"
html_title = project
html_show_copyright = False
html_css_files = ["site.css"]
SCRIPTS = ("surrogate", "page")  # of docs/interactive
html_static_path = ["site.css", *(f"interactive/{name}.js" for name in SCRIPTS)]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
autosummary_generate = False  # docs/api_pages.py writes the pages
root_doc = "README"
FETCHED = r'<script[^>]+src="(?:https?:)?//[^>]*>\s*</script>'
RUNS = ("figures/full", "figures/quick")  # what a reader is shown of, if it is there
RUN = next((run for run in RUNS if (ROOT / run / "index.html").is_file()), None)
NOTEBOOKS = []
for pattern, results in (("notebooks/*.ipynb", "figures"), ("studies/*/*.ipynb", "results")):
    for path in sorted(ROOT.glob(pattern), key=lambda path: path.name):
        folder = ROOT if results == "figures" else path.parent
        executed = folder / results / "full" / "notebooks" / path.name
        shown = executed if executed.is_file() else path
        NOTEBOOKS.append(shown.relative_to(ROOT).as_posix())
TUTORIALS = sorted(
    path.relative_to(ROOT).as_posix() for path in ROOT.glob("notebooks/tutorials/*.ipynb")
)
include_patterns = [
    "*.md",
    "bnn/*.md",
    "examples/*.md",
    "fe_data/**.md",
    "prior_study/*.md",
    "studies/*/README.md",
    "docs/*",
    *(f"docs/api/{name}.rst" for name in api_pages.listed()),
    *NOTEBOOKS,
    *TUTORIALS,
]
exclude_patterns = [".*", "build", "data", "tests"]
highlight_language = "none"
default_role = "py:obj"
myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
html_math_renderer = "mathml"  # which browsers set without a script
nb_execution_mode = "force"
nb_execution_excludepatterns = NOTEBOOKS  # they show the committed run
nb_execution_in_temp = True
nb_execution_timeout = 600  # of a cell [s]
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress
nb_ipywidgets_js = {}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say shapes and units
maximum_signature_line_length = 90
# scikit-learn adds them to every estimator.
SCIKIT_LEARN = "set_fit_request, set_predict_request, set_score_request, get_metadata_routing"
autodoc_default_options = {
    "members": True,
    "exclude-members": SCIKIT_LEARN,
    "inherited-members": "StoredModel, BaseEstimator, RegressorMixin, Kernel, BaseException",
}
napoleon_attr_annotations = False  # "(n,)" in the text says more
html_copy_source = False


def complete(app, name, source):
    """Put into a page what comes from other files: contents, networks, a run's address."""
    source[0] = re.sub(r"(?m)^\|.*$", lambda row: unbroken(row[0]), source[0])
    if name == root_doc:
        # The first lines and the table of pages come before the pictures of the examples.
        before, heading, after = source[0].partition("\n## Licence")
        source[0] = f"{before}\n{cards()}{heading[1:]}{after}"
        text = (ROOT / "docs" / "contents.txt").read_text(encoding="utf-8")
        for kind, names in {"NOTEBOOKS": NOTEBOOKS, "TUTORIALS": TUTORIALS}.items():
            text = text.replace(kind, "\n".join(names))
        source[0] += text
    if name == "examples/README":
        source[0] += sections()
    if name == "docs/interactive":
        data = (ROOT / "docs" / "interactive" / "surrogate.json").read_text(encoding="utf-8")
        data = data.replace("<", r"\u003c")  # no text in it can end the element
        scripts = "".join(f'<script src="../_static/{script}.js"></script>' for script in SCRIPTS)
        source[0] += (
            f'\n<script type="application/json" id="surrogate">{data}</script>\n{scripts}\n'
        )
    if name == "docs/verdicts" and RUN:
        link = f'<a href="../{RUN}/index.html">The pages of a run</a> have all figures.'
        source[0] = source[0].replace(
            "\n## Figures and tables", f"\n{link}\n\n## Figures and tables"
        )


# A page may load only what lies beside it, and from a folder as from a server.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; "
    "img-src 'self' file: data:; font-src 'self' file: data:; connect-src 'self' file:; "
    "base-uri 'self'; form-action 'self' file:\">"
)


def restrict(app, page, template, context, doctree):
    """Put the content security policy into the head of a page."""
    context["metatags"] = context.get("metatags", "") + POLICY


def unbroken(text):
    """Keep a number and its error, its unit or its verdict in one line of a table's cell."""
    text = re.sub(r"(?<=\d) (?=[±%✓✗]|\(\d+\))|(?<=±) (?=\d)", "\u00a0", text)
    text = re.sub(r"\bN = (?=\d)", "N\u00a0=\u00a0", text)
    return re.sub(r"(Fig\.|Table) (?=\d)", "\\1\u00a0", text)


def formula(translator, node):
    """Write a formula as MathML."""
    block = node.tagname == "math_block"
    markup = latex2mathml.tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="math">{markup}</div>' if block else markup)
    raise SkipNode


def parts_that_open(app, page, template, context, doctree):
    """Fold each part of the navigation, but for the one that has the page."""
    groups = re.split(r'<p class="caption"[^>]*>(.*?)</p>', context["furo_navigation_tree"])
    parts = [groups[0]]
    for caption, pages in zip(groups[1::2], groups[2::2], strict=True):
        opened = " open" if "current" in pages else ""
        parts.append(f"<details{opened}><summary>{caption}</summary>{pages}</details>")
    context["furo_navigation_tree"] = "".join(parts)


def finish(app, error):
    """Copy the pages of a run; README.html is what a reader comes to first."""
    out = Path(app.outdir)
    if not error and RUN:
        for page in [*(ROOT / RUN).glob("*.html"), *(ROOT / RUN).glob("notebooks/*.html")]:
            copy = out / page.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # An executed notebook would fetch what typesets its formulas.
            text = page.read_text(encoding="utf-8")
            text = re.sub(FETCHED, "", text).replace("<head>", f"<head>{POLICY}", 1)
            copy.write_text(text, encoding="utf-8")
    if not error:
        shutil.copy2(out / "README.html", out / "index.html")


def escape(app, what, name, value, options, lines):
    """Let |x| and **values of a docstring stand as they are."""
    lines[:] = [re.sub(r"(\||\*\*)", r"\\\1", line) for line in lines]


def setup(app):
    """Connect the functions of this module to Sphinx."""
    app.connect("config-inited", lambda *_: api_pages.write([*TUTORIALS, *NOTEBOOKS]))
    app.connect("source-read", complete)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("html-page-context", parts_that_open, priority=900)  # after furo
    app.connect("html-page-context", restrict)
    app.connect("build-finished", finish)
    app.connect("autodoc-process-docstring", escape, priority=400)  # before napoleon
