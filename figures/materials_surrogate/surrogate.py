"""Surrogates of the materials example: training, scores, and the claims of section 3.2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

import bnn
from bnn.evaluation.metrics import coverage, elppd, miscalibration_area, rmse
from figures.claims import Claim
from figures.composite import problem
from figures.composite.problem import OUTPUT_NAMES
from figures.pipeline.settings import TRAINING_CASE, Surrogate
from figures.pipeline.training import UNSCALED, Procedure
from figures.scores import (
    LARGER_IS_BETTER,
    Interval,
    Number,
    Scores,
    all_hold,
    is_below,
    is_below_clearly,
    is_within,
    less,
    over_repeats,
)

HIDDEN = (20, 20, 20, 20)
SIZES = ("ind25", "ind50", "ind100")
SCORES = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD"}
LEADING = ("nu_eff", "E_eff_GPa")  # outputs with the largest gain in RMSE in the paper
WORSE_CALIBRATED = "c_eff"  # the only output whose calibration is slightly worse in the paper
SLIGHTLY = 0.1  # largest slight change, as a fraction of a score; the paper prints 0.02
COMPARABLE = 0.03  # largest difference of two comparable miscalibrations
TWO_SIGMA = 0.9545  # probability of a normal distribution within ± 2 standard deviations
APPROPRIATE = 0.02  # largest error of an appropriate coverage
Cases = Mapping[str, problem.Samples]  # training sets by name


@dataclass(frozen=True)
class OutputScores(Scores[Number]):
    """Scores over all outputs, and RMSE, miscalibration, ELPPD and std of each output."""

    epistemic_std: Number  # mean over the test RVEs and outputs, scaled
    by_output: Mapping[str, Mapping[str, Number]]  # score → output → number


RepeatedScores = OutputScores[Interval]  # over the repeats
Rows = Mapping[str, RepeatedScores]  # method → its scores


@dataclass(frozen=True)
class Prediction:
    """Prediction of one ensemble for a test set."""

    samples: np.ndarray  # predictions of each network, (K, n, n_out) scaled
    observed: np.ndarray  # simulated outputs, (n, n_out) scaled

    @property
    def mean(self) -> np.ndarray:
        """Mean over networks, (n, n_out) scaled."""
        return self.samples.mean(axis=0)

    @property
    def std(self) -> np.ndarray:
        """Epistemic standard deviation, (n, n_out) scaled, with divisor K as published."""
        return self.samples.std(axis=0)

    def scores(self) -> OutputScores[float]:
        """Return scores of the epistemic uncertainty; the ELPPD has noise and physical units."""
        moments = self.observed, self.mean, self.std
        physical = problem.OUTPUT_SCALING.inverse_transform
        observed = physical(self.observed)
        samples = physical(self.samples)
        noise = problem.noise_std() * problem.OUTPUT_SCALING.half_range
        densities = [elppd(observed[:, j], samples[:, :, [j]], s) for j, s in enumerate(noise)]
        return OutputScores(
            rmse=rmse(self.observed, self.mean),
            miscalibration=miscalibration_area(*moments),
            elppd=elppd(observed, samples, noise),  # joint over the outputs
            coverage=coverage(*moments, TWO_SIGMA),
            epistemic_std=float(self.std.mean()),
            by_output={
                "rmse": problem.by_output(rmse(self.observed, self.mean, per_output=True)),
                "miscalibration": problem.by_output(miscalibration_area(*moments, per_output=True)),
                "epistemic_std": problem.by_output(self.std.mean(axis=0)),
                "elppd": problem.by_output(np.array(densities)),
            },
        )


def train(
    cases: Cases,
    test_set: problem.Samples,
    theta: np.ndarray,
    settings: Surrogate,
    procedure: Procedure,
    seed: int,
) -> dict[str, Prediction]:
    """Pre-train once, then train on each training set and predict the test set.

    Returns:
        "prior", CASE_anchored and CASE_vanilla → prediction.
    """
    n_inputs = test_set.X.shape[1]
    pretrained = bnn.pretrain(
        problem.functional_prior(theta),
        procedure.points(settings, n_inputs, seed),
        n_features=n_inputs,
        network=bnn.Architecture(HIDDEN),
        settings=procedure.pretraining(settings, settings.pretrain_epochs),
        scaling=UNSCALED,
        random_state=seed,
    )
    common: dict[str, Any] = {
        "noise": problem.noise_std(),
        "n_members": settings.n_members,
        "training": procedure.adam(settings.epochs),
        "random_state": seed,
    }
    weight_prior = procedure.low_rank(procedure.learnt_from(pretrained, settings.n_members))
    # As many networks as in the trained ensembles, because the ELPPD depends on their number.
    samples = {"prior": pretrained.sample(test_set.X)[: settings.n_members]}
    for name, train_set in cases.items():
        data = train_set.X, train_set.y
        anchored = bnn.train_anchored(
            pretrained, *data, anchoring=bnn.Anchoring(weight_prior), **common
        )
        samples[f"{name}_anchored"] = anchored.sample(test_set.X)
        if name == TRAINING_CASE:  # the paper trains vanilla ensembles only on this set
            vanilla = bnn.train_vanilla(
                *data,
                resampling="bootstrap",
                network=bnn.Architecture(HIDDEN),
                scaling=UNSCALED,
                **common,
            )
            samples[f"{name}_vanilla"] = vanilla.sample(test_set.X)
    return {name: Prediction(values, test_set.y) for name, values in samples.items()}


def score_rows(repeats: Sequence[Mapping[str, Prediction]]) -> Rows:
    """Return the scores of each method over the repeats, see `Prediction.scores`."""
    return over_repeats([{name: p.scores() for name, p in repeat.items()} for repeat in repeats])


def improvements(rows: Rows, case: str) -> dict[str, dict[str, Interval]]:
    """Return Table 4: gain (vanilla - anchored) / vanilla of a case, score → output → interval."""
    vanilla, anchored = (rows[f"{case}_{m}"].by_output for m in ("vanilla", "anchored"))
    return {
        score: {
            name: Interval(tuple(1 - np.divide(anchored[score][name].values, old.values)))
            for name, old in outputs.items()
        }
        for score, outputs in vanilla.items()
        if score in ("rmse", "miscalibration")  # an ELPPD may have either sign
    }


def prior_mean_table(test_set: problem.Samples, theta: np.ndarray) -> dict[str, float]:
    """Return R² of the prior mean m(x) = θ v_f by output: Fig. 11 a in numbers."""
    residual = test_set.y - test_set.X[:, :1] * theta
    return problem.by_output(1 - (residual**2).mean(axis=0) / test_set.y.var(axis=0))


def prior_mean_rmse(test_set: problem.Samples, theta: np.ndarray) -> dict[str, float]:
    """Return the scaled RMSE of m(x) = θ v_f on the test set, by output and over all outputs."""
    mean = test_set.X[:, :1] * theta
    by_output = problem.by_output(rmse(test_set.y, mean, per_output=True))
    return by_output | {"all": float(rmse(test_set.y, mean))}


def prior_function_claims(theta: np.ndarray, seed: int) -> list[Claim]:
    """Return the claims on realisations of the functional prior in Fig. 11 b."""
    realisations = problem.prior_along_inputs(theta, seed)
    nu, p = map(OUTPUT_NAMES.index, ("nu_eff", "p_sigma"))
    varied = {name: float(g[:, :, nu].std(axis=1).mean()) for name, g in realisations.items()}
    spread = realisations["vf"][:, :, p].std(axis=0)
    small = float(spread[0])
    middle = float(spread[len(spread) // 2])
    # Two standard errors of log(middle / small); each is from n independent normal realisations.
    by_chance = 2.0 / np.sqrt(len(realisations["vf"]) - 1)
    return [
        Claim(
            "prior_of_nu",
            "Fig. 11",
            "In the functional prior all inputs but v_f are negligible for ν_eff: standard "
            "deviation of a realisation along each, under 5 % of that along v_f (true by "
            "construction of the prior; the paper draws networks, so this is not counted)",
            varied,
            all(varied[name] < 0.05 * varied["vf"] for name in varied if name != "vf"),
            of_paper=False,
        ),
        Claim(
            "constraint_of_p",
            "Fig. 11",
            "The constraint p_σ > 0 narrows the prior of p_σ at small v_f: the standard deviation "
            "at the smallest v_f is below that at mid-range by more than two standard errors",
            {"smallest": small, "mid-range": middle},
            bool(np.log(middle / small) > by_chance),
        ),
    ]


def claims(rows: Rows, explained: Mapping[str, float], n_train: Mapping[str, int]) -> list[Claim]:
    """Return the claims that the scores can decide.

    Args:
        rows: Scores from `score_rows`.
        explained: R² of the prior mean, from `prior_mean_table`.
        n_train: Number of RVEs of each training set.

    Returns:
        The claims; None as answer if the repeats do not decide the sign of a difference.
    """
    most = max(explained, key=lambda name: explained[name])
    prior = Claim(
        "prior_mean",
        "Fig. 11",
        "The prior mean is highly informative for ν_eff and less so for c_eff: R² on "
        "the test set is largest for ν_eff, and below one half for c_eff",
        explained,
        most == "nu_eff" and explained["c_eff"] < 0.5,
    )
    return [prior, *comparison_claims(rows, n_train)]


def comparison_claims(rows: Rows, n_train: Mapping[str, int]) -> list[Claim]:
    """Return the claims about scores, over repeated trainings or over simulated datasets."""
    anchored = {case: rows[f"{case}_anchored"] for case in n_train}
    by_size = _size_claims(anchored, n_train) if set(SIZES) <= set(anchored) else []
    return [*by_size, *_method_claims(rows["outd_anchored"], rows["outd_vanilla"])]


def _claim(
    identifier: str, about: str, claim: str, numbers: Mapping[str, Interval], holds: bool | None
) -> Claim:
    """Return a claim about repeated numbers, with their means."""
    ours = {name: number.mean for name, number in numbers.items()}
    return Claim(identifier, about, claim, ours, holds)


def _improves(fewer: RepeatedScores, more: RepeatedScores, score: str) -> bool | None:
    """Return whether a score improves with more RVEs by more than a negligible amount."""
    if score in LARGER_IS_BETTER:
        return more.is_better(fewer, score)
    return is_below_clearly(getattr(more, score), getattr(fewer, score))


def _size_claims(anchored: Rows, n_train: Mapping[str, int]) -> list[Claim]:
    """Return the claims on the training set: its size, and in or out of distribution."""
    counts = " to ".join(str(n_train[size]) for size in SIZES)
    compared = " and ".join(dict.fromkeys(str(n_train[case]) for case in ("ind50", "outd")))
    inside = anchored["ind50"]
    outside = anchored["outd"]
    return [
        *(
            _claim(
                f"more_cells/{score}",
                "Fig. 12",
                f"{label} improves from {counts} training RVEs",
                {size: getattr(anchored[size], score) for size in SIZES},
                all_hold(_improves(anchored[a], anchored[b], score) for a, b in pairwise(SIZES)),
            )
            for score, label in SCORES.items()
        ),
        _claim(
            "more_cells/spread",
            "Fig. 12",
            "Predicted epistemic uncertainty is reduced from "
            f"{counts} training RVEs: mean standard deviation",
            {size: anchored[size].epistemic_std for size in SIZES},
            all_hold(
                is_below(anchored[b].epistemic_std, anchored[a].epistemic_std)
                for a, b in pairwise(SIZES)
            ),
        ),
        _claim(
            "outside/rmse",
            "Table 3",
            f"With {compared} training RVEs the mean is less accurate out of distribution: RMSE",
            {"ind50": inside.rmse, "outd": outside.rmse},
            is_below(inside.rmse, outside.rmse),
        ),
        _claim(
            "outside/miscalibration",
            "Table 3",
            "The quality of the uncertainty is comparable in and out of distribution: the "
            f"miscalibrations differ by less than {COMPARABLE}, including the 95 % interval",
            {"ind50": inside.miscalibration, "outd": outside.miscalibration},
            is_within(inside.miscalibration - outside.miscalibration, COMPARABLE),
        ),
    ]


def _method_claims(anchored: RepeatedScores, vanilla: RepeatedScores) -> list[Claim]:
    """Return the claims on the anchored and the vanilla ensemble out of distribution."""
    gains = improvements({"_anchored": anchored, "_vanilla": vanilla}, "")["rmse"]
    others = [gain for name, gain in gains.items() if name not in LEADING]
    return [
        _claim(
            "coverage",
            "Fig. 13",
            "The vanilla ensemble under-estimates uncertainty: fewer test values lie within ± 2 "
            "standard deviations than with anchoring (95 % would be right)",
            {"vanilla": vanilla.coverage, "anchored": anchored.coverage},
            is_below(vanilla.coverage, anchored.coverage),
        ),
        _claim(
            "confidence",
            "Fig. 13",
            "The anchored ensemble assesses its confidence appropriately: the share of test values "
            f"within ± 2 standard deviations is {TWO_SIGMA} ± {APPROPRIATE}",
            {"anchored": anchored.coverage},
            is_within(less(anchored.coverage, TWO_SIGMA), APPROPRIATE),
        ),
        *(
            _claim(
                f"better/{score}",
                "Table 3",
                f"Out of distribution, anchoring is better than vanilla ensembling: {label}",
                {"anchored": getattr(anchored, score), "vanilla": getattr(vanilla, score)},
                anchored.is_better(vanilla, score),
            )
            for score, label in SCORES.items()
        ),
        *(_calibration_claim(name, anchored, vanilla) for name in OUTPUT_NAMES),
        *(_accuracy_claim(name, anchored, vanilla) for name in OUTPUT_NAMES),
        _claim(
            "gains_most",
            "Table 4",
            "The RMSE improves most for ν_eff and E_eff, where the prior mean is most informative",
            gains,
            all_hold(is_below(other, gains[name]) for name in LEADING for other in others),
        ),
    ]


def _calibration_claim(name: str, anchored: RepeatedScores, vanilla: RepeatedScores) -> Claim:
    """Return the claim on the miscalibration of one output."""
    ours = anchored.by_output["miscalibration"][name]
    theirs = vanilla.by_output["miscalibration"][name]
    words = f"{name}: the anchored ensemble is better calibrated than the vanilla ensemble"
    holds = is_below(ours, theirs)
    if name == WORSE_CALIBRATED:
        words = (
            f"{name}: the miscalibration of the anchored ensemble is larger than that of the "
            "vanilla ensemble, by less than a tenth"
        )
        limit = Interval(tuple((1 + SLIGHTLY) * value for value in theirs.values))
        holds = all_hold([is_below(theirs, ours), is_below(ours, limit)])
    numbers = {"anchored": ours, "vanilla": theirs}
    return _claim(f"calibration/{name}", "Fig. 14", words, numbers, holds)


def _accuracy_claim(name: str, anchored: RepeatedScores, vanilla: RepeatedScores) -> Claim:
    """Return the claim on the RMSE of one output."""
    ours = anchored.by_output["rmse"][name]
    theirs = vanilla.by_output["rmse"][name]
    claim = _claim(
        f"accuracy/{name}",
        "Table 4",
        f"{name}: the anchored ensemble has the smaller RMSE",
        {"anchored": ours, "vanilla": theirs},
        is_below(ours, theirs),
    )
    return replace(claim, number=f"rmse/{name}")
