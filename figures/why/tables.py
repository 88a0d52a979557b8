"""Tables and claims of what the gain of anchoring rests on."""

from collections.abc import Mapping
from typing import Any

from figures.claims import Claim, Table
from figures.pipeline.settings import FEWEST_CASE, TRAINING_CASE
from figures.scores import LARGER_IS_BETTER, Interval, is_below, written
from figures.why.alike import TUNED, Rows, row_name
from figures.why.ensembles import ANCHORED, CHOICES, PUBLISHED, VANILLA, Choice, Judged
from figures.why.reasons import Experiments

ABOUT = "Why anchoring helps"
COLUMNS = {  # score → heading and decimals
    "rmse": ("RMSE", 3),
    "elppd": ("ELPPD, mixture", 0),
    "elppd_normal": ("ELPPD, normal", 0),
    "miscalibration": ("miscalibration", 3),
    "coverage": ("coverage with noise (95 %)", 2),
    "truth_coverage": ("coverage of f (95 %)", 2),
    "spread": ("spread of f", 3),
}
HEADER = ["", *(heading for heading, _ in COLUMNS.values())]
COMPARED = ("rmse", "elppd", "elppd_normal", "miscalibration")
LAST = CHOICES[-1]  # neither resampling nor scaling as published


def in_words(case: str, n_train: Mapping[str, int]) -> str:
    """Words for a training set."""
    where = "out of distribution" if case == TRAINING_CASE else "in distribution"
    return f"{n_train[case]} cells, {where}"


def gain(rows: Mapping[str, Judged], choice: Any, score: str) -> Interval:
    """What the anchored ensemble gains over the vanilla one, positive where it is better."""
    anchored = getattr(rows[row_name(ANCHORED, choice)], score)
    vanilla = getattr(rows[row_name(VANILLA, choice)], score)
    difference: Interval = anchored - vanilla if is_density(score) else vanilla - anchored
    return difference


def is_density(score: str) -> bool:
    """Whether a larger value of a score is the better one."""
    return score in (*LARGER_IS_BETTER, "elppd_normal")


def tables(rows: Rows, found: Experiments, n_train: Mapping[str, int]) -> list[Table]:
    """Scores with equal choices, gains with equal choices, and the experiments."""
    return [_scores(rows, n_train), _gains(rows, n_train), _experiments(found, n_train)]


def _scores(rows: Rows, n_train: Mapping[str, int]) -> Table:
    body = [
        [f"{in_words(case, n_train)}: {name}", *_cells(row)]
        for case, methods in rows.items()
        for name, row in methods.items()
    ]
    return Table(
        "Vanilla and anchored ensembles with equal choices: means over draws with the half width "
        "of their 95 % interval. The mixture is the density that the paper scores, the normal one "
        "has the moments of the members; both are with noise. A spread of f is epistemic and "
        "scaled; its coverage is that of means over arrangements.",
        HEADER,
        body,
    )


def _cells(row: Judged) -> list[str]:
    return [written(getattr(row, score), decimals) for score, (_, decimals) in COLUMNS.items()]


def _gains(rows: Rows, n_train: Mapping[str, int]) -> Table:
    choices: list[Choice | str] = [*CHOICES, TUNED]
    body = [
        [
            f"{in_words(case, n_train)}: {row_name('both', choice).removeprefix('both, ')}",
            *(written(gain(methods, choice, score), COLUMNS[score][1]) for score in COMPARED),
        ]
        for case, methods in rows.items()
        for choice in choices
    ]
    return Table(
        "What anchoring gains over a vanilla ensemble that was trained with the same choices: "
        "paired differences, means over draws with the half width of their 95 % interval, positive "
        "where anchoring is better.",
        ["", *(COLUMNS[score][0] for score in COMPARED)],
        body,
    )


def _experiments(found: Experiments, n_train: Mapping[str, int]) -> Table:
    body: list[list[str]] = []
    for method, path in found.epochs.items():
        body += [[f"{method}, {n} epochs", *_cells(row)] for n, row in path.items()]
    for name, row in found.priors.items():
        body.append([_prior(name, found.evidence), *_cells(row)])
    body += [[f"start: {name}", *_cells(row)] for name, row in found.starts.items()]
    for method, sizes in found.sizes.items():
        body += [[f"{method}, {name}", *_cells(row)] for name, row in sizes.items()]
    few = in_words(FEWEST_CASE, n_train)
    body += [[f"{few}: {name}", *_cells(row)] for name, row in found.theta.items()]
    return Table(
        "What the gain rests on, one change to the published settings at a time, out of "
        "distribution where nothing else is said: means over draws with the half width of their "
        "95 % interval. Beside each prior stands the log evidence of the training cells under it. "
        "The starts are those of ensembles without a regulariser.",
        HEADER,
        body,
    )


def _prior(name: str, evidence: Mapping[str, Any]) -> str:
    return f"prior: {name} (log evidence {written(evidence[name], 0)})"


def claims(rows: Rows, found: Experiments) -> list[Claim]:
    """Claims with our numbers; they are ours, not the paper's."""
    outside = rows[TRAINING_CASE]
    made = []
    for score in ("rmse", "elppd_normal"):
        heading, _ = COLUMNS[score]
        published = gain(outside, PUBLISHED, score)
        alike = gain(outside, LAST, score)
        tuned = gain(outside, TUNED, score)
        means = {
            "as published": published.mean,
            "both otherwise": alike.mean,
            "held out": tuned.mean,
        }
        made += [
            Claim(
                f"tuned/{score}",
                ABOUT,
                f"Out of distribution anchoring still gains in {heading} when held-out cells "
                "choose resampling, scaling and epochs of both ensembles",
                means,
                is_below(Interval((0.0,) * len(tuned.values)), tuned),
            ),
            Claim(
                f"choices/{score}",
                ABOUT,
                f"Half of the published gain in {heading} or more is gone when both ensembles "
                "resample by the likelihood and are scaled by the training cells",
                means,
                is_below(alike, Interval(tuple(0.5 * value for value in published.values))),
            ),
        ]
    starts = found.starts
    names = list(starts)
    made.append(
        Claim(
            "start/mean",
            ABOUT,
            "The mean of the pre-trained networks without their spread, as a common start, has a "
            "larger RMSE than the networks themselves",
            {name: starts[name].rmse.mean for name in names},
            is_below(starts[names[0]].rmse, starts[names[2]].rmse),
        )
    )
    return made
