"""Write the page of a run, one file: python -m figures.report.page quick figures/quick."""

import base64
import math
import re
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import jinja2
import typer
from typer import Argument

from figures.claims import decimals
from figures.pipeline.paths import REFERENCE, ROOT, is_complete
from figures.pipeline.profiles import Profile, load_profile
from figures.report.comparison import SIGNS, Check, Metrics, compare
from figures.report.findings import filled, findings, load_findings, written

TEMPLATE = Path(__file__).with_name("page.html")
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
MANY_DIGITS = 30  # from which on a number has digits enough
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LABELS = {  # name in metrics files → what the page calls it
    "vf": "v_f", "E_f_GPa": "E_f", "b_m_MPa": "b_m", "b_eff_MPa": "b_eff", "E_eff_GPa": "E_eff",
    "nu_eff": "ν_eff", "p_sigma": "p_σ", "rmse": "RMSE", "elppd": "ELPPD",
    "train_beta": "second training set", "train_uniform": "first training set",
    "generalised_normal": "generalised normal", "low_rank": "multivariate Gaussian",
    "outd": "out of distribution",
}  # fmt: skip
NAMES = re.compile(rf"(?<![\w.])({'|'.join(LABELS)}|ind(\d+))(?!\w)")


def render(profile: Profile, out_dir: Path) -> str:
    """The page of a run, HTML in one file; ValueError names what it would show and is not there."""
    run = read_run(profile, out_dir)
    entries = compare(run)
    for entry in entries:
        place, notebook = entry.item.place, entry.item.notebook
        needed = notebook in run and place.startswith("Fig.") and not entry.pictures
        if needed and place not in entry.metrics.left_out:
            raise ValueError(f"{place} is missing: {notebook} lists no picture")
    small = any(metrics.paper_size is False for metrics in run.values())
    judged = read(sorted(REFERENCE.glob("*.json"))) if small else run  # a small run decides nothing
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"brief": brief, "label": label, "power": power, "written": written}
    environment.filters |= {
        "inlined": partial(inlined, out_dir), "filled": partial(filled, run=judged),
        "decimals": column_decimals,
    }  # fmt: skip
    page = environment.from_string(TEMPLATE.read_text())
    published = any(metrics.published_tables for metrics in judged.values())
    found = findings({"published tables" if published else "our tables": judged})
    return page.render(
        name=out_dir.name, run=run, small=small, judged=judged, signs=SIGNS, findings=found,
        entries=list(zip(entries, compare(judged), strict=True)),
        differences=load_findings().differences,
    )  # fmt: skip


def read_run(profile: Profile, out_dir: Path) -> dict[str, Metrics]:
    """Metrics of a run: of every notebook, and of those apart that have run here."""
    apart = [name for name in profile.apart if is_complete(out_dir / f"{name}.json")]
    paths = [out_dir / f"{name}.json" for name in [*profile.at_once, *apart]]
    for path in paths:
        if not path.is_file():
            raise ValueError(f"{path} is missing: run the notebooks first")
    return read(paths)


def read(paths: Iterable[Path]) -> dict[str, Metrics]:
    """Metrics files by notebook."""
    return {path.stem: Metrics.model_validate_json(path.read_bytes()) for path in paths}


def inlined(out_dir: Path, name: str) -> str:
    """A picture in a folder as a data URI."""
    path = out_dir / name
    if not path.is_file() or not path.stat().st_size:
        raise ValueError(f"the picture {path} is missing or empty")
    encoded = base64.b64encode(path.read_bytes()).decode()
    return f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"


def label(text: str, sizes: Mapping[str, int] | None = None) -> str:
    """A text with words in place of names; `sizes` has the cells of the training sets."""
    cells = sizes or {}
    return NAMES.sub(
        lambda name: LABELS.get(name[0], f"{cells.get(name[0], name[2])} cells in distribution"),
        text,
    )


def digits_beside(printed: str) -> int:
    """Decimals of a number of ours beside a printed one: small ones have one more."""
    return decimals(printed) + (abs(float(printed)) < MANY_DIGITS)


def column_decimals(rows: Mapping[str, Mapping[str, Check]]) -> dict[str, int]:
    """Decimals of our numbers in each column of a table."""
    columns = next(iter(rows.values()), {})
    return {column: max(digits_beside(cells[column].published) for cells in rows.values())
            for column in columns}  # fmt: skip


def power(number: float) -> str:
    """A power of ten in words, 0.001 as 10⁻³."""
    return "10" + str(round(math.log10(number))).translate(SUPERSCRIPTS)


def brief(values: Any, sizes: Mapping[str, int] | None = None) -> str:
    """Our numbers behind a claim: one line, or one for each group."""
    if isinstance(values, Mapping) and "values" in values:  # of repeated trainings
        return brief(values["mean"])
    if isinstance(values, Mapping):
        words = {label(name, sizes): brief(value, sizes) for name, value in values.items()}
        nested = {name for name, text in words.items() if ": " in text}
        lines = (f"{n} ({t})" if n in nested else f"{n}: {t}" for n, t in words.items())
        return ("\n" if nested else "; ").join(lines)
    if not isinstance(values, float):
        return label(str(values), sizes)
    if values and abs(values) < 1e-4:
        mantissa, exponent = f"{values:.2e}".split("e")
        return f"{mantissa} × {power(10.0 ** int(exponent))}".replace("-", "−")
    text = f"{values:#.3g}" if abs(values) < 1000 else f"{values:.0f}"
    return text.rstrip(".").replace("-", "−")


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
