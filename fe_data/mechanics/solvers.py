"""The solvers of the paper's two phases, compiled and in UFL, and the fields that they compute.

`CompiledSolver` runs the compiled kernels of this package. `UFLSolver` solves the same equations in
UFL (`fe_data.reference`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.geometry.outline import MATRIX
from fe_data.incremental_problem import IncrementalProblem
from fe_data.loading import Loading
from fe_data.mechanics.elements import Discretisation, Elements, strain_at_points
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.mechanics.problem import RVEProblem, State
from fe_data.mechanics.properties import Moduli
from fe_data.mechanics.results import Fields
from fe_data.path_following import EquilibriumPath, follow
from fe_data.reference import rve as reference
from fe_data.settings import PaperPhases
from safe_files.text import Short

# Function of the unknowns and the fields, called at the start and after each increment.
Visitor = Callable[[Floats, Fields], None]


class Solver(Short, ABC):
    """A solver with the equations of one meshed RVE.

    Attributes:
        discretisation: Mesh and integration data.
        problem: The discrete equations and the material law.
    """

    discretisation: Discretisation
    problem: RVEProblem | reference.RVE

    @abstractmethod
    def incremental(self) -> IncrementalProblem:
        """Return the equations along a loading path, in the undeformed state."""

    @abstractmethod
    def fields_at(self, x: Floats, state: Any) -> Fields:
        """Return stress and plastic strain at an equilibrium, from its unknowns and its state."""

    def fields(self, path: EquilibriumPath) -> Fields:
        """Return the stress and plastic strain at the end of a path that `solve` returned."""
        return self.fields_at(path.x, path.state)

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
        rve = self.incremental()

        def converged() -> None:
            reached()
            if visit is not None:
                visit(rve.x, self.fields_at(rve.x, rve.state))

        return follow(rve, loading, increments, tolerance, converged, partial=partial)


class CompiledSolver(Solver):
    """The default solver: compiled kernels and condensed fibres."""

    problem: RVEProblem

    def __init__(self, d: Discretisation, phases: PaperPhases):
        self.discretisation = d
        self.problem = RVEProblem(d, phases)

    def incremental(self) -> IncrementalRVE:
        """Return the equations along a loading path, see `Solver.incremental`."""
        return IncrementalRVE(self.problem)

    def fields_at(self, x: Floats, state: State) -> Fields:
        """Return stress and plastic strain from unknowns (n + 3,) and the history."""
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


class UFLSolver(Solver):
    """The reference solver: forms in UFL, and MUMPS."""

    problem: reference.RVE

    def __init__(self, d: Discretisation, phases: PaperPhases):
        self.discretisation = d
        self.problem = reference.RVE(d, phases)

    def incremental(self) -> reference.IncrementalRVE:
        """Return the equations along a loading path, see `Solver.incremental`."""
        return reference.IncrementalRVE(self.problem)

    def fields_at(self, x: Floats, state: reference.State) -> Fields:  # noqa: ARG002
        """Return the stress and plastic strain from the state alone."""
        d = self.discretisation
        fibre_stress = [state.stress[d.material == i] for i in range(len(d.fibres))]
        in_matrix = d.material == MATRIX
        return Fields(state.stress[in_matrix], tuple(fibre_stress), state.history.p[in_matrix])


SOLVERS: dict[str, Callable[[Discretisation, PaperPhases], Solver]] = {
    "compiled": CompiledSolver,
    "dolfinx": UFLSolver,
}


def _four_components(plastic_strain: Floats) -> Floats:
    """Return components xx, yy, zz, xy (..., 4) of a traceless tensor from xx, yy, xy (..., 3)."""
    xx, yy, xy = np.moveaxis(plastic_strain, -1, 0)
    return np.stack([xx, yy, -xx - yy, xy], axis=-1)


def _stress(
    e: Elements, u: Floats, macro_strain: Floats, material: Moduli, plastic: Floats | float
) -> Floats:
    """Return the stress (m, q, 4) from the fluctuation u in all dofs and the macro strain (3,)."""
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
