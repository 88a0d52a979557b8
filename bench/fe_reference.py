"""The compiled solver beside UFL: python -m bench.fe_reference prints processor seconds and ratios.

A cell at the default mesh by the compiled solver; the same in UFL; and in UFL with the standard P2
elements on the coarsest mesh of a series on which b is as accurate (the compiled solver finds it).
`bench.fe_reference 6` takes 6 fibres instead of 30, and 3 minutes of processor time.
"""

import argparse

from bench.fe_convergence import FINEST, solve

VF, FINER = 0.23, 1.15  # from one mesh of standard elements to the next


def main(n_fibres: int) -> None:
    """Print the table."""
    exact = solve(VF, FINEST, n_fibres=n_fibres)[0].effective.b_eff_MPa  # and compiles
    solve(VF, 0.5, n_fibres=n_fibres, solver="dolfinx")
    ours = None

    def error(fineness: float, element: str, solver: str) -> float:
        nonlocal ours
        cell, seconds = solve(VF, fineness, element, n_fibres, solver=solver)
        ours, deviation = ours or seconds, cell.effective.b_eff_MPa / exact - 1
        case = f"{solver}, {element}, {2 * cell.discretisation.n_nodes} dofs:"
        numbers = f"error of b {deviation:+.2%}, {seconds:.2f} s, ratio {seconds / ours:.1f}"
        print(f"{case:35s} {numbers}", flush=True)
        return abs(deviation)

    wanted, fineness = error(1.0, "P2/P0", "compiled"), 2.0
    error(1.0, "P2/P0", "dolfinx")
    while error(fineness, "P2", "compiled") > wanted:
        fineness *= FINER
    error(fineness, "P2", "dolfinx")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fibres", type=int, nargs="?", default=30, help="of the cell")
    main(parser.parse_args().fibres)
