"""Mean standard deviations of ensembles over those of the exact posterior.

Usage: `python -m studies.other_methods.deviations [DATA]`. The exact posterior of the paper's prior
is computed in closed form, without the constraint that outputs are positive. The ensembles of the
paper have the mean standard deviations that notebook 04 committed. Function-space anchoring and
samples of the exact posterior are made here, in about four minutes of one core. The tables are
those of the package and, with a folder, the published ones.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from threadpoolctl import threadpool_limits
from typer import Argument

from figures.composite.problem import OUTPUT_NAMES
from figures.markdown import comma_separated
from figures.pipeline.paths import ROOT
from figures.pipeline.processes import seeds_of
from figures.pipeline.profiles import SURROGATE
from figures.pipeline.settings import TRAINING_CASE
from figures.report.tables import RUNS, committed
from safe_files.writing import write_atomic
from studies.other_methods import weights
from studies.other_methods.methods import Repeat
from studies.other_methods.problems import (
    Problem,
    folders_of_runs,
    full_settings,
    load_problems,
)

FILE = ROOT / "docs" / "tables" / "deviations.csv"
ENSEMBLES = {  # row of notebook 04 → words
    "published.outd_anchored": "anchored, published optimiser",
    "published.outd_vanilla": "vanilla, published optimiser",
    "proper.outd_anchored": "anchored, standard Adam",
    "proper.outd_vanilla": "vanilla, standard Adam",
}
FUNCTION = "function-space anchoring, paper's prior"
SAMPLED = "30 samples of the exact posterior"
HEADER = ["tables", "method", "seeds", "all", *OUTPUT_NAMES]
SEED = 0
Deviations = np.ndarray  # standard deviations over test RVEs and outputs, (n, n_out) scaled


def exact_deviations(problem: Problem) -> Deviations:
    """Return the standard deviations of the exact posterior of the paper's prior."""
    return problem.posterior(problem.paper).predict(problem.test.X, return_std=True)[1]


def of_ensembles(metrics: Any) -> dict[str, tuple[int, list[float]]]:
    """Return seeds and mean standard deviations, of all outputs and of each, by method."""
    deviations = {}
    for path, words in ENSEMBLES.items():
        row = metrics.at(f"rows.{path}")
        numbers = [row["epistemic_std"], *row["by_output"]["epistemic_std"].values()]
        deviations[words] = len(numbers[0]["values"]), [number["mean"] for number in numbers]
    return deviations


def means(std: Deviations) -> list[float]:
    """Return the mean of standard deviations, over all outputs and of each."""
    return [float(std.mean()), *std.mean(axis=0).tolist()]


def trained(problem: Problem) -> dict[str, tuple[int, list[float]]]:
    """Anchor in function space and sample the exact posterior, over a few seeds."""
    settings = full_settings()
    seeds = seeds_of(SEED, settings.small_repeats)
    deviations: dict[str, list[list[float]]] = {FUNCTION: [], SAMPLED: []}
    for seed in seeds:
        networks = Repeat(settings, seed).for_functions(problem.paper)
        members = weights.train_functions(networks, problem, settings.function_points, seed)
        draws = problem.posteriors["exact"].sample(problem.test.X, settings.n_members, seed)
        for name, samples in ((FUNCTION, members.sample(problem.test.X)), (SAMPLED, draws)):
            deviations[name].append(means(samples.std(axis=0)))  # divisor K, as in notebook 04
    return {name: (len(seeds), np.mean(rows, axis=0).tolist()) for name, rows in deviations.items()}


def lines(
    words: str, exact: Deviations, methods: Mapping[str, tuple[int, list[float]]]
) -> list[list[str]]:
    """Return lines of the table: mean standard deviations over those of the exact posterior."""
    return [
        [words, name, str(seeds), *(f"{ratio:.3f}" for ratio in np.divide(std, means(exact)))]
        for name, (seeds, std) in methods.items()
    ]


def main(published: Annotated[Path | None, Argument()] = None, table: Path = FILE) -> None:
    """Write the table for the shipped tables and, if a folder is given, for the published ones."""
    runs = committed()
    rows = []
    for run, folder in folders_of_runs(published).items():
        problem = load_problems(folder, full_settings())[TRAINING_CASE]
        with threadpool_limits(limits=1):
            methods = of_ensembles(runs[run][SURROGATE]) | trained(problem)
        rows += lines(RUNS[run], exact_deviations(problem), methods)
    write_atomic(table, comma_separated(HEADER, rows).encode(), None)
    print(table.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    typer.run(main)
