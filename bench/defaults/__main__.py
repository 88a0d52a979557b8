"""What the defaults leave out or have, judged: python -m bench.defaults parts --data FOLDER.

- parts: an additive or an arc-cosine part beside the largest family of
  `evidence.fit_kernel_average`;
- logarithm: `bnn.GPRegressor()` of log y in place of y;
- points: `bnn.FunctionAnchoredEnsemble` with nothing set, and with the test inputs as measurement
  points, in place of the exact posterior with the same prior;
- settings: `bnn.GPRegressor()` less itself without settings of `evidence.fit_kernel_average`, and
  less a plain Gaussian process, see `bench/defaults/settings.py`; problems are also composite/...
  and functions chosen/..., seen/... and judge/....

Printed are the scores with it less those without it, as means over the splits with two standard
errors. docs/benchmarks.md describes the folder, and says what came of it.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

NAMES = ("parts", "logarithm", "points", "settings")


def main() -> None:
    """Print what a study found."""
    parser = argparse.ArgumentParser("python -m bench.defaults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("study", choices=NAMES)
    parser.add_argument("--data", type=Path, required=True, help="folder of public sets")
    parser.add_argument(
        "--problems",
        nargs="+",
        required=True,
        help="sets and kinds of splits, such as yacht/gap, or beginnings of their names",
    )
    parser.add_argument("--splits", type=int, default=4, help="of each problem (default: 4)")
    given = parser.parse_args()
    if given.splits < 1:
        parser.error(f"--splits {given.splits}: must be 1 or more")
    # Not above, since --help does not wait for large libraries.
    from bench.defaults.functions import problems as functions
    from bench.defaults.settings import settings
    from bench.defaults.studies import logarithm, parts, points, positive_rows
    from bench.scoreboard import problems, public

    studies = {
        "parts": parts,
        "logarithm": partial(logarithm, given.data),
        "points": points,
        "settings": settings,
    }
    study = studies[given.study]
    try:
        every = public.problems(given.data)
        if given.study == "settings":
            every = [*functions(), *problems.composite(), *every]
        chosen = problems.beginning(every, given.problems, "problem of --problems")
        if given.study == "logarithm":
            for problem in chosen:
                positive_rows(given.data, problem)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for problem in chosen:
        name = problem.name
        found = defaultdict(list)
        for number in range(min(given.splits, problem.splits)):
            for label, change in study(problem, number).items():
                found[label].append(change)
                print(f"{name}, split {number}, {label}: {_cells([change])}", file=sys.stderr)
        for label, rows in found.items():
            print(f"{name}, splits: {len(rows)}, {label}: {_cells(rows)}", flush=True)


def _cells(changes: Sequence[dict[str, float]]) -> str:
    """Return mean and two standard errors of each number in words."""
    from bench.scoreboard.comparison import between

    cells = []
    for name in changes[0]:
        gap = between([change[name] for change in changes])
        error = f" ± {2.0 * gap.error:.2g}" if gap.splits > 1 else ""
        cells.append(f"{name} {gap.mean:+.3g}{error}")
    return ", ".join(cells)


if __name__ == "__main__":
    main()
