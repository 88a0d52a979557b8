"""Metrics files: what a notebook writes beside its figures, and what the report reads."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from fe_data.settings import OUTPUT_NAMES
from figures.materials.surrogate import Prediction

CONFIDENCE = 0.95  # that a comparison has the sign that is reported


def spread(values: Sequence[float] | np.ndarray) -> dict[str, Any]:
    """Mean, standard deviation (None for a single value) and the values themselves."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": deviation, "values": [float(v) for v in values]}


def score_rows(repeats: Sequence[Mapping[str, Prediction]]) -> dict[str, Any]:
    """Scores of each method over repeated trainings.

    Args:
        repeats: predictions by method, one mapping a repeat.

    Returns:
        method → score → spread; "by_output" holds RMSE and miscalibration of each output.
    """
    return {
        method: _scores([predictions[method] for predictions in repeats]) for method in repeats[0]
    }


def _scores(predictions: list[Prediction]) -> dict[str, Any]:
    scores = [prediction.scores() for prediction in predictions]
    row: dict[str, Any] = {name: spread([s[name] for s in scores]) for name in scores[0]}
    columns = {
        "rmse": np.array([p.rmse_by_output() for p in predictions]),
        "miscalibration": np.array([p.miscalibration_by_output() for p in predictions]),
    }
    row["by_output"] = {
        name: dict(zip(OUTPUT_NAMES, map(spread, values.T), strict=True))
        for name, values in columns.items()
    }
    return row


def improvements(rows: Mapping[str, Any], case: str) -> dict[str, dict[str, Any]]:
    """Gain from vanilla to anchored, (vanilla - anchored) / vanilla: score → output → spread.

    Source: Table 4 of the paper.
    """
    vanilla, anchored = (rows[f"{case}_{m}"]["by_output"] for m in ("vanilla", "anchored"))
    return {
        score: {
            name: spread(1 - values_of(anchored[score][name]) / values_of(vanilla[score][name]))
            for name in OUTPUT_NAMES
        }
        for score in vanilla
    }


def values_of(cell: Mapping[str, Any]) -> np.ndarray:
    """The values behind a spread, one a repeat."""
    return np.array(cell["values"])


def is_smaller(first: np.ndarray, second: np.ndarray) -> bool | None:
    """Whether the first of paired values is smaller on average.

    Args:
        first: One value a repeat, (n,).
        second: The same repeats, (n,).

    Returns:
        None where the t-test of the differences leaves the sign open; a single repeat decides.
    """
    difference = np.asarray(second) - np.asarray(first)
    n = len(difference)
    if n > 1:
        error = difference.std(ddof=1) / np.sqrt(n)
        if abs(difference.mean()) <= t.ppf(0.5 + 0.5 * CONFIDENCE, n - 1) * error:
            return None
    return bool(difference.mean() > 0)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a metrics file; values that are not finite are refused.

    Raises:
        ValueError: naming the first value that is not finite.
    """
    _refuse_non_finite(content, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def _refuse_non_finite(content: Any, place: str) -> None:
    if isinstance(content, Mapping):
        for key, value in content.items():
            _refuse_non_finite(value, f"{place}: {key}")
    elif isinstance(content, list):
        for index, value in enumerate(content):
            _refuse_non_finite(value, f"{place}[{index}]")
    elif isinstance(content, float) and not math.isfinite(content):
        raise ValueError(f"{place} = {content} is not finite")
