"""How effective properties with the phases of the paper depend on the mesh.

The elements are quadratic triangles with averaged dilatation (P2/P0) or without (P2). RVEs have 30
or six fibres. All results are compared with those of the finest P2/P0 mesh.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.geometry.microstructure import random_microstructure
from fe_data.geometry.outline import default_size
from fe_data.mechanics.properties import equivalent_strain, von_mises
from fe_data.mechanics.rve import RVESolution, solve_rve
from fe_data.settings import Inputs, Settings

VOLUME_FRACTIONS = (0.07, 0.23, 0.39)
ELEMENTS = {30: ("P2/P0", "P2"), 6: ("P2/P0",)}  # by number of fibres
FINENESS = (0.5, 1.0, 1.5, 2.2)  # element size of the default mesh over that of this mesh
FINEST = 4.0
SEED = 3
HEADER = ["vf", "fibres", "element", "dofs", "seconds"]
HEADER += ["b [%]", "c [%]", "E [%]", "stress [%]", "p_sigma"]


def solve(
    vf: float, fineness: float, element: str = "P2/P0", n_fibres: int = 30, **options: Any
) -> tuple[RVESolution, float]:
    """Solve an RVE, and return it with the processor seconds that it took."""
    microstructure = random_microstructure(vf, SEED, n_fibres)
    resolution = fineness * 2 * microstructure.radii[0] / default_size(n_fibres)
    chosen = Settings(n_fibres=n_fibres, resolution=resolution)
    inputs = Inputs(vf, 400.0, 400.0, 0.4)
    start = time.process_time()
    rve = solve_rve(inputs, chosen, microstructure=microstructure, element=element, **options)
    return rve, time.process_time() - start


def compared_values(rve: RVESolution) -> Floats:
    """Return b, c, E and the mean von Mises stress at a plastic strain of 0.02."""
    e = rve.effective
    assert e is not None
    p = equivalent_strain(rve.history["plastic_strain"])
    mises = von_mises(rve.history["stress"])
    return np.array([e.b_eff_MPa, e.c_eff, e.E_eff_GPa, np.interp(0.02, p, mises)])


def differences(rve: RVESolution, exact: RVESolution) -> list[str]:
    """Return differences of b, c, E, stress at 0.02 plastic strain [%], and p_sigma, as text."""
    b, c, E, stress = 100 * (compared_values(rve) / compared_values(exact) - 1)
    p_sigma = rve.p_sigma - exact.p_sigma
    return [f"{b:+.2f}", f"{c:+.2f}", f"{E:+.3f}", f"{stress:+.2f}", f"{p_sigma:+.4f}"]


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    solve(0.1, 0.5)  # compiles, or loads compiled code, before times are measured
    for vf, (n_fibres, elements) in product(VOLUME_FRACTIONS, ELEMENTS.items()):
        exact, _ = solve(vf, FINEST, n_fibres=n_fibres)
        for element, fineness in product(elements, FINENESS):
            rve, seconds = solve(vf, fineness, element, n_fibres)
            case = [f"{vf:g}", str(n_fibres), element, str(2 * rve.discretisation.n_nodes)]
            yield [*case, f"{seconds:.1f}", *differences(rve, exact)]
