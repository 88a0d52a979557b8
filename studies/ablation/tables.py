"""Tables and claims on the causes of the gain by anchoring."""

from collections.abc import Mapping

from figures.claims import Claim, Table
from figures.pipeline.settings import FEWEST_CASE, TRAINING_CASE, Ablation
from figures.scores import LARGER_IS_BETTER, Interval, is_below, written
from studies.ablation.alike import LABELS as CHOICE_LABELS
from studies.ablation.alike import TUNED, Rows, row_name
from studies.ablation.ensembles import (
    ANCHORED,
    CHOICES,
    METHODS,
    PUBLISHED,
    VANILLA,
    EnsembleScores,
)
from studies.ablation.reasons import LABELS, Experiments, size_label

ABOUT = "Why anchoring helps"
COLUMNS = {  # score → heading and decimals
    "rmse": ("RMSE", 3),
    "elppd": ("ELPPD, mixture", 0),
    "elppd_normal": ("ELPPD, normal", 0),
    "miscalibration": ("miscalibration", 3),
    "coverage": ("coverage with noise (95 %)", 2),
    "reference_coverage": ("coverage of f (95 %)", 2),
    "spread": ("std of f", 3),
}
HEADER = ["", *(heading for heading, _ in COLUMNS.values())]
COMPARED = ("rmse", "elppd", "elppd_normal", "miscalibration")
LAST = CHOICES[-1].name  # both resampling and scaling differ from the published ones


def case_label(case: str, n_train: Mapping[str, int]) -> str:
    """Return words for a training set."""
    where = "out of distribution" if case == TRAINING_CASE else "in distribution"
    return f"{n_train[case]} RVEs, {where}"


def gain(rows: Mapping[str, EnsembleScores], choice: str, score: str) -> Interval:
    """Return the gain of the anchored over the vanilla ensemble, positive if it is better."""
    anchored = getattr(rows[row_name(ANCHORED, choice)], score)
    vanilla = getattr(rows[row_name(VANILLA, choice)], score)
    larger_is_better = score in (*LARGER_IS_BETTER, "elppd_normal")
    difference: Interval = anchored - vanilla if larger_is_better else vanilla - anchored
    return difference


def tables(
    rows: Rows, experiments: Experiments, n_train: Mapping[str, int], settings: Ablation
) -> list[Table]:
    """Return tables of scores with equal choices, of gains, and of the experiments."""
    return [
        _scores(rows, n_train, settings),
        _gains(rows, n_train),
        _experiments(experiments, n_train, settings),
    ]


def _scores(rows: Rows, n_train: Mapping[str, int], settings: Ablation) -> Table:
    body = [
        [
            f"{case_label(case, n_train)}: {method}, {words}",
            *_cells(methods[row_name(method, choice)]),
        ]
        for case, methods in rows.items()
        for method in METHODS
        for choice, words in CHOICE_LABELS.items()
    ]
    return Table(
        "Vanilla and anchored ensembles with equal resampling and scaling: means over "
        f"{settings.draws} datasets with {settings.repeats} trainings each, with 95 % confidence "
        "half-widths. For each dataset held-out RVEs select resampling, scaling and epochs, with "
        f"ensembles of {settings.choosing} networks, then the number of networks, "
        f"{_listed(settings)}. In the last row they also select the initial weights: random or "
        "pre-trained; a vanilla ensemble with pre-trained weights has no regulariser. The paper "
        "scores the mixture density of the members; the normal density has their moments. Both "
        "include the noise. The standard deviation of f is epistemic and scaled, and its coverage "
        "is that of means over microstructures.",
        HEADER,
        body,
    )


def _listed(settings: Ablation) -> str:
    *first, last = map(str, settings.numbers)
    return f"{', '.join(first)} or {last}" if first else last


def _cells(row: EnsembleScores) -> list[str]:
    return [written(getattr(row, score), decimals) for score, (_, decimals) in COLUMNS.items()]


def _gains(rows: Rows, n_train: Mapping[str, int]) -> Table:
    body = [
        [
            f"{case_label(case, n_train)}: {words}",
            *(written(gain(methods, choice, score), COLUMNS[score][1]) for score in COMPARED),
        ]
        for case, methods in rows.items()
        for choice, words in CHOICE_LABELS.items()
    ]
    return Table(
        "Gain of anchoring over a vanilla ensemble with the same resampling and scaling: means of "
        "paired differences over datasets with 95 % confidence half-widths, positive if anchoring "
        "is better.",
        ["", *(COLUMNS[score][0] for score in COMPARED)],
        body,
    )


def _experiments(experiments: Experiments, n_train: Mapping[str, int], settings: Ablation) -> Table:
    body: list[list[str]] = []
    for method, path in experiments.epochs.items():
        body += [[f"{method}, {n} epochs", *_cells(row)] for n, row in path.items()]
    for name, row in experiments.priors.items():
        evidence = written(experiments.evidence[name], 0)
        body.append([f"prior: {LABELS[name]}", *_cells(row), evidence])
    body += [
        [f"initial weights: {LABELS[name]}", *_cells(row)]
        for name, row in experiments.starts.items()
    ]
    for method, sizes in experiments.sizes.items():
        body += [[f"{method}, {size_label(name)}", *_cells(row)] for name, row in sizes.items()]
    few = case_label(FEWEST_CASE, n_train)
    body += [[f"{few}: {LABELS[name]}", *_cells(row)] for name, row in experiments.theta.items()]
    return Table(
        "One change to the published settings at a time, out of distribution unless stated "
        f"otherwise: means over {settings.experiments} datasets, one training each, with 95 % "
        "confidence half-widths. The log evidence is that of the training RVEs under a prior. "
        "Ensembles with other initial weights have no regulariser.",
        [*HEADER, "log evidence"],
        [[*row, *[""] * (len(HEADER) + 1 - len(row))] for row in body],
    )


def claims(rows: Rows, experiments: Experiments) -> list[Claim]:
    """Return claims with our numbers; the claims are not from the paper."""
    outside = rows[TRAINING_CASE]
    made = []
    for score in ("rmse", "elppd_normal"):
        heading, _ = COLUMNS[score]
        published = gain(outside, PUBLISHED.name, score)
        alike = gain(outside, LAST, score)
        tuned = gain(outside, TUNED, score)
        means = {
            "as published": published.mean,
            "likelihood, scaled by data": alike.mean,
            "selected on held-out RVEs": tuned.mean,
        }
        made += [
            Claim(
                f"tuned/{score}",
                ABOUT,
                f"Out of distribution anchoring still gains in {heading} if held-out RVEs "
                "select resampling, scaling, epochs and number of networks of both ensembles",
                means,
                is_below(Interval((0.0,) * len(tuned.values)), tuned),
            ),
            Claim(
                f"choices/{score}",
                ABOUT,
                f"At least half of the published gain in {heading} disappears if both ensembles "
                "resample from the likelihood and are scaled by the training RVEs",
                means,
                is_below(alike, Interval(tuple(0.5 * value for value in published.values))),
            ),
        ]
    starts = experiments.starts
    made.append(
        Claim(
            "start/mean",
            ABOUT,
            "The mean of the pre-trained weights, used as initial weights of all networks, gives a "
            "larger RMSE than the pre-trained weights themselves",
            {LABELS[name]: row.rmse.mean for name, row in starts.items()},
            is_below(starts["networks_pretrained"].rmse, starts["mean_alone"].rmse),
        )
    )
    return made
