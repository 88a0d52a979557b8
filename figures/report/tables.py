"""Tables of the guides and CSV files, from metrics: python -m figures.report.tables --write.

The text of the guides is written by hand. tests/figures/report/sentences.py checks the numbers
in it.
"""

import json
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer

from figures.claims import SCATTER, Item, Source, Table, load_published
from figures.markdown import comma_separated, markdown, with_blocks
from figures.pipeline.paths import REFERENCE, ROOT, all_metrics, committed_metrics
from figures.pipeline.profiles import (
    DRAWS,
    SURROGATE,
)
from figures.report.comparison import (
    REBUILT,
    SIGNS,
    Check,
    Metrics,
    compare,
    read,
)
from figures.report.labels import label
from figures.scores import Interval, as_interval, written
from safe_files.writing import write_atomic

# Folder of a run → the data from which it was computed
RUNS = {
    "full": "our tables",
    "full-authors": "published tables",
    REBUILT: "our RVEs at the published inputs",
}
LEFT_OUT = ("InD (N = 50)", "InD (N = 100)")  # of Table 3 in the page
HOLDS = {True: "✓", False: "✗", None: "○"}
Runs = Mapping[str, Mapping[str, Metrics]]  # folder → notebook → metrics


def committed() -> dict[str, dict[str, Metrics]]:
    """Read the metrics of the committed runs."""
    return {name: read(committed_metrics(name)) for name in RUNS}


def deviation(number: Any) -> float:
    """Return the standard deviation in a metrics file: a number, or one over repeated results."""
    if not isinstance(number, Mapping):
        return float(number)
    return float(number["std"] if "std" in number else np.std(number["values"], ddof=1))


def deviations(runs: Runs, item: Item, source: Source, row: str) -> list[float]:
    """Return the standard deviations of the printed numbers of a row, in the unit of its table."""
    metrics = runs[source.run][source.notebook]
    method = row.removeprefix("published.")
    places = [source.at.format(row=row, column=c, method=method) for c in item.columns]
    ratios = [deviation(metrics.at(place)) / item.unit for place in places]
    return [float(f"{ratio:.6g}") for ratio in ratios]


def scatter(runs: Runs) -> str:
    """Return the scatter of each printed number as JSON: place of the paper, row, kind."""
    places: dict[str, dict[str, dict[str, list[float]]]] = {}
    for place, item in load_published().items():
        kinds = {"scatter": item.scatter, "same_tables": item.same_tables}
        for row in item.rows:
            if item.scatter is None or row.startswith("proper."):
                continue
            places.setdefault(place, {})[row] = {
                kind: [source] * len(item.columns)
                if isinstance(source, float)
                else deviations(runs, item, source, row)
                for kind, source in kinds.items()
                if source is not None
            }
    return json.dumps(places, indent=1) + "\n"


def size_of_gain(runs: Runs) -> str:
    """Return the table of gains by anchoring: in the paper, on published data, on our datasets."""
    draws, authors = runs["full"][DRAWS], runs["full-authors"][SURROGATE]
    ours = compare(runs["full"])
    gains: Any = draws.at("gains")
    rows = []

    def add(words: str, one: Mapping[str, Any], theirs: Interval, digits: int, met: Any) -> None:
        printed = written(one["printed"], min(digits, 2))
        rows.append(
            [
                words,
                printed,
                written(theirs, digits),
                written(as_interval(one["gain"]), digits),
                f"{HOLDS[met]} {one['positive']} of {draws.repeats}",
            ]
        )

    for words, score, sign, digits in (
        ("RMSE", "rmse", 1, 3),
        ("miscalibration", "miscalibration", 1, 3),
        ("ELPPD", "elppd", -1, 0),
    ):
        vanilla, anchored = (
            as_interval(authors.at(f"rows.published.outd_{name}.{score}"))
            for name in ("vanilla", "anchored")
        )
        theirs = vanilla - anchored if sign > 0 else anchored - vanilla
        met = ours["Table 3"].outcomes[f"better/{score}"]
        add(words, gains[score]["all_outputs"], theirs, digits, met)
    add(
        "relative RMSE of c_eff",
        gains["rmse"]["c_eff"],
        as_interval(authors.at("improvement.rmse.c_eff")),
        2,
        ours["Table 4"].outcomes["rmse/c_eff"],
    )
    header = ["gain of anchoring", "paper", "published data", f"our {draws.repeats} datasets"]
    return markdown([*header, "better in"], rows)


