"""How far the solvers agree over the box of inputs: python -m tests.fe_data.reference.agreement.

Largest relative differences of the averages at an increment, and of the properties, on the same
mesh with Newton's method converged far beyond the default.
"""

import argparse
from itertools import product

import numpy as np

from fe_data import Inputs, Loading, Settings, solve_rve
from fe_data.schema import INPUT_BOUNDS

CORNERS = ("0000", "1111", "1010", "0101", "1100", "0011")  # low or high: vf, E_f, b_m, c_m
LOADINGS = {
    "uniaxial": Loading((0.05, None, None)),
    "shear": Loading((None, None, 0.05)),
    "biaxial, xy free": Loading((0.03, 0.02, None)),
    "cyclic": Loading([(0.02, None, None), (-0.01, None, None), (0.02, None, None)], increments=20),
    "non-proportional": Loading(
        [(0.02, None, 0.0), (0.02, None, 0.01), (None, 0.0, 0.0)], increments=20
    ),
}
SETTINGS = Settings(n_fibres=3, resolution=2.0, tolerance=1e-9)


def differences(inputs, loading, settings=SETTINGS):
    """Of stress, plastic strain, yielded fraction and, where there are any, the properties."""
    one, other = (
        solve_rve(inputs, settings, loading, seed=1, solver=solver)
        for solver in ("compiled", "dolfinx")
    )
    same = one.path.counts["cutbacks"] == other.path.counts["cutbacks"]
    assert same, "the plastic strain depends on the increments"
    largest = {}
    for name in ("stress", "plastic_strain", "yielded_fraction"):
        rows = len(one.history[name]) - 1
        a, b = (rve.history[name][1:].reshape(rows, -1) for rve in (one, other))
        size = np.linalg.norm(a, axis=1)
        difference = np.linalg.norm(a - b, axis=1)
        assert (difference[size == 0] == 0).all()
        largest[name] = max(difference[size > 0] / size[size > 0])
    if one.effective is not None:
        a, b = (np.array(list(rve.result().effective.values())) for rve in (one, other))
        largest["properties"] = max(np.abs(b - a) / np.where(a == 0, 1, np.abs(a)))
    return largest


def cases():
    """Inputs, name of the loading, loading."""
    for corner, (name, loading) in product(CORNERS, LOADINGS.items()):
        values = [pair[int(i)] for i, pair in zip(corner, INPUT_BOUNDS.values(), strict=True)]
        yield Inputs(*values), name, loading


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for inputs, name, loading in cases():
        numbers = " | ".join(f"{x:.0e}" for x in differences(inputs, loading).values())
        print(f"| {inputs} | {name} | {numbers} |", flush=True)
