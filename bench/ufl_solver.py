"""The compiled solver and UFL: python -m bench.ufl_solver prints processor seconds and ratios.

The same RVE is solved on the default mesh by the compiled solver and in UFL, and in UFL with
standard P2 elements. The mesh of the P2 elements is the coarsest one of a series on which b is as
accurate; the compiled solver determines it. `bench.ufl_solver 6` uses 6 fibres instead of 30 and
takes 3 minutes of processor time.
"""

import argparse
from typing import NamedTuple

from studies.mesh.paper import FINEST, solve

VF = 0.23
FINER = 1.15  # ratio of element sizes between two meshes of the series


class Measured(NamedTuple):
    """Error and cost of an RVE solution."""

    error: float  # relative error of b, compared with the finest mesh
    seconds: float  # processor time


def report(n_fibres: int, fineness: float, element: str, solver: str, exact: float) -> Measured:
    """Solve an RVE, print its error and time, and return both."""
    rve, seconds = solve(VF, fineness, element, n_fibres, solver=solver)
    assert rve.effective is not None
    error = rve.effective.b_eff_MPa / exact - 1
    case = f"{solver}, {element}, {2 * rve.discretisation.n_nodes} dofs:"
    print(f"{case:35s} error of b {error:+.2%}, {seconds:.2f} s", flush=True)
    return Measured(abs(error), seconds)


def main(n_fibres: int) -> None:
    """Print the table."""
    finest, _ = solve(VF, FINEST, n_fibres=n_fibres)  # also compiles
    assert finest.effective is not None
    exact = finest.effective.b_eff_MPa
    solve(VF, 0.5, n_fibres=n_fibres, solver="dolfinx")  # compiles the forms
    ours = report(n_fibres, 1.0, "P2/P0", "compiled", exact)
    same = report(n_fibres, 1.0, "P2/P0", "dolfinx", exact)
    fineness = 2.0
    while report(n_fibres, fineness, "P2", "compiled", exact).error > ours.error:
        fineness *= FINER
    standard = report(n_fibres, fineness, "P2", "dolfinx", exact)
    print(f"UFL takes {same.seconds / ours.seconds:.1f} times as long with the same elements,")
    print(f"and {standard.seconds / ours.seconds:.1f} times with standard ones of this accuracy")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fibres", type=int, nargs="?", default=30, help="number of fibres")
    main(parser.parse_args().fibres)
