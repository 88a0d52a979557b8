"""RVEs that break, whose results are lines of a file; an interrupted run continues.

The checks are
    ends: RVEs of 6 to 9 fibres with interfaces and a matrix that break, under each loading;
    halves: ten RVEs under each loading with the default mesh and steps, and with halves of them; in
        transverse tension also with an eighth of the steps;
    ply, cooled: RVEs of a measured ply, and one after cooling.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fe_data import Damage, Loading, Material, Phases, named_phases
from fe_data.composite.interface import STRENGTHS, strength_loading
from fe_data.composite.rve import solve_composite
from fe_data.errors import SimulationError
from fe_data.geometry.microstructure import random_microstructure
from studies.results import Result

DEBONDING = "glass_epoxy_debonding"
PLY = "glass_epoxy_ly556_breaking"
N_ENDS = 100
COARSE = 3.0  # elements per fibre diameter
VF = (0.3, 0.6)  # smallest and largest volume fraction of the ends
FIBRES = (6, 9)  # fewest and most fibres of the ends
N_HALVES = 10  # RVEs whose mesh and steps are halved
FIBRES_OF_HALVES = 4
VF_OF_HALVES = 0.5
MESH = 6.3  # elements per fibre diameter, as by default at this volume fraction
SMALL_DROP = 0.03  # ends a path soon after its peak
FIBRES_OF_PLY = 5
MESH_OF_PLY = 4.5  # elements per fibre diameter
SPACING_OF_PLY = 1.03
SEEDS_OF_PLY = 5
DROP_OF_PLY = 0.1
COOLING = 80.0  # K
# Damage of the matrix of the ends: an assumption, so that both cracks and debonding occur
ONSET = 0.05
FRACTURE_ENERGY = 10.0  # J/m²
PARABOLOIDAL = {"tension": 60.0, "compression": 90.0, "plastic_poisson_ratio": 0.4}

KEY = ("problem", "case", "loading", "seed")  # of a line of results


@dataclass(frozen=True)
class Case:
    """One RVE.

    Attributes:
        problem: The check that it belongs to.
        case: Name of its mesh, steps or loading.
        seed: Seed of the microstructure.
        phases: Materials.
        loading: Name of the strength.
        vf: Volume fraction of the fibres.
        n_fibres: Number of fibres.
        resolution: Elements per fibre diameter; None is the default.
        drop: Share of its peak by which the mean stress falls until the path ends.
        finer: Factor of the number of increments.
        cooling: Cooling before the loading [K].
        spacing: Least distance of the fibres, in diameters; None is the default.
    """

    problem: str
    case: str
    seed: int
    phases: Phases
    loading: str
    vf: float
    n_fibres: int
    resolution: float | None
    drop: float = 0.2
    finer: int = 1
    cooling: float = 0.0
    spacing: float | None = None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The case's key in the file of results."""
        return self.problem, self.case, self.loading, self.seed

    def path(self) -> Loading:
        """Return the loading path."""
        pull = strength_loading(self.loading)
        increments = self.finer * pull.total(1)
        if not self.cooling:
            return replace(pull, increments=increments)
        strain: Any = pull.strain
        both = [(None,) * 6, *strain]
        return Loading(both, temperature=(-self.cooling,) * 2, increments=(4, increments))

    def solve(self) -> Result:
        """Simulate the RVE; a row with a `reason` did not reach the end of its path."""
        row: Result = dict(zip(KEY, self.key, strict=True))
        row |= {"law": self.phases.matrix.law, "vf": self.vf, "n_fibres": self.n_fibres}
        try:
            fibres = random_microstructure(self.vf, self.seed, self.n_fibres, self.spacing)
            solved = solve_composite(
                self.phases,
                fibres,
                self.path(),
                resolution=self.resolution,
                partial=True,
                silent=True,
                drop=self.drop,
            )
        except SimulationError as error:
            return row | {"reason": str(error)}
        if isinstance(solved.stop, KeyboardInterrupt):
            raise solved.stop
        if solved.strength is not None:
            row |= {name: float(value) for name, value in asdict(solved.strength).items()}
        row["last_strain"] = float(np.abs(solved.history["strain"][-1]).max())
        return row if solved.stop is None else row | {"reason": str(solved.stop)}


def breaking_phases(law: str) -> Phases:
    """Return the shipped material with debonding fibres, with a matrix that cracks."""
    phases = named_phases(DEBONDING)
    parameters = PARABOLOIDAL if law == "paraboloidal" else phases.matrix.parameters
    damage = Damage(ONSET, FRACTURE_ENERGY)
    matrix = Material(phases.matrix.elasticity, law, dict(parameters), damage)
    return replace(phases, matrix=matrix)


def ends() -> Iterator[Case]:
    """Return RVEs of random size and volume fraction, under all loadings and with two laws."""
    rng = np.random.default_rng(0)
    for seed in range(N_ENDS):
        loading = STRENGTHS[seed % len(STRENGTHS)]
        law = ("j2", "paraboloidal")[seed // len(STRENGTHS) % 2]
        vf = round(float(rng.uniform(*VF)), 3)
        n_fibres = int(rng.integers(*FIBRES, endpoint=True))
        phases = breaking_phases(law)
        yield Case("ends", "path", seed, phases, loading, vf, n_fibres, COARSE)


def halves() -> Iterator[Case]:
    """Return RVEs with the default mesh and steps, and with smaller ones."""
    phases = breaking_phases("j2")
    for loading in STRENGTHS:
        what = phases, loading, VF_OF_HALVES, FIBRES_OF_HALVES
        steps = {"default": 1, "step": 2} | ({"eighth": 8} if loading == STRENGTHS[0] else {})
        for seed in range(N_HALVES):
            for case, finer in steps.items():
                yield Case("halves", case, seed, *what, MESH, SMALL_DROP, finer=finer)
            yield Case("halves", "mesh", seed, *what, 2 * MESH, SMALL_DROP)


def plies() -> Iterator[Case]:
    """Return RVEs of the measured ply, and some after cooling."""
    phases = named_phases(PLY)
    assert phases.measured is not None
    vf = phases.measured.vf

    def case(problem: str, loading: str, seed: int, cooling: float = 0.0) -> Case:
        what = phases, loading, vf, FIBRES_OF_PLY, MESH_OF_PLY, DROP_OF_PLY
        return Case(problem, loading, seed, *what, cooling=cooling, spacing=SPACING_OF_PLY)

    for seed in range(SEEDS_OF_PLY):
        for loading in STRENGTHS[:3]:
            yield case("ply", loading, seed)
    yield case("cooled", STRENGTHS[0], 0, COOLING)


CHECKS = {"ends": ends, "halves": halves, "plies": plies}


def cases(checks: tuple[str, ...] = tuple(CHECKS)) -> Iterator[Case]:
    """Return the RVEs of some checks."""
    for name in checks:
        yield from CHECKS[name]()
