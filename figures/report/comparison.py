"""Every figure and table of the paper beside the metrics files of a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from figures.claims import Check, Claim, Item, load_published

Content = Mapping[str, Any]  # of a table in published.yaml, or of a metrics file


def compare(metrics: Mapping[str, Content]) -> list[Item]:
    """Every figure and table of the paper beside the metrics files of a run, by notebook."""
    published = load_published()
    checks = [
        check
        for table, (notebook, checks_of) in TABLES.items()
        if notebook in metrics
        for check in checks_of(published[table], metrics[notebook])
    ]
    return [_item(each, checks, metrics.get(each["notebook"], {})) for each in published["items"]]


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


def _row(
    table: Content, label: str, published: Sequence[float], ours: Sequence[Content],
    tolerances: Sequence[float | str | None], comparable: bool,
) -> Iterator[Check]:  # fmt: skip
    """A check in each column of a table, with our mean and standard deviation."""
    columns = zip(table["columns"], published, ours, tolerances, strict=True)
    for column, number, cell, tolerance in columns:
        yield Check(
            table["place"], label, column, number, cell["mean"], cell["std"], tolerance, comparable
        )


def variance_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 1: variance of the weights, with the published optimiser and with Adam proper."""
    unit = table["unit"]
    for prior, row in table["rows"].items():
        for optimiser, label in table["optimisers"].items():
            cells = [metrics["table_1"][optimiser][prior][group] for group in table["columns"]]
            ours = [{"mean": c["value"] / unit, "std": c["error"] / unit} for c in cells]
            judged = row["tolerance"] if optimiser == "published" else [None] * len(ours)
            yield from _row(table, f"{row['label']}, {label}", row["variance"], ours, judged,
                            metrics["paper_size"])  # fmt: skip


def noise_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Fig. 10: assumed noise beside the scatter of the replicates, both in % of mid-range."""
    for design, scatter in metrics["noise_percent"].items():
        ours = [scatter[name] for name in table["columns"]]
        yield from _row(table, table["designs"][design], table["percent"], ours,
                        table["tolerance"], metrics["paper_size"])  # fmt: skip


def information_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 2: mutual information of each input with each output."""
    tolerances, value = (
        table["tolerance"][_kind([table["design"]], metrics)],
        metrics["table_2"]["value"],
    )
    for name, published, tolerance in zip(table["rows"], table["nats"], tolerances, strict=True):
        ours = [{"mean": value[output][name], "std": None} for output in table["columns"]]
        yield from _row(table, name, published, ours, tolerance, metrics["paper_size"])


def score_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 3: RMSE, miscalibration and ELPPD of each training set and method."""
    for name, row in table["rows"].items():
        if name not in metrics["rows"]:
            continue
        n_train = metrics["n_train"].get(name.rpartition("_")[0])
        same_size = metrics["n_test"] == table["n_test"] and n_train == row.get("n_train")
        sources = row, metrics["rows"][name], row["tolerance"][_kind(row["tables"], metrics)]
        published, ours, limits = ([each[score] for score in table["columns"]] for each in sources)
        comparable = metrics["paper_size"] and same_size
        yield from _row(table, row_label(row, n_train), published, ours, limits, comparable)


def improvement_checks(table: Content, metrics: Content) -> Iterator[Check]:
    """Table 4: relative gain from vanilla to anchored for each output."""
    kind = _kind(table["tables"], metrics)
    comparable = metrics["paper_size"] and metrics["n_train"]["outd"] == table["n_train"]
    for score, row in table["rows"].items():
        ours = [metrics["improvement"][score][output] for output in table["columns"]]
        yield from _row(table, row["label"], row["gain"], ours, row["tolerance"][kind], comparable)


def row_label(row: Content, n_train: int | None = None) -> str:
    """Label of a row of Table 3 with its training cells, and the paper's number if it differs."""
    published = row.get("n_train", 0)
    ours = published if n_train is None else n_train
    return row["label"].format(n=ours if ours == published else f"{ours}, paper {published}")


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
