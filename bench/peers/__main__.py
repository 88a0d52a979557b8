"""Other libraries on the same cells: python -m bench.peers, which make peers calls.

Each estimator is given the draws of the tables that the notebooks have, in an environment of its
own, and what is done already is not run again. Then the table of docs/which_estimator.md and its
picture are written.
"""

import argparse
from pathlib import Path

from bench.peers import runs, tables
from bench.peers.registry import PEERS
from figures.pipeline.paths import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs="+", default=[""], help="beginnings of their names")
    parser.add_argument("--draws", type=int, default=24, help="of the tables, at most")
    parser.add_argument("--limit", type=float, default=600, help="processor time of each [s]")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results.jsonl"))
    parser.add_argument("--envs", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "which_estimator.md")
    given = parser.parse_args()
    chosen = [peer for peer in PEERS if peer.name.startswith(tuple(given.peers))]
    results = runs.Results(given.results)
    runs.study(chosen, results, given.envs, given.draws, given.limit)
    tables.publish(results.rows, given.page)


if __name__ == "__main__":
    main()
