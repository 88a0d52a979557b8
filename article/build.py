"""Typeset the article from the metrics of the full runs: python -m article.build.

Authors and addresses are fields of article/metadata.yaml. With --check no document is written.
Instead the empty fields are listed, and the exit status is 1 if there are any.
"""

import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="name the fields that are empty")
    arguments = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import yaml

from bnn import TrainingSettings
from fe_data import settings
from fe_data.dataset import design
from fe_data.geometry import spacing
from fe_data.mechanics import properties
from figures import claims
from figures.composite import problem
from figures.example_1d import ensembles
from figures.pipeline.clean import note
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import load_profile
from figures.report.comparison import SIGNS, Comparison, compare
from figures.report.tables import committed
from safe_files.writing import write_atomic
from studies.tables import of_methods

TARGET = ROOT / "build" / "article.pdf"
METADATA = ROOT / "article" / "metadata.yaml"
UNNAMED = "The authors of this repository"
CONSTANTS = {
    "BETA_SHAPES": design.BETA_SHAPES,
    "CORRELATED_EPOCHS": ensembles.CORRELATED_EPOCHS,
    "ELASTIC_YIELDED_FRACTION": properties.ELASTIC_YIELDED_FRACTION,
    "FACTORISED_EPOCHS": ensembles.FACTORISED_EPOCHS,
    "INPUT_BOUNDS": problem.INPUT_BOUNDS,
    "LARGEST": claims.LARGEST,
    "LENGTHSCALES": ensembles.LENGTHSCALES,
    "LOWEST_OUTPUT": problem.LOWEST_OUTPUT,
    "NOISE_COV": problem.NOISE_COV,
    "OUTPUT_BOUNDS": problem.OUTPUT_BOUNDS,
    "PRETRAIN_EPOCHS": ensembles.PRETRAIN_EPOCHS,
    "VANILLA_EPOCHS": ensembles.VANILLA_EPOCHS,
}


def missing(metadata: Mapping[str, Any]) -> list[str]:
    """Return the empty fields of the metadata, which must be filled before submission."""
    empty = []
    for number, author in enumerate(metadata["authors"], start=1):
        if author["name"] in {None, UNNAMED}:
            empty.append(f"authors: name of author {number}")
        if not author["email"]:
            empty.append(f"authors: email of author {number}")
    if not metadata["affiliations"]:
        empty.append("affiliations")
    for section in ("code", "data"):
        filled = {key: value for entry in metadata[section] for key, value in entry.items()}
        empty += [f"{section}: {key}" for key in ("url", "doi") if not filled.get(key)]
    return empty


def judged(entry: Comparison) -> dict[str, Any]:
    """Return our numbers, the printed ones and the verdicts for a figure or table of the paper."""
    rows = {
        name: {column: vars(check) for column, check in checks.items()}
        for name, checks in entry.rows.items()
    }
    return {
        "title": entry.item.title,
        "unit": entry.item.unit,
        "verdict": entry.verdict,
        "count": entry.count,
        "outcomes": entry.of_paper,
        "rows": rows,
        "labels": {name: entry.label(name) for name in rows},
    }


def content() -> dict[str, Any]:
    """Return what the article needs from the code: verdicts, settings and constants."""
    runs = committed()
    profile = load_profile("full")
    return {
        "missing": missing(yaml.safe_load(METADATA.read_text(encoding="utf-8"))),
        "methods": asdict(of_methods(runs)),
        "items": {
            name: {place: judged(entry) for place, entry in compare(run).items()}
            for name, run in runs.items()
        },
        "rve": asdict(settings.Settings()) | {"min_spacing": spacing.SPACING},
        "adam": asdict(TrainingSettings()),
        "signs": SIGNS,
        "example": profile.example_1d.model_dump(),
        "surrogate": profile.surrogate.model_dump(),
        "constants": CONSTANTS,
    }


def compiled(**options: Any) -> Any:
    """Return the article compiled by typst; exit with typst's message on an error or warning."""
    import typst

    inputs = {"content": json.dumps(content(), default=str)}
    options |= {"root": str(ROOT), "ignore_system_fonts": True, "sys_inputs": inputs}
    try:
        source = str(ROOT / "article" / "article.typ")
        result, warnings = typst.compile_with_warnings(source, **options)
    except typst.TypstError as error:
        sys.exit(error.diagnostic)
    if warnings:
        sys.exit("\n".join(warning.diagnostic for warning in warnings))
    return result


def main(check: bool = False) -> None:
    """Write build/article.pdf if typst is installed; the article is a draft if fields are empty."""
    empty = ", ".join(missing(yaml.safe_load(METADATA.read_text(encoding="utf-8"))))
    if check:
        sys.exit(f"{METADATA.relative_to(ROOT)} has empty fields: {empty}" if empty else 0)
    if find_spec("typst") is None:
        print("the article is skipped: typst is not installed (pip install typst)")
        return
    TARGET.parent.mkdir(exist_ok=True)
    write_atomic(TARGET, compiled(), b"%PDF-")
    note(TARGET)
    draft = f" as a draft; {METADATA.relative_to(ROOT)} has empty fields: {empty}" if empty else ""
    print(f"{TARGET.relative_to(ROOT)} is written{draft}")


if __name__ == "__main__":
    main(arguments.check)
