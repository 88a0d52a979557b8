"""Study how functional priors look in the space of the weights: python -m prior_study --out FILE.

Networks are pre-trained to realisations of each functional prior; their weights are described
layer by layer; functions of networks drawn from four densities of the weights are compared with
the functional prior.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from prior_study.config import BIAS_CORRECTION, DEVICES, StudyConfig
from prior_study.priors import STUDY_PRIORS
from prior_study.study import SOURCES, Study, run, save


def parser() -> argparse.ArgumentParser:
    """The command line."""
    default = StudyConfig()
    parsed = argparse.ArgumentParser(
        prog="python -m prior_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parsed.add_argument
    add("--out", type=Path, required=True, metavar="FILE.npz", help="where the results go")
    add("--priors", nargs="+", default=default.priors, metavar="NAME",
        help=f"some of {' '.join(STUDY_PRIORS)} (default: all)")  # fmt: skip
    add("--members", type=int, default=default.members, metavar="K",
        help="networks a prior (default: %(default)s)")  # fmt: skip
    add("--epochs-scale", type=float, default=default.epochs_scale, metavar="FACTOR",
        help="factor on the published epochs (default: %(default)s)")  # fmt: skip
    add("--seed", type=int, default=default.seed, help="of every draw (default: %(default)s)")
    add("--optimiser", default=default.optimiser, metavar="NAME",
        help=f"{' or '.join(BIAS_CORRECTION)} Adam (default: %(default)s)")  # fmt: skip
    add("--device", default=default.device, metavar="NAME",
        help=f"{' or '.join(DEVICES)} (default: %(default)s)")  # fmt: skip
    return parsed


def variance_lines(study: Study) -> list[str]:
    """Table 1 of the paper: 1000 × variance, over all weights and by kernel."""
    first = next(iter(study.results.values())).statistics
    lines = ["1000 x variance " + "".join(f"{group:>8}" for group in first.groups)]
    for name, result in study.results.items():
        values = "".join(f"{1e3 * value:8.2f}" for value in result.statistics.variance)
        lines.append(f"prior {name:<10}" + values)
    return lines


def distance_lines(study: Study) -> list[str]:
    """Distance of each source of functions from the functional prior: two tables."""
    heading = "".join(f"{source:>20}" for source in SOURCES)
    lines = ["Wasserstein     " + heading]
    for name, result in study.results.items():
        values = "".join(f"{result.distance(source).wasserstein:20.3f}" for source in SOURCES)
        lines.append(f"prior {name:<10}" + values)
    lines.append("error of widths " + heading)
    for name, result in study.results.items():
        values = "".join(f"{result.width_error(source):20.3f}" for source in SOURCES)
        lines.append(f"prior {name:<10}" + values)
    return lines


def config_of(options: argparse.Namespace) -> StudyConfig:
    """Settings from the command line.

    Raises:
        ValueError: One of them is not allowed, or the device or the folder is not there.
    """
    values = {key: value for key, value in vars(options).items() if key != "out"}
    config = StudyConfig(**values)
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device = 'cuda': PyTorch finds no GPU here")
    if options.out.suffix != ".npz" or not options.out.parent.is_dir():
        raise ValueError(f"out = '{options.out}': must be a .npz file in a folder that exists")
    return config


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        config = config_of(options)
        study = run(config, progress=sys.stderr.isatty())
        save(study, options.out)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print("\n".join([*variance_lines(study), *distance_lines(study)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
