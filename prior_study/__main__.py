"""Study how functional priors look in the space of the weights: python -m prior_study --out FILE.

Networks are pre-trained to realisations of each functional prior; their weights are described
layer by layer; functions of networks drawn from four densities of the weights are compared with
the functional prior.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

import torch

from prior_study.config import StudyConfig
from prior_study.study import SOURCES, Study, run, save


def parser() -> argparse.ArgumentParser:
    """The command line: an option for each field of `StudyConfig`."""
    parsed = argparse.ArgumentParser(
        prog="python -m prior_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsed.add_argument(
        "--out", type=Path, required=True, metavar="FILE.npz", help="where the results go"
    )
    for item in fields(StudyConfig):
        default = getattr(StudyConfig(), item.name)
        several = isinstance(default, tuple)
        parsed.add_argument(
            f"--{item.name.replace('_', '-')}",
            type=str if several else type(default),
            nargs="+" if several else None,
            default=default,
            help=f"{item.metadata['help']} (default: {' '.join(default) if several else default})",
        )
    return parsed


def table(
    title: str, columns: Iterable[str], rows: Mapping[str, Iterable[float]], spec: str
) -> str:
    """A table of numbers in text.

    Args:
        title: Above the names of the rows.
        columns: Their names.
        rows: Prior → numbers.
        spec: Width and decimals of a number, "8.2".
    """
    width = spec.partition(".")[0]
    lines = [f"{title:16}" + "".join(f"{name:>{width}}" for name in columns)]
    for name, values in rows.items():
        lines.append(f"prior {name:<10}" + "".join(f"{value:{spec}f}" for value in values))
    return "\n".join(lines)


def report(study: Study) -> str:
    """Table 1 of the paper, and the distances of each source of functions from each prior."""
    results = study.results
    groups = next(iter(results.values())).statistics.groups
    variance = {name: 1e3 * each.statistics.variance for name, each in results.items()}
    distance = {name: each.distances[:, 2] for name, each in results.items()}
    widths = {name: each.width_errors for name, each in results.items()}
    return "\n".join(
        [
            table("1000 x variance ", groups, variance, "8.2"),
            table("Wasserstein", SOURCES, distance, "20.3"),
            table("error of widths", SOURCES, widths, "20.3"),
        ]
    )


def config_of(options: argparse.Namespace) -> StudyConfig:
    """Settings from the command line.

    Raises:
        ValueError: One of them is not allowed, or the device or the folder is not there.
    """
    config = StudyConfig(**{key: value for key, value in vars(options).items() if key != "out"})
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device = 'cuda': PyTorch finds no GPU here")
    if options.out.suffix != ".npz" or not options.out.parent.is_dir():
        raise ValueError(f"out = '{options.out}': must be a .npz file in a folder that exists")
    return config


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        study = run(config_of(options), progress=sys.stderr.isatty())
        save(study, options.out)
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
