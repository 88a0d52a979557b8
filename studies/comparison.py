"""Compare a small run of a study with the study's committed results.

python -m studies.comparison SMALL COMMITTED reads two files of metrics (.json) or of results
(.jsonl). A small run has the first datasets or seeds of a full run, or some of its cases. It prints
how many scores are equal, and how far the others are from the committed ones, in standard
deviations of the committed scores over datasets, seeds or cases.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

ROUNDING = 1e-9  # relative difference of numbers that are equal up to rounding errors
TIMES = ("fit", "predict", "seconds", "pretrain_seconds")  # entries that are no scores
INPUTS = ("vf", "normal_strength_MPa", "toughness_I_J_m2")  # of RVEs: entries that tell the case
MACHINE = ("processor", "blas")  # entries that differ between machines


@dataclass(frozen=True)
class Agreement:
    """Differences between scores of a small run and the committed ones."""

    count: int  # scores that both have
    equal: int  # of them, to the last digit
    largest: float  # |difference| / standard deviation of the committed scores
    median: float  # the same, of all scores that differ
    constant: int = 0  # scores that differ, but whose committed scores are all equal

    def __str__(self) -> str:
        """Return the agreement in one sentence."""
        text = f"{self.equal} of {self.count} scores are equal"
        if self.equal == self.count:
            return text
        if self.constant:
            text = f"{text}, {self.constant} differ from committed ones that do not scatter"
        if self.equal + self.constant == self.count:
            return text
        others = f"{self.median:.2g} standard deviations (median), at most {self.largest:.2g}"
        return f"{text}, the others differ by {others}"


def series(value: Any, place: str = "") -> Iterator[tuple[str, list[float]]]:
    """Yield the scores of a metrics file over datasets or seeds, each with its place."""
    if not isinstance(value, Mapping):
        return
    if isinstance(value.get("values"), list):
        yield place, value["values"]
    for key, entry in value.items():
        if key not in TIMES:
            yield from series(entry, f"{place}/{key}")


def lines(text: str) -> dict[str, dict[str, float]]:
    """Return the scores of a file of results by their name, then by the other entries."""
    scores: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        result = json.loads(line)
        numbers = {
            name: value
            for name, value in result.items()
            if isinstance(value, float) and name not in (*TIMES, *INPUTS)
        }
        case = json.dumps(
            {
                name: value
                for name, value in result.items()
                if name in INPUTS or (isinstance(value, int | str) and name not in MACHINE)
            }
        )
        for name, value in numbers.items():
            scores.setdefault(name, {})[case] = value
    return scores


def standard_deviation(scores: list[float]) -> float:
    """Return the standard deviation of scores; zero if they differ by rounding errors alone."""
    if np.ptp(scores) <= ROUNDING * np.max(np.abs(scores)):
        return 0.0
    return float(np.std(scores, ddof=1))


def pairs(small: Path, committed: Path) -> Iterator[tuple[float, float, float]]:
    """Yield a score of the small run, the committed one, and the standard deviation of its kind.

    The standard deviation is zero if the committed scores differ by rounding errors alone. Scores
    of which only one is committed are left out, since nothing tells their scatter.
    """
    if small.suffix == ".json":
        here = dict(series(json.loads(small.read_text(encoding="utf-8"))))
        for place, there in series(json.loads(committed.read_text(encoding="utf-8"))):
            if len(there) > 1:
                scatter = standard_deviation(there)
                for new, old in zip(here.get(place, []), there, strict=False):
                    yield new, old, scatter
        return
    runs = lines(small.read_text(encoding="utf-8"))
    for name, scores in lines(committed.read_text(encoding="utf-8")).items():
        if len(scores) < 2:
            continue
        scatter = standard_deviation(list(scores.values()))
        for case, new in runs.get(name, {}).items():
            if case in scores:
                yield new, scores[case], scatter


def agreement(small: Path, committed: Path) -> Agreement:
    """Return how well a small run agrees with committed results.

    Raises:
        ValueError: If the two files have no score in common.
    """
    compared = list(pairs(small, committed))
    if not compared:
        raise ValueError(f"{small} and {committed} have no score in common")
    differing = [(abs(new - old), scatter) for new, old, scatter in compared if new != old]
    ratios = [difference / scatter for difference, scatter in differing if scatter]
    median = float(np.median(ratios)) if ratios else 0.0
    return Agreement(
        len(compared),
        len(compared) - len(differing),
        max(ratios, default=0.0),
        median,
        len(differing) - len(ratios),
    )


def main(
    small: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    committed: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
) -> None:
    """Print how well a small run of a study agrees with the committed results."""
    try:
        print(agreement(small, committed))
    except ValueError as error:
        raise SystemExit(f"comparison: {error}") from None


if __name__ == "__main__":
    typer.run(main)
