"""Strength and its scatter: python -m studies.strength_scatter.

RVEs of 15 glass fibres that debond from an epoxy are pulled across the fibres until they break: 80
over volume fraction, strength and toughness of the interface to fit `GPRegressor`, and 100 to test
it. Further RVEs with equal inputs have 15, 30 and 60 fibres. Existing results are not computed
again, so that the same command continues an interrupted run. Then the tables and the figure of
docs/strength.md are written.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from figures.markdown import markdown
from figures.pipeline.paths import ROOT
from figures.report.tables import publish
from figures.scores import Interval, written
from figures.style import save
from studies.results import Results, stopping_in_words
from studies.strength_scatter.picture import picture
from studies.strength_scatter.simulation import KEY, cases
from studies.strength_scatter.summary import LEVELS, QUANTILE, Study

RESULTS = Path(__file__).with_name("results.jsonl")
PAGE = ROOT / "docs" / "strength.md"
SETS = ("training", "test")


def scores(study: Study) -> str:
    """Return the table of the surrogate's test."""
    of = study.scores()
    inside = (f"{100 * of[f'coverage_{level:g}']:.0f} %" for level in LEVELS)
    levels = ", ".join(f"{100 * level:.0f} %" for level in LEVELS)
    rows = [
        [
            "RVEs to fit, and to test",
            f"{len(study.data('training')[1])}, {len(study.standardised)}",
        ],
        ["error of the mean, RMSE", f"{of['rmse_MPa']:.2f} MPa"],
        [f"RVEs inside intervals of {levels}", ", ".join(inside)],
        [
            f"RVEs below the predicted {100 * QUANTILE:.0f} % quantile",
            f"{100 * of['below_quantile']:.0f} %",
        ],
    ]
    return markdown(["on the test set", "value"], rows)


def sizes(study: Study) -> str:
    """Return the table of the scatter by the number of fibres."""
    rows = []
    for size, strengths in study.by_size().items():
        n = len(strengths)
        std = strengths.std(ddof=1)
        low, high = std * np.sqrt((n - 1) / stats.chi2.ppf([0.975, 0.025], n - 1))
        rows.append(
            [
                f"{size}",
                f"{n}",
                written(Interval(tuple(strengths)), 2),
                f"{std:.2f} ({low:.2f} to {high:.2f})",
            ]
        )
    return markdown(["fibres", "RVEs", "mean [MPa]", "standard deviation [MPa]"], rows)


def blocks(study: Study) -> dict[str, str]:
    """Return the tables by the names of their places in the page."""
    return {"strength-surrogate": scores(study), "strength-sizes": sizes(study)}


def main() -> None:
    """Simulate the missing RVEs, then write the tables and the figure."""
    parser = argparse.ArgumentParser("python -m studies.strength_scatter", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results")
    parser.add_argument("--jobs", type=int, default=1, help="number of worker processes")
    parser.add_argument("--pages", action="store_true", help="only write tables and figure")
    options = parser.parse_args()
    with stopping_in_words(options.results):
        results = Results(options.results, KEY)
        if not options.pages:
            results.solve_missing(cases(), options.jobs)
        study = Study(results.rows)
    reached = sum("strength_MPa" in row for row in study.rows)
    print(f"{reached} of {len(study.rows)} RVEs reached their strength: {options.results}")
    print("\n".join(f"{name}: {value:.3g}" for name, value in study.scores().items()))
    if options.results == RESULTS:
        publish({}, {PAGE: blocks(study)}, write=True, program="studies.strength_scatter")
        save(picture(study), PAGE.with_name("strength.png"))


if __name__ == "__main__":
    main()
