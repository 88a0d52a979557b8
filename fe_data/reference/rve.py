"""Equilibrium of a periodic RVE in UFL, with macro strains as unknowns and a plain Newton loop.

The displacement is u = E x + w, with the macro strain E and a periodic fluctuation w. The geometry
of the mesh is quadratic like the displacement, so E x is a function of the P2 space. The nodal
values of u are therefore linear in the unknowns y = (w at merged nodes, E),

    u = T y,    Tᵀ f = 0 in the rows of w,    Tᵀ f = mean stress in the rows of E (Hill–Mandel),

with the force f of the weak form, ∫ σ : ε(v) dV. The sparse matrix T merges periodic nodes and
applies macro strains. In the matrix the pressure is κ times the dilatation averaged over each
element (P2/P0, B-bar). In the fibres, and with element "P2", it is κ div u. This part of the
tangent is constant.
"""

from collections.abc import Callable
from typing import Any

import dolfinx.fem
import numpy as np
import scipy.sparse as sp
import ufl
from petsc4py import PETSc

from fe_data.arrays import Floats, Short
from fe_data.errors import ConvergenceError
from fe_data.geometry import domain
from fe_data.geometry.domain import Domain, dofs
from fe_data.geometry.outline import MATRIX
from fe_data.loading import Loading, Part, advance, explain, stacked
from fe_data.reference.return_mapping import IDENTITY, History, Law, return_map
from fe_data.settings import Inputs, Settings

_NEWTON_ITERATIONS = 25
fem: Any = dolfinx.fem  # type checkers do not see the names of other versions


