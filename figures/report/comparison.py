"""Every figure and table of the paper beside the metrics files of a run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from figures.claims import Check, Claim, Item, load_published

Content = Mapping[str, Any]  # of a table in published.yaml, or of a metrics file


def compare(metrics: Mapping[str, Content]) -> list[Item]:
    """Every figure and table of the paper beside the metrics files of a run.

    Args:
        metrics: Notebook → content of its metrics file.

    Returns:
        The items in the paper's order; those whose notebook did not run are not present.
    """
    published = load_published()
    checks = [
        check
        for table, (notebook, checks_of) in TABLES.items()
        if notebook in metrics
        for check in checks_of(published[table], metrics[notebook])
    ]
    return [
        _item(entry, checks, metrics.get(entry["notebook"], {})) for entry in published["items"]
    ]


def _item(entry: Content, checks: Iterable[Check], metrics: Content) -> Item:
    place, starts = entry["place"], tuple(entry["pictures"])
    claims = map(Claim.from_json, metrics.get("claims", []))
    own = {
        "pictures": {n: t for n, t in metrics.get("figures", {}).items() if n.startswith(starts)},
        "checks": [check for check in checks if check.place == place],
        "claims": [claim for claim in claims if claim.about == place],
        "comparable": metrics.get("paper_size", False),
    }
    return Item(**{**entry, **own})


def variance_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 1: variance of the weights, with the published optimiser and with Adam proper."""
    unit = table["unit"]
    for prior, row in table["rows"].items():
        for optimiser, label in table["optimisers"].items():
            values = zip(table["columns"], row["variance"], row["tolerance"], strict=True)
            for group, published, tolerance in values:
                cell = metrics["table_1"][optimiser][prior][group]
                ours = {"mean": cell["value"] / unit, "std": cell["error"] / unit}
                judged = tolerance if optimiser == "published" else None
                yield _check(table, f"{row['label']}, {label}", group, published, ours, judged,
                             metrics["paper_size"])  # fmt: skip


def noise_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Fig. 10: assumed noise beside the scatter of the replicates, both in % of mid-range."""
    for design, label in table["designs"].items():
        scatter = metrics["noise_percent"].get(design, {})
        values = zip(table["columns"], table["percent"], table["tolerance"], strict=True)
        for name, published, tolerance in values:
            if name in scatter:
                yield _check(table, label, name, published, scatter[name], tolerance,
                             metrics["paper_size"])  # fmt: skip


def information_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 2: mutual information of each input with each output."""
    tolerance = table["tolerance"][_kind([table["design"]], metrics)]
    for i, name in enumerate(table["rows"]):
        for j, output in enumerate(table["columns"]):
            ours = {"mean": metrics["table_2"]["value"][output][name], "std": None}
            yield _check(table, name, output, table["nats"][i][j], ours, tolerance[i][j],
                         metrics["paper_size"])  # fmt: skip


def score_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 3: RMSE, miscalibration and ELPPD of each training set and method."""
    for name, row in table["rows"].items():
        if name not in metrics["rows"]:
            continue
        tolerance = row["tolerance"][_kind(row["tables"], metrics)]
        n_train = metrics["n_train"].get(name.rpartition("_")[0])
        same_size = metrics["n_test"] == table["n_test"] and n_train == row.get("n_train")
        for score in table["columns"]:
            yield _check(table, row_label(row, n_train), score, row[score],
                         metrics["rows"][name][score], tolerance[score],
                         metrics["paper_size"] and same_size)  # fmt: skip


def improvement_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 4: relative gain from vanilla to anchored for each output."""
    kind = _kind(table["tables"], metrics)
    comparable = metrics["paper_size"] and metrics["n_train"]["outd"] == table["n_train"]
    for score, row in table["rows"].items():
        values = zip(table["columns"], row["gain"], row["tolerance"][kind], strict=True)
        for output, published, tolerance in values:
            ours = metrics["improvement"][score][output]
            yield _check(table, row["label"], output, published, ours, tolerance, comparable)


def row_label(row: Content, n_train: int | None = None) -> str:
    """Label of a row of Table 3 with its number of training cells, and the paper's if it differs.

    Args:
        row: Entry of the table.
        n_train: Training cells of a run; None for the paper's.
    """
    published = row.get("n_train", 0)
    ours = published if n_train is None else n_train
    return row["label"].format(n=ours if ours == published else f"{ours}, paper {published}")


def _check(
    table: Content, row: str, column: str, published: float, ours: Content,
    tolerance: float | str | None, comparable: bool,
) -> Check:  # fmt: skip
    """A check of a mean with its standard deviation."""
    return Check(
        table["place"], row, column, published, ours["mean"], ours["std"], tolerance, comparable
    )


def _kind(tables: Iterable[str], metrics: Content) -> str:
    """Which tolerances apply: those for the published tables, or those for simulated ones."""
    return "same_tables" if set(tables) <= set(metrics["published_tables"]) else "other"


TABLES = {  # entry of published.yaml → notebook with our numbers, and how they are compared
    "table_1": ("01_prior_study", variance_checks),
    "fig_10": ("03_materials_data", noise_checks),
    "table_2": ("03_materials_data", information_checks),
    "table_3": ("04_materials_surrogate", score_checks),
    "table_4": ("04_materials_surrogate", improvement_checks),
}
