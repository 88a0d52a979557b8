"""Equilibrium of a periodic RVE in UFL, with macro strains as unknowns and an exact linear solver.

The displacement is u = E x + w, with the macro strain E and a periodic fluctuation w. The geometry
of the mesh is quadratic like the displacement, so E x is a function of the P2 space. The nodal
values of u are therefore linear in the unknowns y = (w at merged nodes, E),

    u = T y,    Tᵀ f = 0 in the rows of w,    Tᵀ f = mean stress in the rows of E (Hill–Mandel),

with the force f of the weak form, ∫ σ : ε(v) dV. The sparse matrix T merges periodic nodes and
applies macro strains. In the matrix the pressure is κ times the dilatation averaged over each
element (P2/P0, B-bar). In the fibres, and with element "P2", it is κ div u. This part of the
tangent is constant.
"""

from typing import Any, NamedTuple

import dolfinx.fem
import numpy as np
import scipy.sparse as sp
import ufl
from petsc4py import PETSc

from fe_data.arrays import Floats
from fe_data.geometry import domain
from fe_data.geometry.domain import Domain, dofs
from fe_data.geometry.outline import MATRIX
from fe_data.incremental_problem import Averages, PlaneStrainProblem, Residual
from fe_data.loading import Segment
from fe_data.reference.return_mapping import IDENTITY, History, Law, return_map
from fe_data.settings import PaperPhases
from safe_files.text import Short

fem: Any = dolfinx.fem  # type checkers do not see the names of other versions


class State(NamedTuple):
    """History and stresses of an equilibrium."""

    history: History
    stress: Floats  # (m, q, 4) [MPa]


