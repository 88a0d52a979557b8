"""Tables of the studies in guides and CSV files, from metrics: python -m studies.tables --write."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from figures.claims import Table, load_published
from figures.composite.draws import in_words
from figures.markdown import comma_separated, markdown
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import ACTIVE_LEARNING, OTHER_METHODS, PRIOR_KNOWLEDGE
from figures.report.tables import RUNS, Runs, committed, publish
from figures.scores import as_interval, written
from studies.other_methods.methods import LABELS
from studies.prior_knowledge.study import MODELS

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
        "function_evidence",
        "exact",
        "exact_evidence",
    )
]
SHOWN_SCORES = {  # columns of that table
    0: "method",
    4: "RMSE",
    6: "ELPPD",
}


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
        0, ["the paper reports", *(text.replace("-", "−") for text in printed), "", "", ""]
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


def of_knowledge(metrics: Mapping[str, Any]) -> str:
    """Return the scores of all estimators with more knowledge, with coverages, as CSV."""
    more = {
        in_words(case): {MODELS[name].label: row for name, row in rows.items()}
        for case, rows in metrics["rows"].items()
    }
    single = {
        in_words(case): {LABELS[name]: row for name, row in rows.items()}
        for case, rows in metrics["ensembles"].items()
    }
    every = {(words,): rows | single.get(words, {}) for words, rows in more.items()}
    return long(("training_set",), every.items(), OF_REFERENCE | OF_INTERVALS)


def of_selection(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the scores of selected RVEs and of Latin hypercubes, by number of RVEs, as CSV."""
    groups = (
        ((n,), {name: counts[n]}) for name, counts in rows.items() for n in sorted(counts, key=int)
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
        for method, row in methods.items():
            for score in columns:
                if row.get(score) is not None:
                    number = as_interval(row[score])
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


def blocks(runs: Runs) -> dict[Path, dict[str, str]]:
    """Return the text of each generated table, by page and name."""
    return {
        ROOT / "docs" / "findings.md": {"methods": some(of_methods(runs), SHOWN_SCORES, SHOWN)},
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
    return {
        tables / "active_learning.csv": of_selection(selected),
        tables / "methods.csv": long(("tables", "training_set"), methods.items(), SCORES),
        tables / "knowledge.csv": of_knowledge(runs["full"][PRIOR_KNOWLEDGE].model_extra or {}),
    }


def main(write: bool = False) -> None:
    """Check the generated tables and CSV files, or update them."""
    runs = committed()
    publish(files(runs), blocks(runs), write, "studies.tables")


if __name__ == "__main__":
    typer.run(main)
