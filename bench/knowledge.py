"""What knowledge is worth: python -m bench.knowledge judges methods by the truth and by cells.

Means over arrangements of the truth table say how near f comes and whether its epistemic spread
knows it; 50 single cells how good predictions are. Ensembles are those of notebook 05, one seed.
Exact posteriors are under the paper's prior, and by evidence with a linear mean (averaged, or its
best hyper-parameters) or about mean fields; under the paper's noise, one covariance, or one that
depends on the input, the latter two of replicates.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import bnn
from fe_data import mean_field
from figures.beyond.methods import LABELS, Repeat
from figures.beyond.scores import Row, exact_scores, scores
from figures.beyond.weights import METHODS, Data, train_functions, train_weights
from figures.knowledge.truth import TRUTH, TruthScores, load_truth
from figures.materials import problem as composite
from figures.pipeline.paths import ROOT, TEST, TRAINING
from figures.pipeline.profiles import load_profile

TABLES = ROOT / "fe_data" / "datasets"
CASES = (("train_uniform", 10), ("train_uniform", 25), ("train_uniform", 50),
         ("train_uniform", 100), (TRAINING, 50))  # fmt: skip
COLUMNS = ("cells", "method", "RMSE", "without p_σ", "coverage", "miscalibration", "z",
           "single cells: RMSE", "miscalibration", "ELPPD")  # fmt: skip


def mechanics(X: np.ndarray) -> np.ndarray:
    """Mean fields, composite.scaled."""
    return composite.OUTPUT_SCALING.transform(
        mean_field(composite.INPUT_SCALING.inverse_transform(X))
    )


FORMS = {  # of priors by evidence
    "linear mean": {},
    "linear mean, best": {"estimate": "maximum"},
    "mean fields": {"mean": mechanics, "mean_features": ()},
}


def posteriors(train: composite.Samples, paper: bnn.GaussianProcessPrior) -> Iterator[tuple]:
    """Exact posteriors under every prior and noise, named."""
    table = composite.load_designs(TABLES, ["noise"])["noise"]
    cells, groups = composite.scaled(table), table.group
    noises = {
        "the paper's noise": composite.noise_std(),
        "one covariance": bnn.noise.replicate_covariance(cells.y, groups),
        "by input": bnn.HeteroscedasticNoise.from_replicates(
            cells.X, cells.y, groups, squares=(0,)
        ),
    }
    for noise_name, noise in noises.items():
        priors = {k: bnn.evidence.fit_prior(train.X, train.y, noise, **f) for k, f in FORMS.items()}
        for name, prior in ({"the paper's prior": paper} | priors).items():
            model = bnn.ExactPosterior(prior, noise=noise)
            yield f"exact, {name}, {noise_name}", model.fit(train.X, train.y)


def row(count: str, method: str, of_truth: TruthScores[float], of_cells: Row[float]) -> None:
    values = (*vars(of_truth).values(), of_cells.rmse, of_cells.miscalibration)
    numbers = " | ".join(f"{value:.3f}" for value in values)
    print(f"| {count} | {method} | {numbers} | {of_cells.elppd:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", type=Path, default=TRUTH, help="statistics over arrangements")
    parser.add_argument("--profile", default="full", help="sizes of the ensembles")
    given = parser.parse_args()
    truth, profile = load_truth(given.truth), load_profile(given.profile)
    test, settings = composite.load_samples(TABLES, TEST), profile.beyond
    paper = composite.functional_prior(
        composite.fit_theta(composite.load_samples(TABLES, TRAINING))
    )
    repeat, sizes = Repeat(settings, 0), {"epochs": settings.epochs, "seed": 0}
    networks, smooth = repeat.for_weights(paper), repeat.for_functions(paper)
    alone = truth.scores(mechanics(truth.X), np.zeros_like(truth.mean))
    print(f"mean fields without a cell: RMSE {alone.rmse:.3f}, without p_σ {alone.rmse_fields:.3f}")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for design, number in CASES:
        train = composite.load_samples(TABLES, design, number)
        data = Data(train.X, train.y, composite.noise_std())
        count = f"{number}{', second set' if design == TRAINING else ''}"
        members = {
            name: train_weights(
                METHODS[name], networks, data, n_members=settings.n_members, **sizes
            )
            for name in ("vanilla", "low_rank")
        } | {"function": train_functions(smooth, data, settings.function_points, 0)}
        for name, ensemble in members.items():
            f = ensemble.sample(truth.X)
            of_truth = truth.scores(f.mean(axis=0), f.std(axis=0, ddof=1))
            of_cells = scores(ensemble.sample(test.X), test.y, data.noise)
            row(count, LABELS[name], of_truth, of_cells)
        for name, model in posteriors(train, paper):
            of_truth = truth.scores(*model.predict(truth.X, return_std=True))
            row(count, name, of_truth, exact_scores(model, test.X, test.y))


if __name__ == "__main__":
    main()
