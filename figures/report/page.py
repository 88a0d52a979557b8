"""Write the page of a run: python -m figures.report.page quick figures/quick.

The page is one file: pictures are inlined, so that it can be sent and printed; the executed
notebooks lie beside it.
"""

import argparse
import base64
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from figures.claims import Check, Claim, Item
from figures.pipeline.paths import ROOT, is_complete
from figures.pipeline.profiles import Profile, load_profile
from figures.report.comparison import compare

TEMPLATE = Path(__file__).with_name("page.html")
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
VERDICTS = {True: "holds", False: "does not hold", None: "open"}  # of a notebook's own claims
COLUMNS = {
    "vf": "v_f",
    "E_f_GPa": "E_f",
    "b_m_MPa": "b_m",
    "c_m": "c_m",
    "b_eff_MPa": "b_eff",
    "c_eff": "c_eff",
    "E_eff_GPa": "E_eff",
    "nu_eff": "ν_eff",
    "p_sigma": "p_σ",
    "rmse": "RMSE",
    "miscalibration": "Miscalibration",
    "elppd": "ELPPD",
}


class ReportError(RuntimeError):
    """Something that the page shows is not there."""


@dataclass(frozen=True)
class Picture:
    """A picture with its caption, inlined."""

    source: str  # data URI
    caption: str


@dataclass(frozen=True)
class Grid:
    """Checks of one item as a table."""

    columns: list[str]
    rows: dict[str, list[Check | None]]


@dataclass(frozen=True)
class Entry:
    """One figure or table on the page."""

    item: Item
    pictures: list[Picture]
    grid: Grid | None

    @property
    def claims(self) -> list[tuple[Claim, str]]:
        """Claims of the paper with their verdicts."""
        item = self.item
        return [(claim, claim.verdict(item.comparable)) for claim in item.claims]

    @property
    def anchor(self) -> str:
        """Name that links on the page lead to."""
        return self.item.place.lower().replace(".", "").replace(" ", "-")


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


def read_metrics(profile: Profile, out_dir: Path) -> dict[str, dict[str, Any]]:
    """Metrics files of a run: of every notebook, and of those apart that have run here.

    Raises:
        ReportError: one is missing.
    """
    apart = [name for name in profile.apart if is_complete(out_dir / f"{name}.json")]
    return {name: read_json(out_dir / f"{name}.json") for name in [*profile.at_once, *apart]}


def pictures_of(figures: Mapping[str, str], out_dir: Path) -> list[Picture]:
    """Inlined pictures with their captions."""
    return [Picture(inline(out_dir / name), caption) for name, caption in figures.items()]


def require_figures(items: Sequence[Item], metrics: Mapping[str, Any]) -> None:
    """Refuse a run that lacks a figure, unless its notebook says that it was left out.

    Raises:
        ReportError: naming the figure.
    """
    for item in items:
        needed = item.place.startswith("Fig.") and item.notebook in metrics
        left_out = metrics.get(item.notebook, {}).get("left_out", [])
        if needed and not item.pictures and item.place not in left_out:
            raise ReportError(f"{item.place} is missing: {item.notebook} lists no picture")


def grid_of(checks: Sequence[Check]) -> Grid | None:
    """Checks as rows and columns, in their order; None when there are none."""
    if not checks:
        return None
    columns = list(dict.fromkeys(check.column for check in checks))
    cells = {(check.row, check.column): check for check in checks}
    rows = dict.fromkeys(check.row for check in checks)
    return Grid(
        [COLUMNS.get(name, name) for name in columns],
        {COLUMNS.get(row, row): [cells.get((row, column)) for column in columns] for row in rows},
    )


def sections(metrics: Mapping[str, Any], places: set[str], out_dir: Path) -> list[dict[str, Any]]:
    """Sections that notebooks bring themselves, beyond the figures and tables of the paper.

    A metrics file with a "section" gets one: its paragraphs and tables, the notebook's figures,
    and those of its claims that are about nothing in the paper.
    """
    return [
        {
            "name": name,
            "title": content["title"],
            "paragraphs": content["section"].get("paragraphs", []),
            "tables": content["section"].get("tables", []),
            "pictures": pictures_of(content["figures"], out_dir),
            "claims": [
                (claim, VERDICTS[claim.holds])
                for claim in map(Claim.from_json, content.get("claims", []))
                if claim.about not in places
            ],
        }
        for name, content in metrics.items()
        if "section" in content
    ]


def with_digits_of(value: float, published: float, more: int = 0) -> str:
    """A number with as many decimals as the published one calls for, and a real minus sign.

    Args:
        value: the number.
        published: the one that stands in the paper; small ones have two decimals.
        more: further decimals for small ones.
    """
    size = abs(published)
    decimals = 0 if size >= 30 else 1 if size >= 5 else 2 + more
    return f"{value:.{decimals}f}".replace("-", "−")


def brief(values: Any) -> str:
    """Our numbers behind a claim, in one line."""
    if isinstance(values, Mapping):
        if "mean" in values and "values" in values:
            return brief(values["mean"])
        shown = {COLUMNS.get(name, name): value for name, value in values.items()}
        return ", ".join(f"{name} = {_nested(value)}" for name, value in shown.items())
    if isinstance(values, float):
        return f"{values:.3g}".replace("-", "−")
    return str(values)


def _nested(value: Any) -> str:
    text = brief(value)
    return f"({text})" if "=" in text else text


def render(profile: Profile, out_dir: Path) -> str:
    """The page of a run.

    Args:
        profile: of the run.
        out_dir: folder with the metrics and pictures of the notebooks.

    Returns:
        HTML text without references to other pictures or styles.

    Raises:
        ReportError: a picture or a metrics file is missing.
    """
    metrics = read_metrics(profile, out_dir)
    items = compare(metrics)
    require_figures(items, metrics)
    entries = [
        Entry(item, pictures_of(item.pictures, out_dir), grid_of(item.checks)) for item in items
    ]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"figures": with_digits_of, "brief": brief}
    return environment.from_string(TEMPLATE.read_text()).render(
        run=out_dir.name,
        at_paper_size=all(metrics[name].get("paper_size", True) for name in metrics),
        entries=entries,
        metrics=metrics,
        sections=sections(metrics, {entry.item.place for entry in entries}, out_dir),
    )


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m figures.report.page", description=__doc__)
    parser.add_argument("profile")
    parser.add_argument("out_dir", type=Path, nargs="?", help="default: figures/PROFILE")
    options = parser.parse_args(arguments)
    try:
        profile = load_profile(options.profile)
        out_dir = options.out_dir or ROOT / "figures" / profile.name
        text = render(profile, out_dir)
    except (ReportError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    target = out_dir / "index.html"
    target.write_text(text)
    print(f"open {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
