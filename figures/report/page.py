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
Metrics = Mapping[str, Mapping[str, Any]]  # notebook → content of its metrics file


class ReportError(RuntimeError):
    """Something that the page shows is not there."""


@dataclass(frozen=True)
class Entry:
    """One figure or table of the paper on the page.

    Attributes:
        item: What is compared in it.
        pictures: Caption → picture as data URI.
        columns: Headings of the table of numbers.
        rows: Label of a row → its checks, None where a cell is empty.
        claims: Claims of the paper with their verdicts.
    """

    item: Item
    pictures: dict[str, str]
    columns: list[str]
    rows: dict[str, list[Check | None]]
    claims: list[tuple[Claim, str]]

    @property
    def anchor(self) -> str:
        """Name that links on the page lead to."""
        return self.item.place.lower().replace(".", "").replace(" ", "-")


def render(profile: Profile, out_dir: Path) -> str:
    """The page of a run.

    Args:
        profile: Of the run.
        out_dir: Folder with the metrics and pictures of the notebooks.

    Returns:
        HTML text without references to other pictures or styles.

    Raises:
        ReportError: A picture or a metrics file is missing.
    """
    metrics = read_metrics(profile, out_dir)
    items = compare(metrics)
    require_figures(items, metrics)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"figures": with_digits_of, "brief": brief}
    return environment.from_string(TEMPLATE.read_text()).render(
        run=out_dir.name,
        at_paper_size=all(content.get("paper_size", True) for content in metrics.values()),
        entries=[entry_of(item, out_dir) for item in items],
        metrics=metrics,
        sections=sections(metrics, {item.place for item in items}, out_dir),
    )


def read_metrics(profile: Profile, out_dir: Path) -> Metrics:
    """Metrics files of a run: of every notebook, and of those apart that have run here.

    Raises:
        ReportError: One is missing.
    """
    paths: dict[str, Path] = {name: out_dir / f"{name}.json" for name in profile.notebooks}
    apart = [name for name in profile.apart if is_complete(paths[name])]
    names = [*profile.at_once, *apart]
    for name in names:
        if not paths[name].is_file():
            raise ReportError(f"{paths[name]} is missing: run the notebooks first")
    return {name: json.loads(paths[name].read_text()) for name in names}


def require_figures(items: Sequence[Item], metrics: Metrics) -> None:
    """Refuse a run that lacks a figure, unless its notebook says that it was left out.

    Raises:
        ReportError: Naming the figure.
    """
    missing = [i for i in items if i.place.startswith("Fig.") and not i.pictures]
    for item in missing:
        content = metrics.get(item.notebook)
        if content is not None and item.place not in content.get("left_out", []):
            raise ReportError(f"{item.place} is missing: {item.notebook} lists no picture")


def entry_of(item: Item, out_dir: Path) -> Entry:
    """A figure or table of the paper as the page shows it."""
    cells = {(check.row, check.column): check for check in item.checks}
    columns = dict.fromkeys(check.column for check in item.checks)
    return Entry(
        item,
        inlined(item.pictures, out_dir),
        [COLUMNS.get(column, column) for column in columns],
        {
            COLUMNS.get(row, row): [cells.get((row, column)) for column in columns]
            for row in dict.fromkeys(check.row for check in item.checks)
        },
        [(claim, claim.verdict(item.comparable)) for claim in item.claims],
    )


def inlined(figures: Mapping[str, str], out_dir: Path) -> dict[str, str]:
    """Pictures as data URIs by their captions.

    Args:
        figures: File → caption.
        out_dir: Folder of the files.

    Raises:
        ReportError: A file is missing or empty.
    """
    pictures = {}
    for name, caption in figures.items():
        path = out_dir / name
        if not path.is_file() or not path.stat().st_size:
            raise ReportError(f"the picture {path} is missing or empty")
        encoded = base64.b64encode(path.read_bytes()).decode()
        pictures[caption] = f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"
    return pictures


def sections(metrics: Metrics, places: set[str], out_dir: Path) -> list[dict[str, Any]]:
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
            "pictures": inlined(content["figures"], out_dir),
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
        value: The number.
        published: The one that stands in the paper; small ones have two decimals.
        more: Further decimals for small ones.
    """
    size = abs(published)
    decimals = 0 if size >= 30 else 1 if size >= 5 else 2 + more
    return f"{value:.{decimals}f}".replace("-", "−")


def brief(values: Any) -> str:
    """Our numbers behind a claim, in one line."""
    if isinstance(values, Mapping) and "values" in values:  # of repeated trainings
        return brief(values["mean"])
    if isinstance(values, Mapping):
        words = {COLUMNS.get(name, name): brief(value) for name, value in values.items()}
        return ", ".join(f"{n} = ({w})" if "=" in w else f"{n} = {w}" for n, w in words.items())
    return f"{values:.3g}".replace("-", "−") if isinstance(values, float) else str(values)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m figures.report.page")
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
