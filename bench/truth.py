"""Epistemic uncertainty judged by the truth: python -m bench.truth prints it beside the scores.

Six methods of notebook 05, one seed: f against the means over arrangements of the truth table,
and the paper's scores on the 50 test cells. `--truth` takes other statistics over arrangements.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from figures.beyond.methods import LABELS, Repeat
from figures.beyond.problems import Problem, load_problems
from figures.beyond.scores import Row, exact_scores, scores
from figures.beyond.truth import TRUTH, Truth, TruthScores, load_truth
from figures.beyond.weights import METHODS, train_functions, train_weights
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import load_profile

COLUMNS = ("cells", "method", "RMSE", "without p_σ", "coverage", "miscalibration", "z",
           "test cells: RMSE", "miscalibration", "ELPPD")  # fmt: skip
Judged = Iterator[tuple[str, TruthScores[float], Row[float]]]  # method, truth, test cells


def judged(problem: Problem, repeat: Repeat, pretrained: tuple, truth: Truth) -> Judged:
    """Every method on one training set, from networks pre-trained in weights and in functions."""
    (networks, smooth), settings, test = pretrained, repeat.settings, problem.test
    sizes = {"n_members": settings.n_members, "epochs": settings.epochs, "seed": repeat.seed}
    members = {
        name: train_weights(METHODS[name], networks, problem, **sizes)
        for name in ("vanilla", "low_rank")
    }
    members["function"] = train_functions(smooth, problem, settings.function_points, repeat.seed)
    for name, ensemble in members.items():
        f = ensemble.sample(truth.X)
        of_truth = truth.scores(f.mean(axis=0), f.std(axis=0, ddof=1))
        yield name, of_truth, scores(ensemble.sample(test.X), test.y, problem.noise)
    for name, posterior in problem.posteriors.items():
        of_truth = truth.scores(*posterior.predict(truth.X, return_std=True))
        yield name, of_truth, exact_scores(posterior, test.X, test.y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", type=Path, default=TRUTH, help="statistics over arrangements")
    parser.add_argument("--profile", default="full", help="sizes of the ensembles")
    given = parser.parse_args()
    truth, profile = load_truth(given.truth), load_profile(given.profile)
    problems = load_problems(ROOT / "fe_data" / "datasets", profile.beyond)
    repeat, paper = Repeat(profile.beyond, profile.seed), next(iter(problems.values())).paper
    pretrained = repeat.for_weights(paper), repeat.for_functions(paper)
    known = np.sqrt((truth.standard_error**2).mean())
    print(f"{len(truth.X)} inputs, standard error of their means {known:.4f} (root mean square)")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for case, problem in problems.items():
        for name, of_truth, row in judged(problem, repeat, pretrained, truth):
            values = (*vars(of_truth).values(), row.rmse, row.miscalibration)
            numbers = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {case} | {LABELS[name]} | {numbers} | {row.elppd:.0f} |", flush=True)


if __name__ == "__main__":
    main()