class RVE(Short):
    """Weak form and constitutive law of an RVE; stresses in MPa, lengths relative to its side."""

    linear_solver = "MUMPS (dolfinx)"

    def __init__(self, d: Domain, inputs: Inputs, settings: Settings):
        divergence = self._write_forms(d.mesh)
        self.merge = self._merge(d)
        self.in_matrix = d.material == MATRIX
        # μ = E / 2(1 + ν),   κ = E / 3(1 - 2ν)
        E = np.where(self.in_matrix, settings.E_m_GPa, inputs.E_f_GPa)[:, None] * 1e3
        nu = np.where(self.in_matrix, settings.nu_m, settings.nu_f)[:, None]
        self.mu = E / (2 * (1 + nu))
        self.kappa = E / (3 * (1 - 2 * nu))
        self.law = Law(
            yield_stress=settings.sigma_y0_MPa,
            hardening_coefficient=inputs.b_m_MPa,
            hardening_exponent=inputs.c_m,
            hardening_law=settings.hardening,
        )
        D = self._average_dilatation(divergence, averaged=d.element == "P2/P0")
        self.dilatation = D
        # K += Dᵀ κ w D
        self.bulk = D.T @ sp.diags((self.kappa * self.weights).ravel()) @ D
        held = d.merged[d.triangles[self.in_matrix][0, 0]]  # fixed against rigid translation
        self.fluctuating = np.delete(np.arange(2 * d.n_nodes), [2 * held, 2 * held + 1])

    def _average_dilatation(self, divergence: sp.csr_matrix, averaged: bool) -> sp.csr_matrix:
        """Operator from the dofs of u to the dilatation at the points.

        Args:
            divergence: (m q, n) integration weight times div of each shape function.
            averaged: Whether to average the dilatation over each element of the matrix.

        Returns:
            The operator (m q, n).
        """
        m, q = self.weights.shape
        over_element = self.in_matrix & averaged
        points = np.where(over_element[:, None, None], np.ones((q, q)), np.eye(q))
        sums = sp.bsr_matrix((points, np.arange(m), np.arange(m + 1)))
        # θ = Σ w div u / Σ w, over the points of an element or over a single point
        return sp.diags(1 / (sums @ self.weights.ravel())) @ sums @ divergence

    def _write_forms(self, mesh: Any) -> sp.csr_matrix:
        """Write forms, strain and weights; return weight times div of the shape functions."""
        dx = domain.measure(mesh)
        self.V = domain.space(mesh, "Lagrange", 2, (2,))
        Q = domain.quadrature_space(mesh, 4)
        self.u = fem.Function(self.V)
        v = ufl.TestFunction(self.V)
        du = ufl.TrialFunction(self.V)
        self.stress = fem.Function(Q)
        self.tangent = fem.Function(domain.quadrature_space(mesh, 16))
        rows = [[self.tangent[4 * i + j] for j in range(4)] for i in range(4)]
        tangent = ufl.as_matrix(rows)
        # f(v) = ∫ σ : ε(v) dV,   K(du, v) = ∫ (C ε(du)) : ε(v) dV
        self.residual = domain.compiled_form(ufl.inner(self.stress, strain(v)) * dx)
        self.jacobian = domain.assembler(ufl.inner(tangent * strain(du), strain(v)) * dx)
        self.strain = domain.at_points(strain(self.u), mesh, 4)
        at_point = ufl.TestFunction(Q)[0]
        place = 4 * dofs(Q)
        self.weights = fem.assemble_vector(domain.compiled_form(at_point * dx)).array[place]
        return domain.assembler(at_point * ufl.div(du) * dx)()[place.ravel()]

    def _merge(self, d: Domain) -> sp.csr_matrix:
        """The matrix T: dofs of u in dolfinx from w at the merged nodes and E (xx, yy, 2 xy)."""
        node = np.empty(len(d.points), dtype=np.int64)
        # Geometry and displacement have the same basis and the same numbering in a triangle.
        node[dofs(self.V)] = d.triangles
        x, y = d.points[node].T
        # E x = (E_xx x + γ y / 2, E_yy y + γ x / 2)
        affine = np.array([[x, 0 * x], [0 * y, y], [y / 2, x / 2]]).T.reshape(-1, 3)
        columns = (2 * d.merged[node][:, None] + [0, 1]).ravel()
        return sp.hstack([sp.identity(2 * d.n_nodes, format="csr")[columns], affine], "csr")

    @staticmethod
    def fluctuation(y: Floats) -> Floats:
        """Periodic fluctuation w, a part of the unknowns."""
        return y[:-3]

    def update(self, y: Floats, old: History) -> History:
        """Return the history at unknowns y; stress and tangent are written to the forms."""
        self.u.x.array[:] = self.merge @ y
        strains = self.strain().reshape(*self.weights.shape, 4)
        stress, tangent, new = return_map(strains, old, self.mu, self.in_matrix[:, None], self.law)
        # σ = s + κ θ I
        pressure = self.kappa * (self.dilatation @ self.u.x.array).reshape(self.weights.shape)
        stress += pressure[..., None] * IDENTITY
        domain.assign(self.stress, stress)
        domain.assign(self.tangent, tangent)
        self.point_stress = stress
        return new

    def averages(self, y: Floats, history: History) -> dict[str, Floats]:
        """Volume averages after an update; tensors have the components xx, yy, zz, xy."""
        return {
            "strain": np.array([y[-3], y[-2], 0.0, y[-1] / 2]),
            "stress": np.tensordot(self.weights, self.point_stress),
            "plastic_strain": np.tensordot(self.weights, history.plastic_strain),
            "yielded_fraction": np.tensordot(self.weights, np.where(history.p > 0, 1.0, 0.0)),
        }

    def newton_step(self, residual: Floats, merge: sp.csr_matrix) -> Floats:
        """Solve (Tᵀ K T) dy = r with the tangent K and the columns T of the unknowns."""
        # Multiply in SciPy, because PtAP of PETSc takes 20 times as long.
        K = (merge.T @ (self.jacobian() + self.bulk) @ merge).tocsr()
        csr = (K.indptr, K.indices, K.data)
        matrix = PETSc.Mat().createAIJ(K.shape, csr=csr, comm=PETSc.COMM_SELF)
        matrix.setOption(PETSc.Mat.Option.SPD, True)
        PETSc.Options("reference_")["mat_mumps_icntl_7"] = 6  # QAMD, for the dense rows of E
        solver = PETSc.PC().create(PETSc.COMM_SELF)
        solver.setOptionsPrefix("reference_")
        solver.setOperators(matrix)
        solver.setType("cholesky")
        solver.setFactorSolverType("mumps")
        step, load = matrix.createVecs()
        load.setArray(residual)
        solver.apply(load, step)
        PETSc.garbage_cleanup()  # frees objects of earlier steps
        return np.array(step.getArray())


def strain(u: Any) -> Any:
    """Strain xx, yy, zz, 2 xy of a displacement, in UFL."""
    return ufl.as_vector([u[0].dx(0), u[1].dx(1), 0, u[0].dx(1) + u[1].dx(0)])


