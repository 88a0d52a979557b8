"""Anchoring in weight space with the prior from the evidence, to compare with function space.

Usage: `python -m studies.other_methods.equal_knowledge [DATA]`. The published ensemble (standard
Adam, notebook 05) is pre-trained to realisations of the prior that maximises the evidence, and then
trained out of distribution, with its first seeds. The tables are those of the package
and, with a folder, the published ones. It takes about three minutes of one core.
"""

from pathlib import Path
from typing import Annotated

import typer
from threadpoolctl import threadpool_limits
from typer import Argument

from figures.composite.scores import MethodScores
from figures.markdown import comma_separated
from figures.pipeline.paths import ROOT
from figures.pipeline.processes import seeds_of
from figures.pipeline.settings import TRAINING_CASE
from figures.report.tables import RUNS
from figures.scores import Interval, over_repeats
from safe_files.writing import write_atomic
from studies.other_methods.methods import Repeat
from studies.other_methods.problems import (
    Problem,
    folders_of_runs,
    full_settings,
    load_problems,
)

FILE = ROOT / "docs" / "tables" / "equal_knowledge.csv"
SCORES = ("rmse", "miscalibration", "elppd")
HEADER = ["tables", "method", "seeds", "score", "mean", "half_width"]
METHOD = "anchored in weight space, prior from the evidence"
SEED = 0


def anchored(problem: Problem, repeat: Repeat) -> MethodScores[float]:
    """Train and score the published ensemble with the prior from the evidence."""
    return repeat.in_weights("low_rank", repeat.for_weights(problem.evidence), problem)


def lines(words: str, row: MethodScores[Interval]) -> list[list[str]]:
    """Return lines of the table: mean of each score with its 95 % confidence half-width."""
    texts = []
    for score in SCORES:
        number = getattr(row, score)
        cells = [f"{number.mean:.4g}", f"{number.margin:.4g}"]
        texts.append([words, METHOD, str(len(number.values)), score, *cells])
    return texts


def main(published: Annotated[Path | None, Argument()] = None, table: Path = FILE) -> None:
    """Write the scores on the shipped tables and, if a folder is given, on the published ones."""
    settings = full_settings()
    rows = []
    for run, folder in folders_of_runs(published).items():
        problem = load_problems(folder, settings)[TRAINING_CASE]
        repeats = [Repeat(settings, seed) for seed in seeds_of(SEED, settings.small_repeats)]
        with threadpool_limits(limits=1):
            row = over_repeats([anchored(problem, repeat) for repeat in repeats])
        rows += lines(RUNS[run], row)
    write_atomic(table, comma_separated(HEADER, rows).encode(), None)
    print(table.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    typer.run(main)
