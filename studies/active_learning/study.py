"""Selected RVEs compared with Latin hypercubes; tests are at inputs outside the pool of RVEs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

import bnn
from fe_data import load_table
from figures.composite.problem import EFFECTIVE, Samples, load_samples, scaled
from figures.composite.reference import Reference, load_reference
from figures.pipeline.paths import REPLICATES, SHIPPED_TABLES, TEST, TRAINING, drawn, table_path
from figures.pipeline.processes import repeated
from figures.pipeline.settings import Estimate
from figures.scores import Interval, Number, over_repeats

FIRST = 10  # RVEs of the first round
MORE = 25  # RVEs selected afterwards
FEW = 5  # RVEs selected in addition to the beta table
MANY = 20  # RVEs of a Latin hypercube in addition to the beta table
DRAWN = (25, 35, 50, 100)  # numbers of RVEs of Latin hypercubes
REGION = 200  # inputs at which the variance is to be reduced
HYPERCUBE = "hypercube"
BOX = "chosen"
WORST = "chosen_for_worst"
BETA = "beta_"  # prefix of one of the three names, for additions to the beta table
LABELS = {
    HYPERCUBE: "Latin hypercube",
    BOX: "selected",
    WORST: "selected for the worst tenth",
}  # name in metrics files → words
LABELS |= {BETA + name: f"beta table, {words}" for name, words in LABELS.items()}


@dataclass(frozen=True)
class Errors(Generic[Number]):
    """Root mean squares over the reference inputs and four outputs, scaled."""

    rmse: Number
    worst: Number  # RMSE over the tenth of the inputs with the largest errors
    std: Number  # of the predicted standard deviations
    worst_std: Number  # of these over the tenth of the inputs where they are largest


# Kind of RVEs → their number, without those of the beta table → errors
Rows = Mapping[str, Mapping[int, Errors[Interval]]]


@dataclass(frozen=True)
class Study:
    """A pool of simulated RVEs at random inputs, and the reference data for tests."""

    pool: Samples
    beta: Samples
    reference: Reference
    noise: bnn.HeteroscedasticNoise
    candidates: int  # number of inputs to select from
    batch: int  # number of RVEs that are selected before the posterior is fitted again
    estimate: Estimate = "average"  # of priors from the evidence
    prior: Any = None  # of every posterior; None: from the evidence of its training RVEs

    def posterior(self, rves: Samples) -> bnn.GPRegressor:
        """Return the posterior given RVEs."""
        prior = self.prior or bnn.evidence.fit_prior(
            rves.X, rves.y, self.noise, estimate=self.estimate
        )
        return bnn.GPRegressor(prior, noise=self.noise).fit(rves.X, rves.y)

    def errors(self, model: bnn.GPRegressor) -> Errors[float]:
        """Return the errors of a posterior at the reference inputs, and the predicted errors."""
        mean, std = model.predict(self.reference.X, return_std=True)
        misses = mean - self.reference.mean[:, EFFECTIVE]
        return Errors(*_all_and_worst(misses), *_all_and_worst(std))

    def hypercube(self, count: int, seed: int) -> Samples:
        """Return the RVEs nearest to the points of a Latin hypercube, without repeats."""
        n_in = self.pool.X.shape[1]
        rows = list[int]()
        for point in 2.0 * qmc.LatinHypercube(n_in, seed=seed).random(count) - 1.0:
            distances = np.sum((self.pool.X - point) ** 2, axis=1)
            distances[rows] = np.inf
            rows.append(int(distances.argmin()))
        return self.pool[np.array(rows)]

    def independent(self, model: bnn.GPRegressor, rves: Samples) -> bnn.GPRegressor:
        """Return the posterior with the same prior and uncorrelated noise."""
        noise = replace(self.noise, correlation=None)
        return bnn.GPRegressor(model.prior_, noise=noise).fit(rves.X, rves.y)

    def grown(
        self, rves: Samples, more: int, goal: str, seed: int
    ) -> tuple[dict[int, Errors[float]], list[Samples]]:
        """Select further RVEs; return errors by their number, and the RVEs of each round.

        The goal BOX reduces the variance over the whole input space. The goal WORST reduces it over
        the tenth of the input space where the current posterior has the largest variance. For the
        selection the noise is treated as uncorrelated between outputs, which is much faster.
        """
        rng = np.random.default_rng(seed)
        candidates = self.pool[rng.permutation(len(self.pool))[: self.candidates]]
        box = 2.0 * qmc.LatinHypercube(candidates.X.shape[1], seed=rng).random(REGION) - 1.0
        rounds = [rves]
        errors = {}
        for count in range(0, more + 1, self.batch):
            training_set = joined(rounds)
            model = self.posterior(training_set)
            errors[count] = self.errors(model)
            if count == more:
                break
            # Candidates without the RVEs of the training set
            equal = np.all(candidates.X[:, None] == training_set.X, axis=2)
            candidates = candidates[~equal.any(axis=1)]
            model = self.independent(model, training_set)
            rows, _ = bnn.select_runs(
                model,
                candidates.X,
                self.batch,
                region=_worst_tenth(model, box) if goal == WORST else box,
                output_ranges=[2.0] * training_set.y.shape[1],
            )
            rounds.append(candidates[rows])
        return errors, rounds


def _worst_tenth(model: bnn.GPRegressor, points: np.ndarray) -> np.ndarray:
    """Return the tenth of the points with the largest variance, summed over outputs."""
    _, std = model.predict(points, return_std=True)
    return points[np.argsort(np.sum(std**2, axis=1))[-(len(points) // 10) :]]


def _all_and_worst(values: np.ndarray) -> list[float]:
    squares = np.sort(np.mean(values**2, axis=1))
    return [float(np.sqrt(shown.mean())) for shown in (squares, squares[-(len(squares) // 10) :])]


def joined(rounds: list[Samples]) -> Samples:
    """Join the RVEs of several rounds."""
    return Samples(*(np.concatenate([getattr(batch, name) for batch in rounds]) for name in "Xy"))


def load_study(candidates: int, batch: int, estimate: Estimate = "average") -> Study:
    """Load the study from tables of the package: a pool of 3,600 RVEs, and noise from others."""
    tables = [load_samples(drawn(SHIPPED_TABLES), design) for design in ("train_uniform", TEST)]
    beta = load_samples(SHIPPED_TABLES, TRAINING)
    repeated = load_table(table_path(SHIPPED_TABLES, REPLICATES[1]))
    rves = scaled(repeated)
    noise = bnn.HeteroscedasticNoise.from_replicates(
        rves.X, rves.y[:, EFFECTIVE], repeated.group, squares=(0,)
    )
    pool, beta = (Samples(samples.X, samples.y[:, EFFECTIVE]) for samples in (joined(tables), beta))
    return Study(pool, beta, load_reference(), noise, candidates, batch, estimate)


def with_known_prior(study: Study, count: int) -> Study:
    """Return the study with a known prior, which is fitted to `count` RVEs of the pool."""
    rves = study.pool[:count]
    prior = bnn.evidence.fit_prior(rves.X, rves.y, study.noise, estimate="map", restarts=1)
    return replace(study, prior=prior)


def compare(study: Study, seed: int) -> tuple[dict, list[Samples]]:
    """Return errors by kind and number of RVEs, and the RVEs of each round of BOX."""
    with threadpool_limits(limits=1):
        errors_of = {
            HYPERCUBE: {n: study.errors(study.posterior(study.hypercube(n, seed))) for n in DRAWN}
        }
        first = study.hypercube(FIRST, seed)
        for goal in (WORST, BOX):
            chosen, rounds = study.grown(first, MORE, goal, seed)
            errors_of[goal] = {FIRST + count: errors for count, errors in chosen.items()}
            errors_of[BETA + goal] = study.grown(study.beta, FEW, goal, seed)[0]
        beside = {n: joined([study.beta, study.hypercube(n, seed)]) for n in (FEW, MANY)}
        errors_of[BETA + HYPERCUBE] = {
            n: study.errors(study.posterior(rves)) for n, rves in beside.items()
        }
    return errors_of, rounds


def compare_seeds(study: Study, seed: int, repeats: int) -> tuple[Rows, list[Samples]]:
    """Return errors over independent seeds, and the rounds of the first seed."""
    errors, rounds = zip(*repeated(compare, study, seed=seed, repeats=repeats), strict=True)
    return over_repeats(errors), rounds[0]