def solve_load_steps(
    rve: RVE,
    loading: Loading,
    increments: int,
    tolerance: float,
    converged: Callable[[Floats, History], None],
    *,
    partial: bool = False,
) -> tuple[
    Floats,
    History,
    dict[str, Floats],
    dict[str, int],
    ConvergenceError | KeyboardInterrupt | None,
]:
    """Follow a loading path from the undeformed state, in equal increments of each part.

    Args:
        rve: Equations.
        loading: Path of the mean strain and stress.
        increments: Number of increments of each part, if the loading gives none.
        tolerance: Relative residual at which Newton's method has converged [-].
        converged: Function of unknowns and history, called at the start and after each increment.
        partial: Whether to return the increments before an error or an interruption.

    Returns:
        Unknowns and history at the end, averages at the start and after each increment, numbers of
        Newton iterations, updates and cutbacks, and what ended the path early.

    Raises:
        ConvergenceError: If Newton's method does not converge even in the smallest steps.
        KeyboardInterrupt: After Ctrl-C, unless `partial` is given.
    """
    stepper = _Stepper(rve, tolerance)
    rows = []
    last = stepper.y, stepper.history
    stop = None

    def reached() -> None:
        nonlocal last
        converged(stepper.y, stepper.history)
        rows.append(rve.averages(stepper.y, stepper.history))
        last = stepper.y, stepper.history

    reached()
    parts = loading.parts(increments)
    part = parts[0]
    try:
        for number, part in enumerate(parts, start=1):
            stepper.turn(part, part.start(rows[-1]))
            for increment in range(1, part.increments + 1):
                end = increment / part.increments
                stepper.counts["cutbacks"] += advance(stepper.t, end, stepper.attempt, number)
                reached()
    except (ConvergenceError, KeyboardInterrupt) as error:
        rve.update(stepper.y, stepper.history)  # the stresses of the last equilibrium
        averages = rve.averages(stepper.y, stepper.history)
        explain(error, stacked(rows), averages, part)
        if not partial:
            raise
        stop = error
        rve.update(*last)
    return *last, stacked(rows), stepper.counts, stop


class _Stepper:
    """The last equilibria on a part of a path, and Newton's method for the next one."""

    def __init__(self, rve: RVE, tolerance: float):
        self.rve = rve
        self.tolerance = tolerance
        points = rve.weights.shape
        self.y = np.zeros(rve.merge.shape[1])
        self.history = rve.update(self.y, History(np.zeros((*points, 4)), np.zeros(points)))
        self.largest = 0.0  # largest norm of the force so far
        self.counts = {"newton_iterations": 0, "updates": 0, "cutbacks": 0}
        self.part: Part
        self.start: Floats  # strains at the start of the part, or stresses of free components
        self.t: float  # fraction of the part at the last equilibrium
        self.speed: Floats  # dy/dt between the last two equilibria

    def turn(self, part: Part, start: Floats) -> None:
        """Begin the next part of the path, without a prediction from earlier equilibria."""
        self.part = part
        self.start = start
        self.t = 0.0
        self.speed = np.zeros_like(self.y)

    def attempt(self, t: float) -> bool:
        """Try to reach the equilibrium at fraction t; on failure return False, change nothing."""
        n = len(self.y) - 3
        given = np.delete(range(3), self.part.free)
        target = self.start + t * (self.part.end - self.start)
        # Extrapolate from the last two equilibria: y(t) = y + (t - t_now) dy/dt
        y = self.y + (t - self.t) * self.speed
        y[n + given] = (target * [1, 1, 2])[given]  # the unknown of xy is 2 xy
        load = np.append(np.zeros(n), target)
        found = self._newton(y, load)
        if found is None:
            return False
        self.history = found
        self.speed = (y - self.y) / (t - self.t)
        self.y = y
        self.t = t
        return True

    def _newton(self, y: Floats, load: Floats) -> History | None:
        """Newton's method, which changes y in place; return the history, None if it diverges."""
        rve = self.rve
        unknown = np.append(rve.fluctuating, len(y) - 3 + self.part.free)
        merge = rve.merge[:, unknown]
        for _ in range(_NEWTON_ITERATIONS):
            new = rve.update(y, self.history)
            self.counts["updates"] += 1
            # r = f_ext - Tᵀ f(y)
            force = fem.assemble_vector(rve.residual).array
            residual = (load - rve.merge.T @ force)[unknown]
            # The scale is the force before periodic nodes are merged: the RVE on its neighbours. It
            # may vanish after unloading, hence the largest force so far.
            size = float(np.linalg.norm(force))
            if np.linalg.norm(residual) <= self.tolerance * max(size, 0.1 * self.largest):
                self.largest = max(self.largest, size)
                return new
            if not np.isfinite(size):
                return None
            # y ← y + (Tᵀ K T)⁻¹ r
            y[unknown] += rve.newton_step(residual, merge)
            self.counts["newton_iterations"] += 1
        return None
