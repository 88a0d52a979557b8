"""Settings of the study, which are also the options of its command line."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HIDDEN = (50, 50, 50, 50)
PRIORS = ("A", "B", "C", "D")
# How Adam corrects the bias of its moments. The published variances come from optimisers whose step
# counter continued from network to network, while their moments were reset.
OPTIMISERS = {
    "published": "published (Adam without bias correction)",
    "workers": "workers (with it for the first network of each of eight processes)",
    "proper": "proper (standard Adam)",
}
WORKERS = 8  # processes in which the authors pre-trained
_SMALLEST = {"members": 2, "prior_points": 2, "functions": 2, "grid_points": 2, "seed": 0}


def _option(default: Any, meaning: str) -> Any:
    """Return a field with its default and its help text on the command line."""
    return field(default=default, metadata={"help": meaning})


def _check_option(name: str, value: object, options: Collection[str]) -> None:
    """Raise ValueError unless value is one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(options)}")


def first_of_workers(count: int, workers: int) -> tuple[int, ...]:
    """Return the first of `count` networks that each worker process trains.

    `multiprocessing.Pool.map` divides the networks into chunks of a quarter of the share of a
    worker. The first chunks go to different workers.
    """
    chunk = math.ceil(count / (4 * workers))
    return tuple(range(0, count, chunk))[:workers]


@dataclass(frozen=True)
class StudyConfig:
    """Settings of pre-training and statistics; the defaults are those of the paper.

    A network depends on the seed, but not on the number of networks. All priors share the initial
    weights and the points.

    Raises:
        ValueError: If a setting is unknown or out of its range.
    """

    priors: tuple[str, ...] = _option(PRIORS, "functional priors by name")
    members: int = _option(100, "networks K of each prior")
    epochs_scale: float = _option(1.0, "factor on the published epochs of each prior")
    optimiser: str = _option("published", ", ".join(OPTIMISERS.values()))
    seed: int = _option(1, "seed of all random draws")
    device: str = _option("cpu", "cpu or cuda")
    prior_points: int = _option(400, "points M at which each realisation is fitted")
    functions: int = _option(1000, "functions drawn from each weight prior")
    grid_points: int = _option(101, "points in [-1, 1] at which functions are compared")

    def __post_init__(self) -> None:
        object.__setattr__(self, "priors", tuple(self.priors))
        if not self.priors or len(set(self.priors)) < len(self.priors):
            names = ", ".join(PRIORS)
            raise ValueError(f"priors = {self.priors}: must be some of {names}, each once")
        for prior in self.priors:
            _check_option("priors", prior, PRIORS)
        _check_option("optimiser", self.optimiser, OPTIMISERS)
        _check_option("device", self.device, ("cpu", "cuda"))
        for name, low in _SMALLEST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
                raise ValueError(f"{name} = {value!r}: must be an integer >= {low}")
        if not 0 < self.epochs_scale < math.inf:
            raise ValueError(f"epochs_scale = {self.epochs_scale}: must be > 0")

    @property
    def bias_correction(self) -> bool | tuple[int, ...]:
        """Whether Adam corrects its bias, or the networks for which it does."""
        if self.optimiser == "workers":  # the authors pre-trained twice as many networks
            corrected = first_of_workers(2 * self.members, WORKERS)
            return tuple(index for index in corrected if index < self.members)
        return self.optimiser == "proper"

    def epochs(self, prior: str) -> int:
        """Return the number of training epochs for a prior, at least one."""
        from prior_study.priors import STUDY_PRIORS

        return max(1, round(self.epochs_scale * STUDY_PRIORS[prior].epochs))

    @property
    def grid(self) -> np.ndarray:
        """Points at which functions are compared, (grid_points, 1)."""
        return np.linspace(-1.0, 1.0, self.grid_points)[:, None]
