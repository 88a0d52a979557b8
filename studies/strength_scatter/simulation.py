"""Strengths in transverse tension of random RVEs, as inputs vary and as the number of fibres does.

The RVEs are coarse: three elements per fibre diameter. Results are lines of a file, and an
interrupted run continues.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import qmc

from fe_data import Phases, Settings, named_phases
from fe_data.composite.strengths import sample_strength
from studies.results import Result

MATERIAL = "glass_epoxy_debonding"
LOADING = "transverse_tension"
RESOLUTION = 3.0  # elements per fibre diameter
FIBRES = 15
# Lowest and highest value of each input of the surrogate. The other properties of the interface
# follow: its shear strength is 1.5 times the normal strength, its toughness in mode II three times
# that in mode I, as in the shipped material.
INPUTS = {
    "vf": (0.3, 0.6),
    "normal_strength_MPa": (30.0, 80.0),
    "toughness_I_J_m2": (1.0, 8.0),
}
SHEAR_STRENGTH = 1.5
TOUGHNESS_II = 3.0
N_TRAINING = 80
N_TEST = 100
MICROSTRUCTURES = {15: 40, 30: 20, 60: 10}  # number of fibres → microstructures with equal inputs
VF = 0.5  # of these

KEY = ("problem", "n_fibres", "seed")  # of a line of results


@dataclass(frozen=True)
class Case:
    """One RVE: the set that it belongs to, its inputs, its number of fibres and its seed."""

    problem: str
    vf: float
    phases: Phases
    n_fibres: int
    seed: int

    @property
    def key(self) -> tuple[str, int, int]:
        """The case's key in the file of results."""
        return self.problem, self.n_fibres, self.seed

    def solve(self) -> Result:
        """Simulate the RVE until it breaks; a row without `strength_MPa` has the reason."""
        settings = Settings(n_fibres=self.n_fibres, resolution=RESOLUTION)
        solved = sample_strength(self.phases, LOADING, self.vf, self.seed, settings)
        interface = self.phases.interface
        assert interface is not None
        row: Result = dict(zip(("problem", "n_fibres", "seed"), self.key, strict=True))
        row["vf"] = self.vf
        row["normal_strength_MPa"] = interface.normal_strength_MPa
        row["toughness_I_J_m2"] = interface.toughness_I_J_m2
        if solved.strength is None or not solved.is_reached:
            return row | {"reason": solved.reason}
        return row | {
            "strength_MPa": solved.strength.strength_MPa,
            "strain_at_strength": solved.strength.strain_at_strength,
        }


def inputs_of(problem: str) -> np.ndarray:
    """Return the inputs of the training set, a Latin hypercube, or of the uniform test set."""
    low, high = np.transpose(list(INPUTS.values()))
    if problem == "training":
        unit = qmc.LatinHypercube(len(INPUTS), seed=0).random(N_TRAINING)
    else:
        unit = np.random.default_rng(1).uniform(size=(N_TEST, len(INPUTS)))
    return low + unit * (high - low)


def phases_of(normal_strength_MPa: float, toughness_I_J_m2: float) -> Phases:
    """Return the shipped material with another interface."""
    phases = named_phases(MATERIAL)
    assert phases.interface is not None
    interface = replace(
        phases.interface,
        normal_strength_MPa=normal_strength_MPa,
        shear_strength_MPa=SHEAR_STRENGTH * normal_strength_MPa,
        toughness_I_J_m2=toughness_I_J_m2,
        toughness_II_J_m2=TOUGHNESS_II * toughness_I_J_m2,
    )
    return replace(phases, interface=interface)


def cases() -> Iterator[Case]:
    """Return the RVEs of both sets, then those of the size effect."""
    for problem in ("training", "test"):
        first = 0 if problem == "training" else N_TRAINING  # no two RVEs share a microstructure
        for index, (vf, strength, toughness) in enumerate(inputs_of(problem).tolist()):
            yield Case(problem, vf, phases_of(strength, toughness), FIBRES, first + index)
    for n_fibres, n_seeds in MICROSTRUCTURES.items():
        for seed in range(n_seeds):
            yield Case("size", VF, named_phases(MATERIAL), n_fibres, seed)
