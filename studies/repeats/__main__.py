"""Repeat the trainings of the paper, also on 24 independent datasets: python -m studies.repeats.

Notebooks 01, 02 and 04 train with several seeds, and 04b_repeated_datasets on each dataset. The
page of the full run, figures/full/index.html, shows the results beside those of one training.
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
