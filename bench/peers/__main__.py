"""Other libraries on the same cells: python -m bench.peers, which make peers calls.

Each estimator is given the draws of the tables that the notebooks have, in an environment of its
own, and what is done already is not run again. Then the tables of docs/which_estimator.md, and
their picture, are written.
"""

import argparse
from pathlib import Path

from bench.peers.registry import PEERS
from figures.pipeline.paths import ROOT

PAGES = [ROOT / "docs" / "which_estimator.md"]


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.peers", description=__doc__)
    parser.add_argument("--peers", nargs="+", default=[""], help="beginnings of their names")
    parser.add_argument("--draws", type=int, default=24, help="of the tables, at most")
    parser.add_argument("--limit", type=float, default=600, help="processor time of each [s]")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results.jsonl"))
    parser.add_argument("--envs", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--pages", nargs="+", type=Path, default=PAGES, help="with the tables")
    given = parser.parse_args()
    from bench.peers import runs, tables  # not above: --help is not to wait for PyTorch

    chosen = [peer for peer in PEERS if peer.name.startswith(tuple(given.peers))]
    results = runs.Results(given.results)
    runs.study(chosen, results, given.envs, given.draws, given.limit)
    tables.publish(results.rows, given.pages)


if __name__ == "__main__":
    main()
