"""Write the pages of a run: python -m figures.report.page quick figures/quick.

index.html has the verdicts, and each notebook has a separate page with its figures. Every page is a
single file that includes its figures.
"""

import base64
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import jinja2
import typer
from typer import Argument, Option

from figures.pipeline.clean import note
from figures.pipeline.paths import (
    MEDIA_TYPES,
    NOTEBOOKS,
    REFERENCE,
    ROOT,
    is_complete,
    picture_path,
    results_folder,
    tables_below,
)
from figures.pipeline.profiles import DRAWS, Profile, load_profile
from figures.pipeline.provenance import file_digest
from figures.report.comparison import (
    SIGNS,
    Comparison,
    Metrics,
    command,
    compare,
    heading,
    judging,
    metrics_file,
    read,
)
from figures.report.equality import report
from figures.report.labels import brief, column_decimals, label, power
from figures.scores import written
from safe_files.writing import write_atomic

# StrictUndefined: a missing name in a template raises an error.
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
)
ENVIRONMENT.filters |= {
    "brief": brief,
    "decimals": column_decimals,
    "label": label,
    "power": power,
    "written": written,
}
ENVIRONMENT.globals |= {
    "command": command,
    "source": metrics_file,
    "explained": "../../docs/verdicts.md",
    "heading": heading,
    "signs": SIGNS,
}
BEGINNING = rb'<!DOCTYPE html>\n.{0,500}<link rel="icon" href="data:,">\n<style>'  # of a page


def render(profile: Profile, out_dir: Path) -> dict[str, str]:
    """Return the pages of a run, by file name, as HTML.

    The metrics that give the verdicts, see `judging`, are shown beside those of the run.

    Raises:
        ValueError: If metrics or a picture of the run are missing.
    """
    run = read_run(profile, out_dir)
    entries = compare({name: metrics for name, metrics in run.items() if name != DRAWS})
    for entry in entries.values():
        require_pictures(entry, run)
    small = any(metrics.paper_size is False for metrics in run.values())
    judged = judging(run, out_dir)
    decided = compare(judged)
    over_seeds = compare({name: metrics for name, metrics in judged.items() if name != DRAWS})
    context = {
        "run_name": out_dir.name,
        "run": run,
        "executed": {name for name in run if (out_dir / "notebooks" / f"{name}.html").is_file()},
        "small": small,
        "judged": judged,
        "judging": REFERENCE.name if small else out_dir.name,
        "foreign": foreign_tables(run),
        "minutes": minutes(run),
        "equality": report(out_dir),
        "repeated": [] if small else repeated_by(run, judged, out_dir),
        "over_seeds": over_seeds,  # for rows that the independent datasets do not have
        "entries": {place: (entry, decided[place]) for place, entry in entries.items()},
        "inlined": partial(inlined, out_dir),
    }
    pages = {"index.html": ENVIRONMENT.get_template("story.html").render(context, here="index")}
    template = ENVIRONMENT.get_template("notebook.html")
    for name, content in run.items():
        compared = [entry for entry in entries.values() if entry.item.notebook == name]
        judges = [decided[entry.item.place].source for entry in compared]
        shown = {file for entry in compared for file in entry.pictures}
        pages[f"{name}.html"] = template.render(
            context,
            here=name,
            content=content,
            other_pictures={f: text for f, text in content.figures.items() if f not in shown},
            provenance=provenance(
                {name, *(entry.source for entry in compared), *judges}, out_dir, run, judged
            ),
        )
    return pages


def render_study(notebook: str, out_dir: Path) -> dict[str, str]:
    """Return the page of a study's notebook as HTML, by file name.

    Claims of a small run are judged by the committed full run.

    Raises:
        ValueError: If the metrics or a picture of the run are missing.
    """
    run = read([require_metrics(out_dir / f"{notebook}.json")])
    full = results_folder(notebook, REFERENCE.name)
    small = out_dir.resolve() != full and not out_dir.name.startswith(f"{full.name}-")
    judged = read([full / f"{notebook}.json"]) if small else run
    content = run[notebook]
    text = ENVIRONMENT.get_template("notebook.html").render(
        run_name=out_dir.name,
        run={},
        executed={notebook} if (out_dir / "notebooks" / f"{notebook}.html").is_file() else set(),
        small=small,
        judged=judged,
        judging=full.name if small else out_dir.name,
        entries={},
        over_seeds={},
        inlined=partial(inlined, out_dir),
        here=notebook,
        content=content,
        other_pictures=content.figures,
        provenance=provenance({notebook}, out_dir, run, judged),
    )
    return {"index.html": text}


