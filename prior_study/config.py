"""Settings of the study; the defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bnn import Architecture
from prior_study.priors import STUDY_PRIORS

HIDDEN = (50, 50, 50, 50)
ARCHITECTURE = Architecture((1, *HIDDEN, 1))
# Whether Adam corrects the bias of its moments. The published variances come from an optimiser
# whose step counter ran on from network to network while its moments started anew.
BIAS_CORRECTION = {"published": False, "proper": True}
DEVICES = ("cpu", "cuda")
_SMALLEST = {"members": 2, "prior_points": 2, "functions": 2, "grid_points": 2, "seed": 0}


@dataclass(frozen=True)
class StudyConfig:
    """What is pre-trained and how it is looked at.

    Attributes:
        priors: Names of functional priors, see STUDY_PRIORS.
        members: K, networks a prior. A network does not depend on how many others there are.
        epochs_scale: Factor on each prior's published number of epochs.
        optimiser: "published" (Adam without bias correction) or "proper".
        seed: Of every random draw. All priors share the start and the points.
        device: "cpu" or "cuda".
        prior_points: M, points at which a realisation is fitted.
        functions: Number of functions drawn from each weight prior.
        grid_points: Points in [-1, 1] at which functions are compared.
    """

    priors: tuple[str, ...] = tuple(STUDY_PRIORS)
    members: int = 100
    epochs_scale: float = 1.0
    optimiser: str = "published"
    seed: int = 1
    device: str = "cpu"
    prior_points: int = 400
    functions: int = 1000
    grid_points: int = 101

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field is out of range; it names the field, its value and the range.
        """
        object.__setattr__(self, "priors", tuple(self.priors))
        known = ", ".join(STUDY_PRIORS)
        if not self.priors or len(set(self.priors)) < len(self.priors):
            raise ValueError(f"priors = {self.priors}: must be some of {known}, each once")
        for name in self.priors:
            _require(name in STUDY_PRIORS, "priors", name, f"one of {known}")
        _require(self.optimiser in BIAS_CORRECTION, "optimiser", self.optimiser,
                 f"one of {', '.join(BIAS_CORRECTION)}")  # fmt: skip
        _require(self.device in DEVICES, "device", self.device, f"one of {', '.join(DEVICES)}")
        for name, low in _SMALLEST.items():
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            _require(whole and value >= low, name, value, f"an integer >= {low}")
        _require(0 < self.epochs_scale < math.inf, "epochs_scale", self.epochs_scale, "> 0")

    def epochs(self, prior: str) -> int:
        """Epochs that the networks of a prior are trained, at least one."""
        return max(1, round(self.epochs_scale * STUDY_PRIORS[prior].epochs))

    @property
    def grid(self) -> np.ndarray:
        """Points at which functions are compared, (grid_points, 1)."""
        return np.linspace(-1.0, 1.0, self.grid_points)[:, None]


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise ValueError(f"{name} = {value!r}: must be {allowed}")