class RVE(Short):
    """Weak form and constitutive law of an RVE; stresses in MPa, lengths relative to its side."""

    linear_solver = "MUMPS (dolfinx)"

    def __init__(self, d: Domain, phases: PaperPhases):
        divergence = self._write_forms(d.mesh)
        self.merge = self._merge(d)
        self.in_matrix = d.material == MATRIX
        # μ = E / 2(1 + ν),   κ = E / 3(1 - 2ν)
        E = np.where(self.in_matrix, phases.E_m_GPa, phases.E_f_GPa)[:, None] * 1e3
        nu = np.where(self.in_matrix, phases.nu_m, phases.nu_f)[:, None]
        self.mu = E / (2 * (1 + nu))
        self.kappa = E / (3 * (1 - 2 * nu))
        self.law = Law(
            yield_stress=phases.sigma_y0_MPa,
            hardening_coefficient=phases.b_m_MPa,
            hardening_exponent=phases.c_m,
            hardening_law=phases.hardening,
        )
        D = self._average_dilatation(divergence, averaged=d.element == "P2/P0")
        self.dilatation = D
        # K += Dᵀ κ w D
        self.bulk = D.T @ sp.diags((self.kappa * self.weights).ravel()) @ D
        held = d.merged[d.triangles[self.in_matrix][0, 0]]  # fixed against rigid translation
        self.fluctuating = np.delete(np.arange(2 * d.n_nodes), [2 * held, 2 * held + 1])

    def _average_dilatation(self, divergence: sp.csr_matrix, averaged: bool) -> sp.csr_matrix:
        """Return the operator from the dofs of u to the dilatation at the points.

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
        """Return T: dofs of u in dolfinx from w at the merged nodes and E (xx, yy, 2 xy)."""
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
        """Return the periodic fluctuation w, a part of the unknowns."""
        return y[:-3]

    def update(self, y: Floats, old: History) -> State:
        """Return history and stress at unknowns y; stress and tangent are written to the forms."""
        self.u.x.array[:] = self.merge @ y
        strains = self.strain().reshape(*self.weights.shape, 4)
        stress, tangent, new = return_map(strains, old, self.mu, self.in_matrix[:, None], self.law)
        # σ = s + κ θ I
        pressure = self.kappa * (self.dilatation @ self.u.x.array).reshape(self.weights.shape)
        stress += pressure[..., None] * IDENTITY
        domain.assign(self.stress, stress)
        domain.assign(self.tangent, tangent)
        return State(new, stress)


def strain(u: Any) -> Any:
    """Return the strain xx, yy, zz, 2 xy of a displacement, in UFL."""
    return ufl.as_vector([u[0].dx(0), u[1].dx(1), 0, u[0].dx(1) + u[1].dx(0)])


class IncrementalRVE(PlaneStrainProblem):
    """The equations of an RVE along a loading path, in the undeformed state at first.

    Attributes:
        rve: Equations.
        x: Unknowns y at the last equilibrium.
        state: History and stresses at the last equilibrium.
    """

    def __init__(self, rve: RVE):
        self.rve = rve
        points = rve.weights.shape
        self.x = np.zeros(rve.merge.shape[1])
        self.state: State = rve.update(self.x, History(np.zeros((*points, 4)), np.zeros(points)))
        self._factorisations = 0

    def begin(self, segment: Segment, *, is_first: bool) -> None:
        """Begin a segment of the path, without a prediction from earlier equilibria."""
        super().begin(segment, is_first=is_first)
        self._unknown = np.append(self.rve.fluctuating, len(self.x) - 3 + segment.free)
        self._merge = self.rve.merge[:, self._unknown]

    def residual(self, x: Floats, t: float) -> Residual:
        """Evaluate the residual of the unknowns that are not prescribed."""
        rve = self.rve
        self.trial = rve.update(x, self.state.history)
        load = np.append(np.zeros(len(x) - 3), self.load(t))
        # r = f_ext - Tᵀ f(y)
        force = fem.assemble_vector(rve.residual).array
        residual = (load - rve.merge.T @ force)[self._unknown]
        # The scale is the force before periodic nodes are merged: the RVE on its neighbours.
        return Residual(residual, float(np.linalg.norm(residual)), float(np.linalg.norm(force)))

    def assemble_tangent(self) -> None:
        """Assemble Tᵀ K T with the tangent K, and the columns T of the unknowns."""
        # Multiply in SciPy, because PtAP of PETSc takes 20 times as long.
        K = self.rve.jacobian() + self.rve.bulk
        self._tangent = (self._merge.T @ K @ self._merge).tocsr()

    def solve(self, residual: Floats, accuracy: float) -> Floats:  # noqa: ARG002 (it is exact)
        """Solve (Tᵀ K T) dy = r for a Newton step."""
        self._factorisations += 1
        dx = np.zeros_like(self.x)
        dx[self._unknown] = solve_cholesky(self._tangent, residual)
        return dx

    def averages(self) -> Averages:
        """Return volume averages at the last equilibrium; tensors have xx, yy, zz, xy."""
        exx, eyy, gxy = self.x[-3:]
        weights = self.rve.weights
        history, stress = self.state
        return {
            "strain": np.array([exx, eyy, 0.0, gxy / 2]),
            "stress": np.tensordot(weights, stress),
            "plastic_strain": np.tensordot(weights, history.plastic_strain),
            "yielded_fraction": np.tensordot(weights, np.where(history.p > 0, 1.0, 0.0)),
        }

    @property
    def counts(self) -> dict[str, int]:
        """Number of factorisations, one for each solve."""
        return {"factorisations": self._factorisations, "cg_iterations": 0}


def solve_cholesky(K: sp.csr_matrix, right: Floats) -> Floats:
    """Solve K x = right with MUMPS; K is symmetric and positive definite."""
    csr = (K.indptr, K.indices, K.data)
    matrix = PETSc.Mat().createAIJ(K.shape, csr=csr, comm=PETSc.COMM_SELF)
    matrix.setOption(PETSc.Mat.Option.SPD, True)
    PETSc.Options("reference_")["mat_mumps_icntl_7"] = 6  # QAMD, for the dense rows of E
    solver = PETSc.PC().create(PETSc.COMM_SELF)
    solver.setOptionsPrefix("reference_")
    solver.setOperators(matrix)
    solver.setType("cholesky")
    solver.setFactorSolverType("mumps")
    x, load = matrix.createVecs()
    load.setArray(right)
    solver.apply(load, x)
    PETSc.garbage_cleanup()  # frees objects of earlier steps
    return np.array(x.getArray())
