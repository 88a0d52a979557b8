"""The paper's numbers beside ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PUBLISHED = Path(__file__).with_name("published.yaml")


@dataclass(frozen=True)
class Comparison:
    """One published value beside ours."""

    published: float
    ours: float
    deviation: float | None  # standard deviation over our repeats
    verdict: str  # reproduced, not reproduced, not comparable, or empty where no verdict is given


def load_published() -> dict[str, Any]:
    """Published values with their places and tolerances."""
    return yaml.safe_load(PUBLISHED.read_text())


def verdict(published: float, ours: float, tolerance: float | None, comparable: bool) -> str:
    """Whether ours is within the tolerance of the published value.

    Args:
        published: value in the paper.
        ours: mean over repeats.
        tolerance: allowed distance; None where none has been argued for.
        comparable: whether ours was computed at the paper's size.
    """
    if not comparable:
        return "not comparable"
    if tolerance is None:
        return ""
    return "reproduced" if abs(ours - published) <= tolerance else "not reproduced"


def compare_scores(metrics: Mapping[str, Any]) -> dict[str, dict[str, Comparison]]:
    """Table 3 beside a metrics file of the materials surrogates.

    Args:
        metrics: content of the file.

    Returns:
        Label of each row that both have → score → comparison. The ELPPD, a sum over test cells,
        is divided by their number, so that test sets of different sizes can be compared.
    """
    table = load_published()["table_3"]
    return {
        row["label"]: {
            score: _compare(table, row, score, metrics, name) for score in table["columns"]
        }
        for name, row in table["rows"].items()
        if name in metrics["rows"]
    }


def _compare(table, row, score: str, metrics, name: str) -> Comparison:
    ours = metrics["rows"][name][score]
    tolerance = row.get("tolerance", {}).get(score)
    comparable = _same_size(table, name, row, metrics)
    judged = verdict(row[score], ours["mean"], tolerance, comparable)
    scales = (table["n_test"], metrics["n_test"]) if score == "elppd" else (1, 1)
    deviation = None if ours["std"] is None else ours["std"] / scales[1]
    return Comparison(row[score] / scales[0], ours["mean"] / scales[1], deviation, judged)


def _same_size(table, name: str, row, metrics) -> bool:
    """Whether training and test sets have the paper's sizes."""
    case = name.rpartition("_")[0]
    same_training = metrics["n_train"].get(case) == row.get("n_train")
    return metrics["n_test"] == table["n_test"] and same_training


def compare_improvements(metrics: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, float]]]:
    """Table 4 beside a metrics file: score → output → (published, ours)."""
    table = load_published()["table_4"]
    return {
        score: {
            name: (published, metrics["improvement"][score][name])
            for name, published in zip(table["outputs"], table[f"{score}_improvement"], strict=True)
        }
        for score in ("rmse", "miscalibration")
    }
