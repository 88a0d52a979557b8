"""Problems × estimators × splits: python -m studies.scoreboard.

Each estimator runs in a separate environment, on the draws of the composite's tables and, with
--data, on the public sets in a folder. Existing results are not computed again, so that the same
command continues an interrupted run. An estimator with a new version in registry.py runs again.
Then the tables of the guides, the CSV files and the figure are written; with a custom --results
file the differences are printed instead.
"""

import argparse
import sys
from pathlib import Path

from figures.pipeline.paths import ROOT, SHIPPED_TABLES
from studies.scoreboard import problems, public, runs, tables
from studies.scoreboard.comparison import Board
from studies.scoreboard.registry import PEERS

RESULTS = Path(__file__).with_name("results.jsonl")
PAGES = [ROOT / "docs" / name for name in ("benchmarks.md", "which_estimator.md")]
PAGES.append(ROOT / "studies" / "scoreboard" / "README.md")


def main() -> None:
    """Run the missing cases, then write the tables and the figure, or print the differences."""
    parser = _parser()
    options = parser.parse_args()
    if options.splits < 1:
        parser.error(f"--splits {options.splits}: must be 1 or more")
    try:
        peers = problems.beginning(PEERS, options.peers, "estimator of --peers")
        others = public.problems(options.data) if options.data else []
        published = public.published(options.data, others) if options.data else []
        sets = problems.composite(options.rves) + others
        chosen = problems.beginning(sets, options.problems, "problem of --problems")
        results = runs.load(options.results)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    guides = public.SETS | {problems.COMPOSITE, problems.FRESH}
    further = {problem.name.partition("/")[0] for problem in chosen} - guides
    if further and options.results == RESULTS:
        names = ", ".join(sorted(further))
        parser.error(f"{names}: not a set of the guides, give another file with --results FILE")
    try:
        with results.opened():
            for row in published:
                results.add(row)
            runs.study(peers, chosen, results, options.envs, options.splits, options.limit)
    except KeyboardInterrupt:
        sys.exit(
            f"interrupted: results are in {options.results}, run the same command again to continue"
        )
    except OSError as error:
        sys.exit(f"error: {error}")
    if options.results == RESULTS:
        tables.publish(results.rows, PAGES)
    else:
        print(tables.differences(Board(results.rows)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m studies.scoreboard", description=__doc__)
    parser.add_argument(
        "--data", type=Path, help="folder of public sets, see studies/scoreboard/public.py"
    )
    parser.add_argument(
        "--rves",
        type=Path,
        default=SHIPPED_TABLES,
        help="folder with draws of the composite's tables, in draws/DESIGN/dataset.csv",
    )
    parser.add_argument(
        "--peers", nargs="+", default=[""], help="beginnings of names of estimators"
    )
    parser.add_argument(
        "--problems", nargs="+", default=[""], help="beginnings of names of problems"
    )
    parser.add_argument("--splits", type=int, default=24, help="most splits of a problem")
    parser.add_argument("--limit", type=float, default=600, help="processor time of a fit [s]")
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="file of results, needed for custom sets (default: file of the guides)",
    )
    parser.add_argument("--envs", type=Path, default=ROOT / "build" / "scoreboard")
    return parser


if __name__ == "__main__":
    main()
