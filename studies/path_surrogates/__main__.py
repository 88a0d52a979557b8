"""Surrogates of strain paths compared: python -m studies.path_surrogates.

Each estimator is fitted to parts of the training paths, and tested on RVEs with other paths, whose
stress is averaged over twenty microstructures. Existing results are not computed again, so that the
same command continues an interrupted run. Then the tables and the figure of docs/paths.md are
written.
"""

import argparse
from pathlib import Path

import torch

from figures.pipeline.paths import ROOT
from studies.path_surrogates import data, estimators, study, tables
from studies.results import stopping_in_words

RESULTS = Path(__file__).with_name("results.jsonl")
PAGE = ROOT / "docs" / "paths.md"


def main() -> None:
    """Run the missing cases, then write the tables and the figure."""
    parser = argparse.ArgumentParser("python -m studies.path_surrogates", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--pages", action="store_true", help="only write tables and figure")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with stopping_in_words(options.results):
        results = study.load(options.results)
        if not options.pages:
            with results.opened():
                study.study(data.load(), estimators.ESTIMATORS, list(study.DRAWS), results)
    if options.results == RESULTS:
        tables.publish(results.rows, PAGE)


if __name__ == "__main__":
    main()
