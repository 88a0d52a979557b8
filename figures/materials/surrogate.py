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
from figures.pipeline.processes import side_by_side
from figures.pipeline.settings import Surrogate
from figures.scores import Interval, over_repeats, seeds_of

HIDDEN = (20, 20, 20, 20)
VANILLA_CASE = "outd"  # the paper trains vanilla ensembles on this case only
WITHIN = 0.9545  # probability of ± 2 standard deviations
Cases = Mapping[str, Samples]  # training sets by name


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

    def scores(self) -> dict[str, float]:
        """RMSE, miscalibration, ELPPD and coverage over all outputs, as published."""
        return {
            "rmse": rmse(self.observed, self.mean),
            "miscalibration": miscalibration_area(self.observed, self.mean, self.std),
            "elppd": self.elppd(),
            "coverage": coverage(self.observed, self.mean, self.std, WITHIN),
        }

    def elppd(self) -> float:
        """Joint over the outputs, in physical units, summed over the test points."""
        unscale, noise = OUTPUT_SCALING.inverse_transform, noise_std() * OUTPUT_SCALING.half_range
        return elppd(unscale(self.observed), unscale(self.samples), noise)

    def by_output(self) -> dict[str, np.ndarray]:
        """RMSE and miscalibration of each output, (5,), with epistemic uncertainty only."""
        area = miscalibration_area(self.observed, self.mean, self.std, per_output=True)
        return {"rmse": rmse(self.observed, self.mean, per_output=True), "miscalibration": area}

    def numbers(self) -> dict[str, Any]:
        """The scores, and under "by_output" those of each output."""
        columns = {score: by_output(values) for score, values in self.by_output().items()}
        return self.scores() | {"by_output": columns}


def train(
    cases: Cases, test_set: Samples, theta: np.ndarray, settings: Surrogate, seed: int
) -> dict[str, Prediction]:
    """Pre-train once, then train on each training set and predict the test set."""
    common: dict[str, Any] = {
        "hidden": HIDDEN,
        "n_members": settings.n_members,
        "epochs": settings.epochs,
        "noise": noise_std(),
        "resampling": "bootstrap",
        "random_state": seed,
    }
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
        if name == VANILLA_CASE:
            samples[f"{name}_vanilla"] = vanilla.fit(train_set.X, train_set.y).sample(test_set.X)
    return {name: Prediction(values, test_set.y) for name, values in samples.items()}


def repeat_training(
    cases: Cases, test_set: Samples, theta: np.ndarray, settings: Surrogate, seed: int
) -> list[dict[str, Prediction]]:
    """Train `settings.repeats` times with independent seeds; see `train`."""
    seeds = seeds_of(seed, settings.repeats)
    return side_by_side(train, [(cases, test_set, theta, settings, s) for s in seeds])


def score_rows(repeats: Sequence[Mapping[str, Prediction]]) -> dict[str, Any]:
    """Scores of each method: method → `Prediction.numbers`, each a spread over the repeats."""
    numbers = [{name: each.numbers() for name, each in repeat.items()} for repeat in repeats]
    return over_repeats(numbers)


def improvements(rows: Mapping[str, Any], case: str) -> dict[str, dict[str, Interval]]:
    """Table 4: gain (vanilla - anchored) / vanilla of a case, score → output → spread."""
    vanilla, anchored = (rows[f"{case}_{m}"]["by_output"] for m in ("vanilla", "anchored"))
    return {
        score: {name: _gain(anchored[score][name], old) for name, old in outputs.items()}
        for score, outputs in vanilla.items()
    }


def _gain(anchored: Interval, vanilla: Interval) -> Interval:
    return Interval(tuple(1 - np.divide(anchored.values, vanilla.values)))
