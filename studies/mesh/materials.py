"""How stresses of other materials depend on the mesh.

The table has the mean stress on the default mesh at several strains, and its largest difference up
to there from a mesh at least 1.9 times as fine. It also has the share of the matrix that has lost
ellipticity, and the processor seconds.
"""

import dataclasses
import re
import time
from collections.abc import Iterator
from itertools import product

import numpy as np

from fe_data import (
    Isotropic,
    Loading,
    Material,
    Phases,
    named_phases,
    random_microstructure,
    solve_composite,
)
from fe_data.composite.rve import CompositeSolution
from fe_data.geometry.outline import default_size

SHIPPED = ("glass_epoxy", "boron_aluminium")
SATURATING = "glass, J2 epoxy"  # hardens by Voce's law, hardly at a plastic strain of 0.05
FRACTIONS = {"fibres": 0.5, "void": 0.2}
AXES = {"tension": (0, 1), "compression": (0, -1), "shear": (3, 1)}  # component and sign
SEEDS = (1, 2, 3)
N_FIBRES = 6
STRAINS = (0.002, 0.008, 0.010, 0.020)
INCREMENT = 0.0005
FINENESS = 3.9  # element size of the fast solver over that of the fine mesh
HEADER = [
    "material",
    "inclusions",
    "loading",
    "seed",
    "strain",
    "stress [MPa]",
    "largest difference [%]",
    "not elliptic [%]",
    "s",
]


def phases_of(material: str) -> Phases:
    """Return the phases of a row."""
    if material in SHIPPED:
        return named_phases(material)
    hardening = {"law": "voce", "yield_stress_MPa": 60.0, "b_MPa": 60.0, "c": 0.01}
    glass = named_phases("glass_epoxy").of("fibres")
    return Phases(Material(Isotropic(3.35, 0.35), "j2", {"yield_stress": hardening}), glass)


def solve(
    material: str,
    kind: str,
    axis: str,
    seed: int,
    strain: float,
    fineness: float | None = None,
) -> tuple[CompositeSolution, float]:
    """Solve an RVE, on the default mesh without a fineness; return it and its processor seconds."""
    micro = random_microstructure(FRACTIONS[kind], seed, N_FIBRES)
    micro = dataclasses.replace(micro, phases=kind)
    resolution = fineness and fineness * 2 * float(micro.radii[0]) / default_size(N_FIBRES)
    component, sign = AXES[axis]
    strains: list[float | None] = [None] * 3
    strains[min(component, 2)] = sign * strain
    loading = Loading(tuple(strains), increments=round(strain / INCREMENT))
    start = time.process_time()
    rve = solve_composite(phases_of(material), micro, loading, resolution=resolution, silent=True)
    return rve, time.process_time() - start


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    solve(SHIPPED[0], "fibres", "tension", SEEDS[0], INCREMENT)  # compiles, or loads compiled code
    for case in product((*SHIPPED, SATURATING), FRACTIONS, AXES, SEEDS):
        material, kind, axis, seed = case
        component, _ = AXES[axis]
        fine = solve(*case, STRAINS[-1], FINENESS)[0].history["stress"][1:, component]
        for strain in STRAINS:
            rve, seconds = solve(*case, strain)
            stress = rve.history["stress"][1:, component]
            change = 100 * float(np.abs(stress / fine[: len(stress)] - 1).max())
            share = re.search(r"in ([\d.]+) %", rve.warning)
            row = [material, kind, axis, str(seed), f"{strain:g}", f"{stress[-1]:.2f}"]
            yield [*row, f"{change:.2f}", share[1] if share else "0", f"{seconds:.1f}"]
