"""The gallery of the site, in MyST: a card for each example, and its script, output and picture."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCRIPTS = "these are scripts to be copied, each with what it prints and draws"
# In the order of the gallery, with what stands on the card.
CARDS = {
    "anchored": "Few cells, and an equation known before",
    "table": "A table of your own, nothing set",
    "cells": "Simulate cells, learn from them",
    "low_fidelity": "A low-fidelity model as prior",
    "mean_fields": "Mean fields with uncertain parameters",
    "cross_validation": "Cross-validation beside scikit-learn",
    "conformal": "Conformal intervals by MAPIE",
    "sensitivity": "Which inputs matter",
    "next_cell": "Which cells to simulate next",
    "campaign": "The next run of any simulator",
    "cyclic": "A cell under a cyclic path, in ParaView",
    "plate": "A plate that asks an ensemble in C",
    "paths": "Stress under any path, with a band",
    "cyclic_plate": "A plate under a cycle, beside FE²",
}


def cards() -> str:
    """A list of thumbnails with links to the examples, for a page at the root of the site."""
    lines = [
        "## Examples",
        "",
        f"[A surrogate to touch](docs/interactive.md) has sliders; {SCRIPTS}:",
    ]
    lines += ["", "```{container} gallery"]
    for name, words in ordered().items():
        target = f"examples/README.md#{anchor(words)}"
        lines.append(f"- [![{words}](docs/gallery/{name}.png) {words}]({target})")
    return "\n".join([*lines, "```", "", ""])


def sections() -> str:
    """A section for each example: purpose, command, picture, output and script."""
    found = []
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
        found.append("\n\n".join(parts))
    return "\n\n" + "\n\n".join(found) + "\n"


def ordered() -> dict[str, str]:
    """Examples with a picture that is kept, those without a card at the end under their names."""
    names = {path.stem: path.stem.replace("_", " ") for path in sorted(EXAMPLES.glob("*.py"))}
    kept = {path.stem for path in (ROOT / "docs" / "gallery").glob("*.png")}
    return {
        name: words for name, words in (CARDS | names | CARDS).items() if name in kept & {*names}
    }


def anchor(words: str) -> str:
    """The address of a section, as MyST makes it of its heading."""
    return "".join(c for c in words.lower().replace(" ", "-") if c.isalnum() or c in "-_")
