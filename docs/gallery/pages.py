"""The gallery of the site, in MyST: a card for each example, and its script, output and picture."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCRIPTS = "the scripts below can be copied, and each shows its output and figure"
# In the order of the gallery, with what stands on the card.
CARDS = {
    "anchored": "Extrapolate with an equation as prior",
    "table": "Fit your own table",
    "rves": "Simulate RVEs, then fit them",
    "mean_fields": "A mean-field model as prior",
    "cross_validation": "Cross-validation, compared with scikit-learn",
    "conformal": "Conformal intervals with MAPIE",
    "categories": "Columns of text as inputs",
    "sensitivity": "Rank the inputs",
    "next_rve": "Select the next RVEs to simulate",
    "campaign": "Select the next runs of any simulator",
    "cyclic": "An RVE under a cyclic strain path",
    "epoxy": "Epoxy in tension, compression and shear",
    "cooling": "Residual stress of cooling, then loading",
    "strength": "Strength, its scatter and 5 % quantile",
    "carbon": "Elastic constants of carbon/epoxy",
    "plate": "A plate with a surrogate as C code",
    "paths": "Stress along any strain path, with a band",
    "cyclic_plate": "A plate under a cycle, compared with FE²",
}


def cards() -> str:
    """Return thumbnails with links to the examples, for a page at the root of the site."""
    lines = [
        "## Examples",
        "",
        f"The [interactive surrogate](docs/interactive.md) has sliders; {SCRIPTS}:",
    ]
    lines += ["", "```{container} gallery"]
    for name, words in ordered().items():
        target = f"examples/README.md#{anchor(words)}"
        lines.append(f"- [![{words}](docs/gallery/{name}.png) {words}]({target})")
    return "\n".join([*lines, "```", "", ""])


def sections() -> str:
    """Return a section for each example: purpose, command, picture, output and script."""
    texts = []
    for name, words in ordered().items():
        script = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        output = (ROOT / "docs" / "gallery" / f"{name}.txt").read_text(encoding="utf-8")
        purpose = ast.get_docstring(ast.parse(script))
        body = script[script.index('"""', 3) + 3 :].strip()
        parts = (
            f"## {words}",
            f"{purpose}",
            f"```\n$(make -s python) -m examples.{name} --out {name}.png\n```",
            f"![{words}](../docs/gallery/{name}.png)",
            f"It prints\n\n```\n{output.strip()}\n```",
            f"```{{code-block}} python\n:caption: examples/{name}.py\n\n{body}\n```",
        )
        texts.append("\n\n".join(parts))
    return "\n\n" + "\n\n".join(texts) + "\n"


def ordered() -> dict[str, str]:
    """Return examples with a kept picture; those without a card stand at the end."""
    names = {path.stem: path.stem.replace("_", " ") for path in sorted(EXAMPLES.glob("*.py"))}
    drawn = {path.stem for path in (ROOT / "docs" / "gallery").glob("*.png")}
    return {
        name: words for name, words in (CARDS | names | CARDS).items() if name in drawn & {*names}
    }


def anchor(words: str) -> str:
    """Return the address of a section, as MyST makes it of its heading."""
    return "".join(c for c in words.lower().replace(" ", "-") if c.isalnum() or c in "-_")
