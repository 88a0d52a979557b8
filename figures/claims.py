"""The paper's numbers and claims beside ours, and the verdict on each.

published.yaml holds what the paper prints; metrics files of the notebooks hold ours. A number is
reproduced when ours, a mean over repeats, lies within the tolerance; a claim in words when our
numbers bear it out. Neither is judged where a run is smaller than the paper's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PUBLISHED = Path(__file__).with_name("published.yaml")
REPRODUCED, FAILED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"
NOT_JUDGED = ""  # shown beside, without a published counterpart of its own

PRIOR_STUDY, EXAMPLE, DATA, SURROGATE = (
    "01_prior_study",
    "02_example_1d",
    "03_materials_data",
    "04_materials_surrogate",
)


@dataclass(frozen=True)
class Check:
    """One published number beside ours.

    Attributes:
        place: Figure or table.
        row, column: Where in it.
        published, ours: The numbers, in the unit of the paper.
        deviation: Standard deviation of ours, over repeats unless the table says otherwise.
        tolerance: Allowed distance, or why there is none; see `judge`.
        verdict: One of the verdicts.
    """

    place: str
    row: str
    column: str
    published: float
    ours: float
    deviation: float | None
    tolerance: float | str | None
    verdict: str


@dataclass(frozen=True)
class Claim:
    """One claim of the paper in words, with our numbers."""

    place: str
    text: str
    ours: Mapping[str, Any]
    verdict: str


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper with everything that is checked in it."""

    place: str
    section: str
    title: str
    notebook: str
    pictures: Mapping[str, str]  # file → caption
    checks: list[Check]
    claims: list[Claim]
    note: str
    reason: str  # why it is not reproduced on our tables; empty where it is
    present: bool  # whether the run has it

    @property
    def verdicts(self) -> list[str]:
        """Of the numbers and claims that are judged."""
        found = [check.verdict for check in self.checks] + [each.verdict for each in self.claims]
        return [verdict for verdict in found if verdict]

    @property
    def verdict(self) -> str:
        """Reproduced when everything that could be compared is."""
        judged = [v for v in self.verdicts if v != NOT_COMPARABLE]
        if not judged or not self.present:
            return NOT_COMPARABLE
        return FAILED if FAILED in judged else REPRODUCED

    @property
    def count(self) -> str:
        """How many of the comparisons are reproduced."""
        judged = [v for v in self.verdicts if v != NOT_COMPARABLE]
        return f"{judged.count(REPRODUCED)} of {len(judged)}" if judged and self.present else ""


def load_published() -> dict[str, Any]:
    """Published values with their places and tolerances."""
    return yaml.safe_load(PUBLISHED.read_text())


def judge(published: float, ours: float, tolerance: float | str | None, comparable: bool) -> str:
    """The verdict on one number.

    Args:
        published: value in the paper.
        ours: mean over repeats.
        tolerance: allowed distance; None where the number is not judged, "not comparable" where
            its spread has been found larger than itself.
        comparable: whether ours was computed at the paper's size.
    """
    if tolerance is None:
        return NOT_JUDGED
    if isinstance(tolerance, str) or not comparable:
        return NOT_COMPARABLE
    return REPRODUCED if abs(ours - published) <= tolerance else FAILED


def compare(metrics: Mapping[str, Mapping[str, Any]]) -> list[Item]:
    """Every figure and table of the paper beside the metrics files of a run.

    Args:
        metrics: notebook → content of its metrics file.

    Returns:
        The items in the paper's order; those whose notebook did not run are marked absent.
    """
    content = load_published()
    checks = _checks(content, metrics)
    return [_item(entry, checks, metrics.get(entry["notebook"], {})) for entry in content["items"]]


def _item(entry: Mapping[str, Any], checks: list[Check], metrics: Mapping[str, Any]) -> Item:
    place = entry["place"]
    figures = metrics.get("figures", {})
    pictures = {
        name: text for name, text in figures.items() if name.startswith(tuple(entry["pictures"]))
    }
    own = [check for check in checks if check.place == place]
    claims = claims_about(place, metrics)
    return Item(
        place=place,
        section=entry["section"],
        title=entry["title"],
        notebook=entry["notebook"],
        pictures=pictures,
        checks=own,
        claims=claims,
        note=entry.get("note", ""),
        reason=entry.get("reason", ""),
        present=bool(pictures or own or claims),
    )


def claims_about(place: str, metrics: Mapping[str, Any]) -> list[Claim]:
    """The claims of a metrics file about one figure or table, with their verdicts."""
    comparable = metrics.get("paper_size", False)
    return [
        Claim(place, claim["claim"], claim["ours"], _claim_verdict(claim["holds"], comparable))
        for claim in metrics.get("claims", [])
        if claim["about"] == place
    ]


