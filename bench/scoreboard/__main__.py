"""Problems × estimators × splits: python -m bench.scoreboard, which make scoreboard calls.

Each estimator is given the draws of the composite's tables, and the public sets of a folder where
one is named, in an environment of its own. What is done already is not run again: a run that was
interrupted goes on with the same command, and an estimator with a new version in
bench/scoreboard/registry.py runs again. Then the tables of the guides, the CSV files and the
picture are written; with --results of your own the differences are printed instead.
"""

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from bench.scoreboard.registry import PEERS
from figures.pipeline.paths import ROOT, SHIPPED_TABLES

RESULTS = Path(__file__).with_name("results.jsonl")
PAGES = [ROOT / "docs" / name for name in ("benchmarks.md", "which_estimator.md")]


def main() -> None:
    """Run what is not done yet, then write the tables and the picture."""
    for stream in (sys.stdout, sys.stderr):  # "±" is printed in any locale, as \xb1 where need be
        stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    given = parser.parse_args()
    if given.splits < 1:
        parser.error(f"--splits {given.splits}: must be 1 or more")
    pages = given.pages
    if pages is None:
        pages = PAGES if given.results == RESULTS else []
    # Not above: --help is not to wait for PyTorch.
    from bench.scoreboard import problems, public, runs, tables

    try:
        peers = problems.beginning(PEERS, given.peers, "estimator of --peers")
        others = public.problems(given.data) if given.data else []
        published = public.published(given.data, others) if given.data else []
        sets = problems.composite(given.cells) + others
        chosen = problems.beginning(sets, given.problems, "problem of --problems")
        _check_pages(pages, tables.BLOCKS)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    guides = public.SETS | {problems.COMPOSITE, problems.FRESH}
    own = {each.name.partition("/")[0] for each in chosen} - guides
    if own and given.results == RESULTS:
        names = ", ".join(sorted(own))
        parser.error(f"{names}: the guides have other sets: name a file of yours, --results FILE")
    try:
        results = runs.Results(given.results)
    except (OSError, ValueError) as error:
        parser.error(f"--results {error}")
    try:
        with results.opened():
            for row in published:
                results.add(row)
            runs.study(peers, chosen, results, given.envs, given.splits, given.limit)
    except KeyboardInterrupt:
        sys.exit(f"interrupted: what is done is in {given.results}, the same command does the rest")
    except OSError as error:
        sys.exit(f"error: {error}")
    tables.publish(results.rows, pages)
    if not pages:
        print(tables.differences(tables.Board(results.rows)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench.scoreboard", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of public sets, see docs/benchmarks.md")
    parser.add_argument(
        "--cells",
        type=Path,
        default=SHIPPED_TABLES,
        help="folder with draws of the composite's tables, in draws/DESIGN/dataset.csv",
    )
    parser.add_argument("--peers", nargs="+", default=[""], help="beginnings of their names")
    parser.add_argument("--problems", nargs="+", default=[""], help="beginnings of their names")
    parser.add_argument("--splits", type=int, default=24, help="of each problem, at most")
    parser.add_argument("--limit", type=float, default=600, help="processor time of each [s]")
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="file of results, needed for sets of your own (default: that of the guides)",
    )
    parser.add_argument("--envs", type=Path, default=ROOT / "build" / "scoreboard")
    parser.add_argument(
        "--pages",
        nargs="*",
        type=Path,
        help="that tables are written into; without it the guides, if --results is not given",
    )
    return parser


def _check_pages(pages: list[Path], blocks: Collection[str]) -> None:
    """Raise ValueError if no table can be written into a page."""
    for page in pages:
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        if not any(f"<!-- {name} -->\n" in text for name in blocks):
            raise ValueError(f"--pages {page}: must be a file with a line as <!-- scoreboard -->")


if __name__ == "__main__":
    main()
