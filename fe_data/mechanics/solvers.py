"""The two solvers of a meshed RVE, and the fields that they compute.

`CompiledSolver` runs the compiled kernels of this package. `UFLSolver` solves the same equations in
UFL (`fe_data.reference`). Both offer the methods of the protocol `Solver`.
"""

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np

from fe_data.arrays import Floats, Short
from fe_data.geometry.outline import MATRIX
from fe_data.loading import Loading
from fe_data.mechanics.elements import Discretisation, Elements, strain_at_points
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.mechanics.problem import RVEProblem, State
from fe_data.mechanics.properties import Moduli
from fe_data.mechanics.results import Fields
from fe_data.path_following import EquilibriumPath, follow
from fe_data.reference import rve as reference
from fe_data.settings import PaperPhases

# Function of the unknowns and the fields, called at the start and after each increment.
Visitor = Callable[[Floats, Fields], None]


class Solver(Protocol):
    """A solver with the equations of one meshed RVE."""

    @property
    def problem(self) -> RVEProblem | reference.RVE:
        """The discrete equations and the material law."""

    def solve(
        self,
        loading: Loading,
        increments: int,
        tolerance: float,
        visit: Visitor | None = None,
        reached: Callable[[], object] = bool,
        *,
        partial: bool = False,
    ) -> EquilibriumPath:
        """Follow a loading path from the undeformed state.

        Args:
            loading: Path of the mean strain and stress.
            increments: Number of increments of each part, if the loading gives none.
            tolerance: Relative residual at which Newton's method has converged [-].
            visit: Function of the unknowns and the fields, called at the start and after each
                increment.
            reached: Function without arguments, called at the same times. It is cheaper, because
                fields are not computed for it. The default `bool` does nothing.
            partial: Whether to return the increments before an error or an interruption.

        Returns:
            Volume averages at the start and after each increment, and the state at the end.
        """

    def fields(self, path: EquilibriumPath) -> Fields:
        """Return stress and plastic strain at the end of a path that `solve` returned."""


class CompiledSolver(Short):
    """The default solver: compiled kernels, condensed fibres, adaptive load steps."""

    def __init__(self, d: Discretisation, phases: PaperPhases):
        self.discretisation = d
        self.problem = RVEProblem(d, phases)

    def solve(
        self,
        loading: Loading,
        increments: int,
        tolerance: float,
        visit: Visitor | None = None,
        reached: Callable[[], object] = bool,
        *,
        partial: bool = False,
    ) -> EquilibriumPath:
        """Follow a loading path from the undeformed state, see `Solver.solve`."""
        rve = IncrementalRVE(self.problem)

        def converged() -> None:
            reached()
            if visit is not None:
                visit(rve.x, self._recovered(rve.x, rve.state))

        return follow(rve, loading, increments, tolerance, converged, partial=partial)

    def fields(self, path: EquilibriumPath) -> Fields:
        """Compute stress and plastic strain from the unknowns at the end of a path."""
        return self._recovered(path.x, path.state)

    def _recovered(self, x: Floats, state: State) -> Fields:
        """Stress and plastic strain from unknowns (n + 3,) and the history at the same time."""
        problem = self.problem
        u = problem.fluctuation(x)
        macro_strain = x[problem.n :]
        fibre_stress = [
            _stress(fibre, u, macro_strain, problem.fibre_moduli, 0.0)
            for fibre in self.discretisation.fibres
        ]
        history = state.old
        matrix_stress = _stress(
            self.discretisation.matrix,
            u,
            macro_strain,
            Moduli(problem.law.shear_modulus, problem.law.bulk_modulus),
            _four_components(history.plastic_strain),
        )
        return Fields(matrix_stress, tuple(fibre_stress), history.p.copy())


class UFLSolver(Short):
    """The reference solver: forms in UFL, a plain Newton loop, and MUMPS."""

    def __init__(self, d: Discretisation, phases: PaperPhases):
        self.discretisation = d
        self.problem = reference.RVE(d, phases)

    def solve(
        self,
        loading: Loading,
        increments: int,
        tolerance: float,
        visit: Visitor | None = None,
        reached: Callable[[], object] = bool,
        *,
        partial: bool = False,
    ) -> EquilibriumPath:
        """Follow a loading path from the undeformed state, see `Solver.solve`."""
        rve = reference.IncrementalRVE(self.problem)

        def converged() -> None:
            reached()
            if visit is not None:
                visit(rve.x, self._recovered(rve.state))

        path = follow(rve, loading, increments, tolerance, converged, partial=partial)
        exact = {"factorisations": path.counts["newton_iterations"], "cg_iterations": 0}
        return dataclasses.replace(path, counts=path.counts | exact)

    def fields(self, path: EquilibriumPath) -> Fields:
        """Return stress and plastic strain at the end of a path."""
        return self._recovered(path.state)

    def _recovered(self, state: reference.State) -> Fields:
        """Stress and plastic strain of an equilibrium."""
        d = self.discretisation
        fibre_stress = [state.stress[d.material == i] for i in range(len(d.fibres))]
        in_matrix = d.material == MATRIX
        return Fields(state.stress[in_matrix], tuple(fibre_stress), state.history.p[in_matrix])


SOLVERS: dict[str, Callable[[Discretisation, PaperPhases], Solver]] = {
    "compiled": CompiledSolver,
    "dolfinx": UFLSolver,
}


def _four_components(plastic_strain: Floats) -> Floats:
    """Components xx, yy, zz, xy (..., 4) of a traceless tensor from xx, yy, xy (..., 3)."""
    xx, yy, xy = np.moveaxis(plastic_strain, -1, 0)
    return np.stack([xx, yy, -xx - yy, xy], axis=-1)


def _stress(
    e: Elements, u: Floats, macro_strain: Floats, material: Moduli, plastic: Floats | float
) -> Floats:
    """Stress (m, q, 4) from the fluctuation u in all dofs and the macro strain (3,)."""
    xx, yy, xy = np.moveaxis(strain_at_points(e, u, macro_strain), -1, 0)
    # s = 2μ (dev ε - ε_p), in plane strain
    third = (xx + yy) / 3
    deviator = np.stack([xx - third, yy - third, -third, xy], axis=-1) - plastic
    stress: Floats = 2 * material.shear * deviator
    # σ = s + κ θ I with θ = Σ_r φ_r θ_r, the projected dilatation (see `elements`)
    dilatation = np.einsum("mrk,mk->mr", e.dilatation, u[e.dofs])
    dilatation[:, 0] += e.root_area * (macro_strain[0] + macro_strain[1])
    stress[..., :3] += material.bulk * np.einsum("mqr,mr->mq", e.modes, dilatation)[..., None]
    return stress
