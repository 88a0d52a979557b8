"""Write the page of a run, one file: python -m figures.report.page quick figures/quick."""

import base64
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import jinja2
import typer
from typer import Argument

from figures.claims import decimals
from figures.pipeline.paths import ROOT, is_complete
from figures.pipeline.profiles import Profile, load_profile
from figures.report.comparison import SIGNS, Metrics, compare
from figures.report.findings import filled, findings, load_findings

TEMPLATE = Path(__file__).with_name("page.html")
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
MANY_DIGITS = 30  # from which on a number has digits enough
LABELS = {
    "vf": "v_f", "E_f_GPa": "E_f", "b_m_MPa": "b_m", "c_m": "c_m", "b_eff_MPa": "b_eff",
    "c_eff": "c_eff", "E_eff_GPa": "E_eff", "nu_eff": "ν_eff", "p_sigma": "p_σ",
    "rmse": "RMSE", "miscalibration": "Miscalibration", "elppd": "ELPPD",
}  # fmt: skip


def render(profile: Profile, out_dir: Path) -> str:
    """The page of a run, HTML in one file; ValueError names what it would show and is not there."""
    run = read_run(profile, out_dir)
    entries = compare(run)
    for entry in entries:
        place, notebook = entry.item.place, entry.item.notebook
        needed = notebook in run and place.startswith("Fig.") and not entry.pictures
        if needed and place not in entry.metrics.left_out:
            raise ValueError(f"{place} is missing: {notebook} lists no picture")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"digits": with_digits_of, "brief": brief, "label": label}
    environment.filters |= {
        "inlined": partial(inlined, out_dir),
        "filled": partial(filled, run=run),
    }
    page = environment.from_string(TEMPLATE.read_text())
    published = any(metrics.published_tables for metrics in run.values())
    found = findings({"published tables" if published else "our tables": run})
    return page.render(
        name=out_dir.name, run=run, entries=entries, signs=SIGNS, findings=found,
        differences=load_findings().differences,
    )  # fmt: skip


def read_run(profile: Profile, out_dir: Path) -> dict[str, Metrics]:
    """Metrics of a run: of every notebook, and of those apart that have run here."""
    apart = [name for name in profile.apart if is_complete(out_dir / f"{name}.json")]
    paths = [out_dir / f"{name}.json" for name in [*profile.at_once, *apart]]
    for path in paths:
        if not path.is_file():
            raise ValueError(f"{path} is missing: run the notebooks first")
    return {path.stem: Metrics.model_validate_json(path.read_bytes()) for path in paths}


def inlined(out_dir: Path, name: str) -> str:
    """A picture in a folder as a data URI."""
    path = out_dir / name
    if not path.is_file() or not path.stat().st_size:
        raise ValueError(f"the picture {path} is missing or empty")
    encoded = base64.b64encode(path.read_bytes()).decode()
    return f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"


def label(name: str) -> str:
    """What the page calls a column, a row or a number."""
    return LABELS.get(name, name)


def with_digits_of(value: float, printed: str, more: int = 0) -> str:
    """A number with the decimals of a printed one, small ones with `more`, and a real minus."""
    few = more if abs(float(printed)) < MANY_DIGITS else 0
    return f"{value:.{decimals(printed) + few}f}".replace("-", "−")


def brief(values: Any) -> str:
    """Our numbers behind a claim, in one line."""
    if isinstance(values, Mapping) and "values" in values:  # of repeated trainings
        return brief(values["mean"])
    if isinstance(values, Mapping):
        words = {label(name): brief(value) for name, value in values.items()}
        return ", ".join(f"{n} = ({w})" if "=" in w else f"{n} = {w}" for n, w in words.items())
    return f"{values:.3g}".replace("-", "−") if isinstance(values, float) else str(values)


def main(profile: str, out_dir: Annotated[Path | None, Argument()] = None) -> None:
    """Write the page of a run in a folder, by default figures/PROFILE."""
    try:
        chosen = load_profile(profile)
        out_dir = out_dir or ROOT / "figures" / chosen.name
        text = render(chosen, out_dir)
    except ValueError as error:
        sys.exit(f"error: {error}")
    target = out_dir / "index.html"
    target.write_text(text)
    print(f"open {target}")


if __name__ == "__main__":
    typer.run(main)
