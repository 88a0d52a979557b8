"""Train the surrogates of the materials example (section 3.2) and predict its test set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnn import AnchoredEnsemble, VanillaEnsemble
from bnn.evaluation.metrics import coverage, elppd, miscalibration_area, rmse
from figures.materials.problem import (
    OUTPUT_SCALING,
    Samples,
    by_output,
    functional_prior,
    noise_std,
)
from figures.pipeline.settings import TRAINING_CASE, Surrogate
from figures.scores import Interval, Number, Scores, over_repeats

HIDDEN = (20, 20, 20, 20)
Cases = Mapping[str, Samples]  # training sets by name


@dataclass(frozen=True)
class OutputScores(Scores[Number]):
    """Scores over all outputs, and RMSE and miscalibration of each."""

    by_output: Mapping[str, Mapping[str, Number]]  # score → output → number


Row = OutputScores[Interval]  # over the repeats
Rows = Mapping[str, Row]  # method → its scores


@dataclass(frozen=True)
class Prediction:
    """What one ensemble predicts for a test set."""

    samples: np.ndarray  # predictions of each network, (K, n, 5) scaled
    observed: np.ndarray  # simulated outputs, (n, 5) scaled

    @property
    def mean(self) -> np.ndarray:
        """Mean over networks, (n, 5) scaled."""
        return self.samples.mean(axis=0)

    @property
    def std(self) -> np.ndarray:
        """Epistemic standard deviation, (n, 5) scaled, with divisor K as published."""
        return self.samples.std(axis=0)

    def scores(self) -> OutputScores[float]:
        """Scores of epistemic uncertainty; the ELPPD is joint, with noise, in physical units."""
        moments = self.observed, self.mean, self.std
        unscale, noise = OUTPUT_SCALING.inverse_transform, noise_std() * OUTPUT_SCALING.half_range
        return OutputScores(
            rmse=rmse(self.observed, self.mean),
            miscalibration=miscalibration_area(*moments),
            elppd=elppd(unscale(self.observed), unscale(self.samples), noise),
            coverage=coverage(*moments, 0.9545),  # within ± 2 standard deviations
            by_output={
                "rmse": by_output(rmse(self.observed, self.mean, per_output=True)),
                "miscalibration": by_output(miscalibration_area(*moments, per_output=True)),
            },
        )


def train(
    cases: Cases, test_set: Samples, theta: np.ndarray, settings: Surrogate, seed: int
) -> dict[str, Prediction]:
    """Pre-train once, then train on each training set and predict the test set."""
    common: dict[str, Any] = {
        "hidden": HIDDEN, "n_members": settings.n_members, "epochs": settings.epochs,
        "noise": noise_std(), "resampling": "bootstrap", "random_state": seed,
    }  # fmt: skip
    vanilla = VanillaEnsemble(**common)
    anchored = AnchoredEnsemble(
        functional_prior(theta),
        n_pretrained=settings.n_pretrained,
        prior_points=settings.prior_points,
        pretrain_epochs=settings.pretrain_epochs,
        **common,
    )
    anchored.pretrain(n_features=test_set.X.shape[1])
    # As many networks as the trained ensembles have: the ELPPD of few networks depends on it.
    samples = {"prior": anchored.sample_prior(test_set.X)[: settings.n_members]}
    for name, train_set in cases.items():
        samples[f"{name}_anchored"] = anchored.fit(train_set.X, train_set.y).sample(test_set.X)
        if name == TRAINING_CASE:  # the paper trains vanilla ensembles on this one only
            samples[f"{name}_vanilla"] = vanilla.fit(train_set.X, train_set.y).sample(test_set.X)
    return {name: Prediction(values, test_set.y) for name, values in samples.items()}


def score_rows(repeats: Sequence[Mapping[str, Prediction]]) -> Rows:
    """Scores of each method, see `Prediction.scores`, over the repeats."""
    return over_repeats([{name: p.scores() for name, p in repeat.items()} for repeat in repeats])


def improvements(rows: Rows, case: str) -> dict[str, dict[str, Interval]]:
    """Table 4: gain (vanilla - anchored) / vanilla of a case, score → output → interval."""
    vanilla, anchored = (rows[f"{case}_{m}"].by_output for m in ("vanilla", "anchored"))
    return {
        score: {
            name: Interval(tuple(1 - np.divide(anchored[score][name].values, old.values)))
            for name, old in outputs.items()
        }
        for score, outputs in vanilla.items()
    }
