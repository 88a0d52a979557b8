"""Repeat the paper's comparison on 24 independently simulated datasets: python -m studies.repeats.

Notebook 04b_repeated_datasets trains on each dataset. The page of the full run,
figures/full/index.html, shows the results.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> None:
    """Run the tasks of doit, for the profile and the tables that PROFILE and DATA name."""
    parser = argparse.ArgumentParser("python -m studies.repeats", description=__doc__)
    parser.parse_args(arguments)
    for tasks in (["repeats"], ["report", "equality"]):
        code = subprocess.run([sys.executable, "-m", "doit", *tasks], cwd=ROOT).returncode
        if code:
            sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