def signed(check: Check) -> str:
    """Format our number with its scatter and the sign of its verdict."""
    number = written({"mean": check.ours, "std": check.deviation}, check.decimals)
    return f"{number} {SIGNS.get(check.verdict, '')}".strip()


def scores(runs: Runs) -> Table:
    """Return Table 3 of the paper with the numbers of every run."""
    ours, theirs, rebuilt = (compare(run)["Table 3"] for run in runs.values())
    rows = [
        [
            ours.label(name),
            label(score),
            check.published.replace("-", "−"),
            signed(check),
            signed(theirs.rows[name][score]),
            signed(rebuilt.rows[name][score]),
            signed(theirs.rows[name.replace("published", "proper")][score]),
        ]
        for name, checks in ours.rows.items()
        if name.startswith("published.")
        for score, check in checks.items()
    ]
    header = [
        "",
        "score",
        "paper",
        f"our {runs['full'][DRAWS].repeats} datasets ± standard deviation",
        f"published data ({theirs.metrics.repeats} seeds) ± standard deviation",
        f"our RVEs at published inputs ({runs[REBUILT][DRAWS].repeats} simulations) "
        "± standard deviation",
        "published data, standard Adam ± standard deviation",
    ]
    return Table("", header, rows)


def short(table_3: Table) -> str:
    """Return rows of Table 3 with the paper's numbers and ours over datasets; the CSV has all."""
    rows: dict[str, list[str]] = {}
    header = [""]
    for name, score, paper, ours, *_ in table_3.rows:
        if name.startswith(LEFT_OUT):
            continue
        rows.setdefault(name, []).extend((paper, ours))
        if len(rows) == 1:
            header += [f"{score}: paper", "ours ± sd"]
    return markdown(header, [[name, *numbers] for name, numbers in rows.items()])


def contents(run: Mapping[str, Metrics]) -> str:
    """Return the table of all figures and tables of the paper: verdicts, and our pictures."""
    rows = []
    for entry in compare(run).values():
        item = entry.item
        judge = " †" if entry.source != item.notebook else ""
        verdict = f"{SIGNS[entry.verdict]} {entry.count}" if entry.count else entry.verdict
        rows.append([item.place, verdict + judge, ", ".join(map(linked, entry.pictures))])
    return markdown(["", "comparisons met", "our pictures"], rows)


def linked(picture: str) -> str:
    """Return a link to a picture of the full run; "fig06a_vanilla.svg" is called "a vanilla"."""
    words = re.sub(r"^fig\d+|\.\w+$", "", picture).replace("_", " ").strip()
    return f"[{words}](../figures/{REFERENCE.name}/{picture})"


def runtime(runs: Runs) -> str:
    """Return the commit and the computing time of each metrics file as CSV."""
    rows = []
    for folder in runs:
        for path in all_metrics(folder):
            made = json.loads(path.read_text(encoding="utf-8"))["provenance"]
            minutes = math.ceil(made["wall_time_s"] / 60)
            rows.append([str(path.relative_to(ROOT)), made["commit"], str(minutes)])
    return comma_separated(["file", "commit", "minutes_rounded_up"], rows)


def blocks(runs: Runs) -> dict[Path, dict[str, str]]:
    """Return the text of each generated table, by page and name."""
    docs = ROOT / "docs"
    run = runs["full"]
    return {
        docs / "findings.md": {"size_of_gain": size_of_gain(runs)},
        docs / "verdicts.md": {
            "map": contents(run),
            "scores": short(scores(runs)),
        },
    }


def files(runs: Runs) -> dict[Path, str]:
    """Return the text of each CSV file."""
    tables = ROOT / "docs" / "tables"
    table_3 = scores(runs)
    return {
        tables / "runs.csv": runtime(runs),
        tables / "table_3.csv": comma_separated(["row", *table_3.header[1:]], table_3.rows),
    }


def publish(
    texts: dict[Path, str], pages: dict[Path, dict[str, str]], write: bool, program: str
) -> None:
    """Check generated files, and generated tables in pages, or update them."""
    for path, parts in pages.items():
        texts[path] = with_blocks(path.read_text(encoding="utf-8"), parts)
    for path, text in texts.items():
        if write:
            write_atomic(path, text.encode(), None)
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            remedy = f"python -m {program} --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


def main(write: bool = False) -> None:
    """Check the generated tables and CSV files, or update them."""
    runs = committed()
    publish({SCATTER: scatter(runs)}, {}, write, "figures.report.tables")  # verdicts need it
    publish(files(runs), blocks(runs), write, "figures.report.tables")


if __name__ == "__main__":
    typer.run(main)
