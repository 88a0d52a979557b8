"""Write the page of a profile: python -m figures.report quick.

The page is one file: pictures are inlined, so that it can be sent and printed.
"""

import argparse
import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from figures.dependencies import ROOT
from figures.profiles import Profile, load_profile
from figures.published import compare_improvements, compare_scores

TEMPLATE = Path(__file__).with_name("report.html")
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
SURROGATE = "04_materials_surrogate"
VERDICTS = {True: "holds here", False: "does not hold here", None: "open"}
SCORES = {  # label, decimals
    "rmse": ("RMSE", 2),
    "miscalibration": ("Miscalibration", 2),
    "elppd": ("ELPPD per test cell", 1),
}
OUTPUTS = {
    "b_eff_MPa": "b_eff [MPa]",
    "c_eff": "c_eff",
    "E_eff_GPa": "E_eff [GPa]",
    "nu_eff": "ν_eff",
    "p_sigma": "p_σ",
}


class ReportError(RuntimeError):
    """Something that the page shows is not there."""


@dataclass(frozen=True)
class Picture:
    """A picture with its caption, inlined."""

    source: str  # data URI
    caption: str


def inline(path: Path) -> str:
    """A picture as data URI.

    Raises:
        ReportError: the file is missing or empty.
    """
    if not path.is_file() or not path.stat().st_size:
        raise ReportError(f"the picture {path} is missing or empty")
    encoded = base64.b64encode(path.read_bytes()).decode()
    return f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"


def read_json(path: Path) -> dict[str, Any]:
    """Content of a JSON file.

    Raises:
        ReportError: the file is missing.
    """
    if not path.is_file():
        raise ReportError(f"{path} is missing: run the notebooks first")
    return json.loads(path.read_text())


def cell_pictures(profile: Profile, data_dir: Path) -> list[Picture]:
    """Pictures of the profile's single cells, with their effective properties."""
    pictures = []
    for cell in profile.cells:
        folder = data_dir / "cells" / cell.name
        effective = read_json(folder / "result.json")["effective"]
        values = ", ".join(f"{OUTPUTS[name]} = {effective[name]:.4g}" for name in OUTPUTS)
        caption = (
            f"Cell with volume fraction {cell.vf:g}, E_f = {cell.E_f:g} GPa, "
            f"b_m = {cell.b_m:g} MPa, c_m = {cell.c_m:g}: {values}"
        )
        pictures.append(Picture(inline(folder / "rve.png"), caption))
    return pictures


def notebook_pictures(metrics: Mapping[str, Any], out_dir: Path) -> list[Picture]:
    """Pictures that a notebook lists in its metrics file."""
    return [Picture(inline(out_dir / name), text) for name, text in metrics["figures"].items()]


def studies(profile: Profile, out_dir: Path) -> list[dict[str, Any]]:
    """Title, pictures and checked claims of the profile's other notebooks."""
    found = []
    for name in profile.notebooks:
        path = out_dir / f"{name}.json"
        if name == SURROGATE or not path.is_file():
            continue
        metrics = read_json(path)
        found.append(
            {
                "title": metrics["title"],
                "pictures": notebook_pictures(metrics, out_dir),
                "claims": [
                    (claim["claim"], VERDICTS[claim["holds"]]) for claim in metrics["claims"]
                ],
            }
        )
    return found


def number(value: float, decimals: int) -> str:
    """A number with a fixed number of decimals and a real minus sign."""
    return f"{value:.{decimals}f}".replace("-", "−")


def plus_minus(mean: float, deviation: float | None, decimals: int) -> str:
    """Mean ± standard deviation."""
    text = number(mean, decimals)
    return text if deviation is None else f"{text} ± {number(deviation, decimals)}"


def render(profile: Profile, data_dir: Path, out_dir: Path) -> str:
    """The page of a profile.

    Args:
        profile: of the run.
        data_dir: folder with the single cells.
        out_dir: folder with the metrics and pictures of the notebooks.

    Returns:
        HTML text without references to other pictures or styles.

    Raises:
        ReportError: a picture or a metrics file is missing.
    """
    metrics = read_json(out_dir / f"{SURROGATE}.json")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"number": number}
    environment.globals |= {"plus_minus": plus_minus}
    return environment.from_string(TEMPLATE.read_text()).render(
        profile=profile,
        cells=cell_pictures(profile, data_dir),
        pictures=notebook_pictures(metrics, out_dir),
        metrics=metrics,
        studies=studies(profile, out_dir),
        scores=SCORES,
        outputs=OUTPUTS,
        comparisons=compare_scores(metrics),
        improvements=compare_improvements(metrics),
        notebooks=sorted(p.name for p in (out_dir / "notebooks").glob("*.html")),
    )


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m figures.report", description=__doc__)
    parser.add_argument("profile")
    options = parser.parse_args(arguments)
    try:
        profile = load_profile(options.profile)
        out_dir = ROOT / "figures" / profile.name
        text = render(profile, ROOT / "data" / profile.name, out_dir)
    except (ReportError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    target = out_dir / "index.html"
    target.write_text(text)
    print(f"open {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
