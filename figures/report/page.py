"""Write the page of a run, one file: python -m figures.report.page quick figures/quick."""

import base64
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from figures.pipeline.paths import MEDIA_TYPES, REFERENCE, ROOT, is_complete, picture_path
from figures.pipeline.profiles import Profile, load_profile
from figures.report.comparison import Comparison, Metrics, compare, read
from figures.report.findings import found_on, load_records
from figures.report.words import ENVIRONMENT


def render(profile: Profile, out_dir: Path) -> str:
    """The page of a run, HTML in one file; ValueError names what it would show and is not there.

    A run smaller than the paper decides nothing: the findings and verdicts are those of the
    committed full run.
    """
    run = read_run(profile, out_dir)
    entries = compare(run)
    for entry in entries.values():
        require_pictures(entry, run)
    small = any(metrics.paper_size is False for metrics in run.values())
    judged = read(sorted(REFERENCE.glob("*.json"))) if small else run
    found = found_on(judged)
    return ENVIRONMENT.get_template("page.html").render(
        run_name=out_dir.name,
        run=run,
        small=small,
        judged=judged,
        judged_name=REFERENCE.name if small else out_dir.name,
        found=[*found.findings.values()],
        unmet=found.unmet,
        differences=load_records().differences,
        entries=list(zip(entries.values(), compare(judged).values(), strict=True)),
        inlined=partial(inlined, out_dir),
    )


def require_pictures(entry: Comparison, run: dict[str, Metrics]) -> None:
    """ValueError where a notebook of the run lists no picture of a figure and does not say why."""
    place = entry.item.place
    notebook = entry.item.notebook
    needed = notebook in run and place.startswith("Fig.") and not entry.pictures
    if needed and place not in entry.metrics.left_out:
        raise ValueError(f"{place} is missing: {notebook} lists no picture")


def read_run(profile: Profile, out_dir: Path) -> dict[str, Metrics]:
    """Metrics of a run: of every notebook, and of those apart that have run here."""
    apart = [name for name in profile.apart if is_complete(out_dir / f"{name}.json")]
    paths = [out_dir / f"{name}.json" for name in [*profile.at_once, *apart]]
    for path in paths:
        if not path.is_file():
            raise ValueError(f"{path} is missing: run the notebooks first")
    return read(paths)


def inlined(out_dir: Path, name: str) -> str:
    """A picture in a folder as a data URI."""
    path = picture_path(out_dir, name)
    if not path.is_file() or not path.stat().st_size:
        raise ValueError(f"the picture {path} is missing or empty")
    encoded = base64.b64encode(path.read_bytes()).decode()
    return f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"


def main(profile: str, out_dir: Annotated[Path | None, Argument()] = None) -> None:
    """Write the page of a run in a folder, by default figures/PROFILE."""
    try:
        chosen = load_profile(profile)
        out_dir = out_dir or ROOT / "figures" / chosen.name
        text = render(chosen, out_dir)
    except ValueError as error:
        sys.exit(f"error: {error}")
    target = out_dir / "index.html"
    target.write_text(text, encoding="utf-8")
    print(f"open {target}")


if __name__ == "__main__":
    typer.run(main)
