"""The gain of anchoring on independently simulated datasets (section 3.2 of the paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from figures.claims import Table, load_published
from figures.composite.draws import Draw
from figures.composite.problem import (
    OUTPUT_NAMES,
    fit_theta,
)
from figures.materials_surrogate.surrogate import SCORES, OutputScores, Rows, improvements, train
from figures.pipeline.processes import seeds_of, side_by_side
from figures.pipeline.profiles import Profile
from figures.pipeline.settings import TRAINING_CASE
from figures.pipeline.training import PROCEDURES
from figures.scores import LARGER_IS_BETTER, Interval, over_repeats, student_factor, written

ALL = "all_outputs"  # name for a score over all outputs
ANCHORED = f"{TRAINING_CASE}_anchored"
VANILLA = f"{TRAINING_CASE}_vanilla"
Scored = Mapping[str, OutputScores[float]]  # method → scores of one training


def train_draw(draw: Draw, profile: Profile, seed: int) -> Scored:
    """Train every method once on one dataset, to which θ is fitted, and return the scores."""
    theta = fit_theta(draw.cases[TRAINING_CASE])
    procedure = PROCEDURES[profile.training]
    predictions = train(draw.cases, draw.test, theta, profile.surrogate, procedure, seed)
    return {name: prediction.scores() for name, prediction in predictions.items()}


def train_draws(draws: Sequence[Draw], profile: Profile, seed: int) -> list[list[Scored]]:
    """Return the scores of the trainings on each dataset, each with its own seed."""
    assert profile.draws
    repeats = profile.draws.repeats
    seeds = seeds_of(seed, len(draws) * repeats)
    calls = [(draws[i // repeats], profile, training_seed) for i, training_seed in enumerate(seeds)]
    scored = side_by_side(train_draw, calls)
    return [scored[i : i + repeats] for i in range(0, len(scored), repeats)]


def over_draws(scored: Sequence[Sequence[Scored]]) -> Rows:
    """Return scores of each method with one value per dataset: the mean over its trainings."""
    return over_repeats([over_repeats(trainings) for trainings in scored])


def scatter(scored: Sequence[Sequence[Scored]]) -> dict[str, dict[str, float | None]]:
    """Return standard deviations of single trainings over all datasets: method → score."""
    single = over_repeats([training for trainings in scored for training in trainings])
    return {
        method: {score: getattr(row, score).std for score in SCORES}
        for method, row in single.items()
    }


@dataclass(frozen=True)
class Gain:
    """Gain of anchoring over the vanilla ensemble in a score, out of distribution."""

    gain: Interval  # over datasets, positive if anchoring is better
    positive: int  # datasets with a positive gain
    # Change of the gain per unit share of test RVEs outside the training range; 0 if all datasets
    # have the same share.
    slope: float
    slope_half_width: float  # of the 95 % interval
    printed: float | None = None  # gain on the paper's dataset
    below_printed: int | None = None  # datasets with a smaller gain than the paper's

    @classmethod
    def of(cls, gain: Interval, outside: Sequence[float], printed: float | None = None) -> "Gain":
        """Compute the regression of the gain on the shares outside, and its rank.

        Args:
            gain: Gain on each dataset.
            outside: Share of test RVEs outside the training range, of each dataset.
            printed: Gain on the paper's dataset, if known.

        Returns:
            The gain with these numbers.
        """
        values = np.array(gain.values)
        slope = half_width = 0.0
        if np.ptp(outside) > 0:
            fit = stats.linregress(outside, gain.values)
            slope = float(fit.slope)
            half_width = float(student_factor(len(outside) - 2) * fit.stderr)
        positive = int(np.sum(values > 0))
        below = None if printed is None else int(np.sum(values < printed))
        return cls(gain, positive, slope, half_width, printed, below)


def printed_scores(method: str) -> dict[str, float]:
    """Return the numbers of a method in Table 3 of the paper, by score."""
    table = load_published()["Table 3"]
    printed = map(float, table.rows[f"published.{method}"].printed)
    return dict(zip(table.columns, printed, strict=True))


def gains(rows: Rows, outside: Sequence[float]) -> dict[str, dict[str, Gain]]:
    """Return gains by score and output: fractions if Table 4 has them, else differences."""
    anchored = rows[ANCHORED]
    vanilla = rows[VANILLA]
    fractions = improvements(rows, TRAINING_CASE)
    table_4 = load_published()["Table 4"]
    gain_of: dict[str, dict[str, Gain]] = {}
    for score in SCORES:
        paper = _gain(score, *(printed_scores(name)[score] for name in (ANCHORED, VANILLA)))
        overall = _gain(score, getattr(anchored, score), getattr(vanilla, score))
        gain_of[score] = {ALL: Gain.of(overall, outside, paper)}
        for i, name in enumerate(OUTPUT_NAMES):
            if score in fractions:
                paper = float(table_4.rows[score].printed[i])
                gain_of[score][name] = Gain.of(fractions[score][name], outside, paper)
            else:
                pair = (row.by_output[score][name] for row in (anchored, vanilla))
                gain_of[score][name] = Gain.of(_gain(score, *pair), outside)
    return gain_of


def _gain(score: str, anchored: Any, vanilla: Any) -> Any:
    """Return the difference of two numbers or intervals, positive if anchoring is better."""
    return anchored - vanilla if score in LARGER_IS_BETTER else vanilla - anchored


def table_of_gains(gains: Mapping[str, Mapping[str, Gain]], count: int) -> Table:
    """Return the table of gains over `count` datasets."""
    rows = [
        [
            f"{label}, {'all outputs' if name == ALL else name}",
            _written(gain.gain, score),
            f"{gain.positive} of {count}",
            "" if gain.printed is None else _written(gain.printed, score),
            "" if gain.below_printed is None else f"{gain.below_printed} of {count}",
            _written({"mean": gain.slope / 10, "half_width": gain.slope_half_width / 10}, score),
        ]
        for score, label in SCORES.items()
        for name, gain in gains[score].items()
    ]
    return Table(
        "Gain of anchoring over the vanilla ensemble out of distribution: mean over datasets "
        "with its 95 % confidence half-width. Over all outputs the gain is the difference of the "
        "scores. For RMSE and miscalibration of one output it is a fraction of the vanilla score, "
        "as in Table 4. The last column is the slope of a regression of the gain on the share of "
        "test RVEs outside the training range.",
        [
            "",
            "gain",
            "anchored better in",
            "gain in the paper",
            "datasets with a smaller gain than the paper's",
            "change per 10 % of test RVEs outside",
        ],
        rows,
    )


def _written(number: Any, score: str) -> str:
    return written(number, 0 if score in LARGER_IS_BETTER else 3)
