"""Tables of the guides and CSV files, from metrics: python -m figures.report.tables --write.

The text of the guides is written by hand. tests/figures/report/test_findings.py checks the numbers
in it.
"""

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from fe_data.files.writing import write_atomic
from figures.beyond.other_methods.methods import LABELS
from figures.beyond.prior_knowledge.study import MODELS
from figures.claims import Table, load_published
from figures.composite.draws import in_words
from figures.markdown import comma_separated, markdown, with_blocks
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import (
    ACTIVE_LEARNING,
    DRAWS,
    OTHER_METHODS,
    PRIOR_KNOWLEDGE,
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

# Folder of a run → the data from which it was computed
RUNS = {
    "full": "our tables",
    "full-authors": "published tables",
    REBUILT: "our RVEs at the published inputs",
}
SCORES = {"rmse": ("RMSE", 3), "miscalibration": ("miscalibration", 3), "elppd": ("ELPPD", 0)}
OF_REFERENCE = {
    "reference_rmse_fields": ("RMSE against the reference data", 3),
    "elppd": ("ELPPD", 0),
}
OF_INTERVALS = {"reference_coverage": ("coverage of f", 3)}
OF_SELECTION = ("rmse", "worst", "std", "worst_std")
SHOWN = [  # methods in the table of the page; all are in the CSV
    LABELS[name]
    for name in (
        "vanilla",
        "low_rank",
        "proper",
        "function",
        "function_evidence",
        "sampled_evidence",
        "exact",
        "exact_evidence",
    )
]
SHOWN_KNOWLEDGE = [
    MODELS[name].label
    for name in ("paper", "evidence", "covariance", "by_input", "fitted", "default")
]
HOLDS = {True: "✓", False: "✗", None: "○"}
Runs = Mapping[str, Mapping[str, Metrics]]  # folder → notebook → metrics


def committed() -> dict[str, dict[str, Metrics]]:
    """Read the metrics of the committed runs."""
    return {name: read(sorted((ROOT / "figures" / name).glob("*.json"))) for name in RUNS}


def by_label(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return scores by label of the method; the label notes if a method has fewer seeds."""
    repeated = {name: row["rmse"] for name, row in rows.items() if isinstance(row["rmse"], dict)}
    seeds = {name: len(rmse["values"]) for name, rmse in repeated.items()}
    most = max(seeds.values())
    fewer = {name: f" ({n} of {most} seeds)" for name, n in seeds.items() if n < most}
    return {LABELS[name] + fewer.get(name, ""): row for name, row in rows.items()}


def grouped(
    groups: Mapping[str, Mapping[str, Any]], columns: Mapping[str, tuple[str, int]]
) -> Table:
    """Return a table with one row per method, and the given columns for each group of scores."""
    header = ["method"]
    rows: dict[str, list[str]] = {method: [] for group in groups.values() for method in group}
    for name, group in groups.items():
        for score, (title, decimals) in columns.items():
            header.append(f"{name}: {title}")
            for method, cells in rows.items():
                number = group.get(method, {}).get(score)
                cells.append("" if number is None else written(number, decimals))
    return Table("", header, [[method, *cells] for method, cells in rows.items()])


def of_methods(runs: Runs) -> Table:
    """Return the table of methods out of distribution, on the published tables and on ours."""
    beyond = {tables: cases["outd"] for tables, cases in scores_of_methods(runs).items()}
    methods = grouped(beyond, SCORES)
    printed = load_published()["Table 3"].rows["published.outd_anchored"].printed
    methods.rows.insert(
        0, ["the paper prints", *(each.replace("-", "−") for each in printed), "", "", ""]
    )
    return methods


def scores_of_methods(runs: Runs) -> dict[str, dict[str, dict[str, Mapping[str, Any]]]]:
    """Return scores by kind of tables, training set and method."""
    scores = {}
    for name in ("full-authors", "full"):
        beyond = runs[name][OTHER_METHODS].model_extra or {}
        cases = beyond["rows"].items()
        scores[RUNS[name]] = {case: by_label(rows | beyond["exact"][case]) for case, rows in cases}
    return scores


def of_knowledge(known: Mapping[str, Any]) -> tuple[Table, str]:
    """Return the scores of posteriors with more knowledge as a table.

    Also return the scores of all estimators, with coverages, as CSV.
    """
    more = {
        in_words(case): {MODELS[name].label: row for name, row in rows.items()}
        for case, rows in known["rows"].items()
    }
    single = {
        in_words(case): {LABELS[name]: row for name, row in rows.items()}
        for case, rows in known["ensembles"].items()
    }
    every = {(words,): rows | single.get(words, {}) for words, rows in more.items()}
    return grouped(more, OF_REFERENCE), long(
        ("training_set",), every.items(), OF_REFERENCE | OF_INTERVALS
    )


def of_selection(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the scores of selected RVEs and of Latin hypercubes, by number of RVEs, as CSV."""
    groups = (
        ((n,), {name: found[n]}) for name, found in rows.items() for n in sorted(found, key=int)
    )
    return long(("n_rves",), groups, dict.fromkeys(OF_SELECTION, ("", 0)))


def long(
    names: Sequence[str],
    groups: Iterable[tuple[Sequence[str], Mapping[str, Any]]],
    columns: Mapping[str, tuple[str, int]],
) -> str:
    """Return CSV with one row per group, method and score, with the 95 % confidence half-width."""
    rows = []
    for group, methods in groups:
        for method, found in methods.items():
            for score in columns:
                if found.get(score) is not None:
                    number = as_interval(found[score])
                    margin = "" if number.half_width is None else f"{number.half_width:.4g}"
                    rows.append([*group, method, score, f"{number.mean:.4g}", margin])
    return comma_separated([*names, "method", "score", "mean", "half_width"], rows)


def some(table: Table, columns: Mapping[int, str], methods: Collection[str] = ()) -> str:
    """Select columns of a table by number, with new names, as Markdown.

    Rows without numbers are left out, and with `methods` all rows of other methods.
    """
    rows = [[row[number] for number in columns] for row in table.rows]
    rows = [row for row in rows if any(row[1:]) and (not methods or row[0] in methods)]
    return markdown([*columns.values()], rows)


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
        f"our {runs['full'][DRAWS].repeats} datasets",
        f"published data ({theirs.metrics.repeats} seeds)",
        f"our RVEs at published inputs ({runs[REBUILT][DRAWS].repeats} simulations)",
        "published data, standard Adam",
    ]
    return Table("", header, rows)


def short(table_3: Table) -> str:
    """Return Table 3 with one row per training set: the paper's numbers and ours over datasets."""
    rows: dict[str, list[str]] = {}
    header = [""]
    for name, score, paper, ours, *_ in table_3.rows:
        rows.setdefault(name, []).extend((paper, ours))
        if len(rows) == 1:
            header += [f"{score}: paper", "ours"]
    return markdown(header, [[name, *numbers] for name, numbers in rows.items()])


def contents(run: Mapping[str, Metrics]) -> str:
    """Return the table of all figures and tables of the paper with their verdicts."""
    rows = []
    for entry in compare(run).values():
        item = entry.item
        judge = " †" if entry.source != item.notebook else ""
        verdict = f"{SIGNS[entry.verdict]} {entry.count}" if entry.count else entry.verdict
        rows.append([item.place, verdict + judge])
    return markdown(["", "comparisons met"], rows)


def runtime(runs: Runs) -> str:
    """Return the commit and the computing time of each metrics file as CSV."""
    rows = []
    for folder, run in runs.items():
        for name, metrics in run.items():
            made = metrics.provenance
            minutes = math.ceil(made["wall_time_s"] / 60)
            rows.append([f"figures/{folder}/{name}.json", made["commit"], str(minutes)])
    return comma_separated(["file", "commit", "minutes_rounded_up"], rows)


def blocks(runs: Runs) -> dict[Path, dict[str, str]]:
    """Return the text of each generated table, by page and name."""
    docs = ROOT / "docs"
    run = runs["full"]
    knowledge, _ = of_knowledge(run[PRIOR_KNOWLEDGE].model_extra or {})
    return {
        docs / "findings.md": {"size_of_gain": size_of_gain(runs)},
        docs / "verdicts.md": {
            "map": contents(run),
            "scores": short(scores(runs)),
        },
        docs / "findings_methods.md": {
            "methods": some(of_methods(runs), {0: "method", 4: "RMSE", 6: "ELPPD"}, SHOWN),
            "knowledge": some(
                knowledge,
                {0: "method", 3: "25 RVEs", 7: "100 RVEs", 9: "out of distribution"},
                SHOWN_KNOWLEDGE,
            ),
        },
    }


def files(runs: Runs) -> dict[Path, str]:
    """Return the text of each CSV file."""
    tables = ROOT / "docs" / "tables"
    methods = {
        (name, in_words(case)): rows
        for name, cases in scores_of_methods(runs).items()
        for case, rows in cases.items()
    }
    selected: Any = runs["full"][ACTIVE_LEARNING].at("rows")
    table_3 = scores(runs)
    return {
        tables / "runs.csv": runtime(runs),
        tables / "active_learning.csv": of_selection(selected),
        tables / "table_3.csv": comma_separated(["row", *table_3.header[1:]], table_3.rows),
        tables / "methods.csv": long(("tables", "training_set"), methods.items(), SCORES),
        tables / "knowledge.csv": of_knowledge(runs["full"][PRIOR_KNOWLEDGE].model_extra or {})[1],
    }


def main(write: bool = False) -> None:
    """Check the generated tables and CSV files, or update them."""
    runs = committed()
    texts = files(runs)
    for path, parts in blocks(runs).items():
        texts[path] = with_blocks(path.read_text(encoding="utf-8"), parts)
    for path, text in texts.items():
        if write:
            write_atomic(path, text.encode(), None)
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            remedy = "python -m figures.report.tables --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
