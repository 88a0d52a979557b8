"""Study functional priors in the space of the weights: python -m prior_study --out FILE.

For each functional prior, networks are pre-trained to its realisations. The study computes
statistics of their weights for each layer. Then it fits four densities to the weights, draws
networks from each density, and compares their functions with the functional prior.
"""

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from prior_study.config import PRIORS, StudyConfig

if TYPE_CHECKING:
    from prior_study.study import Study


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with an option for each field of `StudyConfig`."""
    parsed = argparse.ArgumentParser(
        prog="python -m prior_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = "file of the results"
    parsed.add_argument("--out", type=Path, required=True, metavar="FILE.npz", help=where)
    for item in fields(StudyConfig):
        several = isinstance(item.default, tuple)
        usual = " ".join(PRIORS) if several else item.default
        parsed.add_argument(
            f"--{item.name.replace('_', '-')}",
            type=str if several else type(item.default),
            nargs="+" if several else None,
            default=item.default,
            help=f"{item.metadata['help']} (default: {usual})",
        )
    return parsed


def report(study: "Study") -> str:
    """Return Table 1 of the paper, and the distances of functions from each prior, by source."""
    import pandas as pd

    results = {f"prior {name}": result for name, result in study.results.items()}
    statistics = {name: result.statistics for name, result in results.items()}
    variances = {name: pd.Series(1e3 * s.variance, s.groups) for name, s in statistics.items()}
    tables = [pd.DataFrame(variances).map("{:8.2f}".format).rename_axis("1000 x variance")]
    for title, column in (("Wasserstein", "wasserstein"), ("error of widths", "width")):
        compared = pd.DataFrame({name: r.comparison[column] for name, r in results.items()})
        tables.append(compared.map("{:8.3f}".format).rename_axis(title))
    return "\n".join(table.T.to_string() for table in tables)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = vars(parser().parse_args(arguments))
    out = options.pop("out")
    # Imported after parsing, so that --help does not wait for PyTorch.
    from prior_study.study import BEGINNING, run, save
    from safe_files.writing import require_own

    try:
        config = StudyConfig(**options)
        if out.suffix != ".npz" or not out.parent.is_dir():
            raise ValueError(f"out = '{out}': must be a .npz file in a folder that exists")
        require_own(out, BEGINNING)
        study = run(config, progress=sys.stderr.isatty())
        save(study, out)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print(report(study))
    return 0


if __name__ == "__main__":
    sys.exit(main())
