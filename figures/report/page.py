"""Write the page of a run, one file: python -m figures.report.page quick figures/quick."""

import argparse
import base64
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from figures.claims import Claim, Item
from figures.pipeline.paths import ROOT, is_complete
from figures.pipeline.profiles import Profile, load_profile
from figures.report.comparison import compare

TEMPLATE = Path(__file__).with_name("page.html")
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
VERDICTS = {True: "holds", False: "does not hold", None: "open"}  # of a notebook's own claims
COLUMNS = {
    "vf": "v_f", "E_f_GPa": "E_f", "b_m_MPa": "b_m", "c_m": "c_m", "b_eff_MPa": "b_eff",
    "c_eff": "c_eff", "E_eff_GPa": "E_eff", "nu_eff": "ν_eff", "p_sigma": "p_σ",
    "rmse": "RMSE", "miscalibration": "Miscalibration", "elppd": "ELPPD",
}  # fmt: skip
Metrics = Mapping[str, Mapping[str, Any]]  # notebook → content of its metrics file


class ReportError(RuntimeError):
    """Something that the page shows is not there."""


def render(profile: Profile, out_dir: Path) -> str:
    """The page of a run in a folder: HTML text without references to other pictures or styles."""
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
    """Metrics files of a run: of every notebook, and of those apart that have run here."""
    apart = [name for name in profile.apart if is_complete(out_dir / f"{name}.json")]
    paths = {name: out_dir / f"{name}.json" for name in [*profile.at_once, *apart]}
    for path in paths.values():
        if not path.is_file():
            raise ReportError(f"{path} is missing: run the notebooks first")
    return {name: json.loads(path.read_text()) for name, path in paths.items()}


def require_figures(items: Sequence[Item], metrics: Metrics) -> None:
    """Refuse a run that lacks a figure, unless its notebook says that it was left out."""
    for item in items:
        content = metrics.get(item.notebook)
        if item.pictures or content is None or not item.place.startswith("Fig."):
            continue
        if item.place not in content.get("left_out", []):
            raise ReportError(f"{item.place} is missing: {item.notebook} lists no picture")


def entry_of(item: Item, out_dir: Path) -> dict[str, Any]:
    """A figure or table of the paper as the page shows it; None where the table has no number."""
    cells = {(check.row, check.column): check for check in item.checks}
    columns = dict.fromkeys(check.column for check in item.checks)
    rows = dict.fromkeys(check.row for check in item.checks)
    return {
        "item": item,
        "anchor": item.place.lower().replace(".", "").replace(" ", "-"),
        "pictures": inlined(item.pictures, out_dir),
        "columns": [COLUMNS.get(column, column) for column in columns],
        "rows": {COLUMNS.get(r, r): [cells.get((r, c)) for c in columns] for r in rows},
        "claims": [(claim, claim.verdict(item.comparable)) for claim in item.claims],
    }


def inlined(figures: Mapping[str, str], out_dir: Path) -> dict[str, str]:
    """Pictures of a folder, file → caption, as data URIs by their captions."""
    pictures = {}
    for name, caption in figures.items():
        path = out_dir / name
        if not path.is_file() or not path.stat().st_size:
            raise ReportError(f"the picture {path} is missing or empty")
        encoded = base64.b64encode(path.read_bytes()).decode()
        pictures[caption] = f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"
    return pictures


def sections(metrics: Metrics, places: set[str], out_dir: Path) -> list[dict[str, Any]]:
    """Sections that notebooks bring themselves, with their claims about nothing in the paper."""
    found = []
    for name, content in metrics.items():
        if "section" in content:
            claims = map(Claim.from_json, content.get("claims", []))
            own = {
                "name": name,
                "title": content["title"],
                "pictures": inlined(content["figures"], out_dir),
                "claims": [(c, VERDICTS[c.holds]) for c in claims if c.about not in places],
            }
            found.append({"paragraphs": [], "tables": []} | content["section"] | own)
    return found


def with_digits_of(value: float, published: float, more: int = 0) -> str:
    """A number with the decimals of the published one, small ones with `more`, and a real minus."""
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