def _claim_verdict(holds: bool | None, comparable: bool) -> str:
    if not comparable:
        return NOT_COMPARABLE
    return REPRODUCED if holds else FAILED


def _checks(content: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]]) -> list[Check]:
    found: list[Check] = []
    if PRIOR_STUDY in metrics:
        found += variance_checks(content["table_1"], metrics[PRIOR_STUDY])
    if DATA in metrics:
        found += noise_checks(content["fig_10"], metrics[DATA])
        found += information_checks(content["table_2"], metrics[DATA])
    if SURROGATE in metrics:
        found += score_checks(content["table_3"], metrics[SURROGATE])
        found += improvement_checks(content["table_4"], metrics[SURROGATE])
    return found


def variance_checks(table: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[Check]:
    """Table 1: variance of the weights, with the published optimiser and with Adam proper."""
    found = []
    for prior, row in table["rows"].items():
        for optimiser, label in table["optimisers"].items():
            for i, group in enumerate(table["columns"]):
                cell = metrics["table_1"][optimiser][prior][group]
                value, error = (cell[name] / table["unit"] for name in ("value", "error"))
                tolerance = row["tolerance"][i] if optimiser == "published" else None
                published = row["variance"][i]
                verdict = judge(published, value, tolerance, metrics["paper_size"])
                name = f"{row['label']}, {label}"
                found.append(
                    Check(table["place"], name, group, published, value, error, tolerance, verdict)
                )
    return found


def noise_checks(table: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[Check]:
    """Fig. 10: assumed noise beside the scatter of the replicates, both in % of mid-range."""
    found = []
    for design, label in table["designs"].items():
        scatter = metrics["noise_percent"].get(design, {})
        for name, published, tolerance in zip(
            table["columns"], table["percent"], table["tolerance"], strict=True
        ):
            if name in scatter:
                ours, verdict = scatter[name], NOT_JUDGED
                verdict = judge(published, ours["mean"], tolerance, metrics["paper_size"])
                found.append(
                    Check(
                        table["place"], label, name, published, ours["mean"], ours["std"],
                        tolerance, verdict,
                    )
                )  # fmt: skip
    return found


def information_checks(table: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[Check]:
    """Table 2: mutual information of each input with each output."""
    same = table["design"] in metrics["published_tables"]
    found = []
    for i, name in enumerate(table["rows"]):
        for j, output in enumerate(table["columns"]):
            published = table["nats"][i][j]
            tolerance = table["tolerance"]["same_tables" if same else "other"][i][j]
            ours = metrics["table_2"]["value"][output][name]
            verdict = judge(published, ours, tolerance, metrics["paper_size"])
            found.append(
                Check(table["place"], name, output, published, ours, None, tolerance, verdict)
            )
    return found


def score_checks(table: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[Check]:
    """Table 3: RMSE, miscalibration and ELPPD of each training set and method."""
    found = []
    for name, row in table["rows"].items():
        if name not in metrics["rows"]:
            continue
        kind = "same_tables" if set(row["tables"]) <= set(metrics["published_tables"]) else "other"
        n_train = metrics["n_train"].get(name.rpartition("_")[0])
        same_size = metrics["n_test"] == table["n_test"] and n_train == row.get("n_train")
        comparable = metrics["paper_size"] and same_size
        for score in table["columns"]:
            ours = metrics["rows"][name][score]
            tolerance = row["tolerance"][kind][score]
            verdict = judge(row[score], ours["mean"], tolerance, comparable)
            found.append(
                Check(
                    table["place"], row_label(row, n_train), score, row[score], ours["mean"],
                    ours["std"], tolerance, verdict,
                )
            )  # fmt: skip
    return found


def row_label(row: Mapping[str, Any], n_train: int | None = None) -> str:
    """Label of a row of Table 3 with the number of training cells, and the paper's if it differs.

    Args:
        row: Entry of the table.
        n_train: Training cells of a run; None for the paper's.
    """
    published = row.get("n_train", 0)
    ours = published if n_train is None else n_train
    return row["label"].format(n=ours if ours == published else f"{ours}, paper {published}")


def improvement_checks(table: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[Check]:
    """Table 4: relative gain from vanilla to anchored of each output."""
    same = set(table["tables"]) <= set(metrics["published_tables"])
    comparable = metrics["paper_size"] and metrics["n_train"]["outd"] == table["n_train"]
    found = []
    for score, row in table["rows"].items():
        for i, output in enumerate(table["columns"]):
            ours = metrics["improvement"][score][output]
            published = row["gain"][i]
            tolerance = row["tolerance"]["same_tables" if same else "other"][i]
            verdict = judge(published, ours["mean"], tolerance, comparable)
            found.append(
                Check(
                    table["place"], row["label"], output, published, ours["mean"], ours["std"],
                    tolerance, verdict,
                )
            )  # fmt: skip
    return found