def provenance(
    names: set[str], out_dir: Path, *runs: dict[str, Metrics]
) -> dict[str, dict[str, Any]]:
    """Return the provenance of notebooks' metrics in the shown run and in the judged run."""
    shown, judges = runs
    labels = {f"{out_dir.name} run, {name}": shown[name] for name in sorted(names & shown.keys())}
    for name in sorted(names & judges.keys()):
        if judges[name] is not shown.get(name):
            labels[f"verdicts, {name}"] = judges[name]
    return {label: metrics.provenance for label, metrics in labels.items()}


def repeated_by(run: dict[str, Metrics], judged: dict[str, Metrics], out_dir: Path) -> list[str]:
    """Return the paths of metrics that judge a notebook of the run instead of its own."""
    names = [name for name in run if judged[name] is not run[name]]
    names += [name for name in run if name == DRAWS]
    return [metrics_file(out_dir.name, name) for name in names]


def foreign_tables(run: dict[str, Metrics]) -> list[str]:
    """Return the tables that a run read and whose content is not in this repository."""
    shipped = {file_digest(path) for path in [*tables_below(), *tables_below(NOTEBOOKS)]}
    read_by = [metrics.provenance.get("inputs_sha256", {}) for metrics in run.values()]
    return sorted(
        {name for tables in read_by for name, digest in tables.items() if digest not in shipped}
    )


def minutes(run: dict[str, Metrics]) -> float:
    """Return the total time of all notebooks of a run [min]."""
    return sum(metrics.provenance.get("wall_time_s", 0.0) for metrics in run.values()) / 60


def require_pictures(entry: Comparison, run: dict[str, Metrics]) -> None:
    """Raise ValueError if a notebook has no picture of a figure that it does not leave out."""
    place = entry.item.place
    notebook = entry.item.notebook
    needed = notebook in run and place.startswith("Fig.") and not entry.pictures
    if needed and place not in entry.metrics.left_out:
        raise ValueError(f"{place} is missing: {notebook} lists no picture")


def read_run(profile: Profile, out_dir: Path) -> dict[str, Metrics]:
    """Read the metrics of all notebooks of a run, and of those on request that are complete."""
    apart = [name for name in profile.apart if is_complete(out_dir / f"{name}.json")]
    return read(require_metrics(out_dir / f"{name}.json") for name in [*profile.at_once, *apart])


def require_metrics(path: Path) -> Path:
    """Return the path of a metrics file; ValueError if it is missing."""
    if not path.is_file():
        raise ValueError(f"{path} is missing: run the notebooks first")
    return path


def inlined(out_dir: Path, name: str) -> str:
    """Return a picture in a folder as a data URI."""
    path = picture_path(out_dir, name)
    if not path.is_file() or not path.stat().st_size:
        raise ValueError(f"the picture {path} is missing or empty")
    encoded = base64.b64encode(path.read_bytes()).decode()
    return f"data:{MEDIA_TYPES[path.suffix]};base64,{encoded}"


def main(
    profile: str,
    out_dir: Annotated[Path | None, Argument()] = None,
    notebook: Annotated[str, Option(help="of a study, whose page is written")] = "",
) -> None:
    """Write the pages of a run into its folder, by default figures/PROFILE."""
    try:
        chosen = load_profile(profile)
        if notebook:
            out_dir = out_dir or results_folder(notebook, chosen.name)
            pages = render_study(notebook, out_dir)
        else:
            out_dir = out_dir or ROOT / "figures" / chosen.name
            pages = render(chosen, out_dir)
    except ValueError as error:
        sys.exit(f"error: {error}")
    try:
        out_dir.mkdir(parents=True, exist_ok=True)  # of repeats alone there is no other result
        for name, text in reversed(pages.items()):  # index.html, which links to the others, last
            write_atomic(out_dir / name, text.encode(), BEGINNING)
            note(out_dir / name)
    except OSError as error:
        sys.exit(f"error: {error}")
    print(f"open {out_dir / 'index.html'}")


if __name__ == "__main__":
    typer.run(main)
