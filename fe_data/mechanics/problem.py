"""The nonlinear equations of one periodic cell: residual, stiffness and linear solves."""

import numpy as np

from fe_data.mechanics.condensation import condense, moduli
from fe_data.mechanics.elements import Discretisation
from fe_data.mechanics.plasticity import stiffness, update
from fe_data.settings import Inputs, Settings
from fe_data.sparse.cholesky import MultifrontalCholesky, symmetric_product

# A factorisation costs eight iterations of conjugate gradients. Measured: 10 to 28 are within 5 %.
_CG_ITERATIONS = 12  # in one solve, at most
_REFACTORISE_AFTER = 20  # iterations beyond those of a fresh factor


class State:
    """History variables at the start of a step and at its trial end; m cells, q points each."""

    def __init__(self, m: int, q: int):
        self.ep_old, self.p_old = np.zeros((m, q, 3)), np.zeros((m, q))
        self.ep, self.p = np.zeros((m, q, 3)), np.zeros((m, q))  # plastic strain, its equivalent
        self.hardening_old, self.hardening = np.zeros((m, q)), np.zeros((m, q))  # [MPa]
        self.increment = np.zeros((m, q))  # last increment of p
        self.tangent = np.zeros((m, q, 6))  # [MPa]

    def accept(self) -> None:
        """Make the trial end the start of the next step."""
        self.ep_old, self.ep = self.ep, self.ep_old
        self.p_old, self.p = self.p, self.p_old
        self.hardening_old, self.hardening = self.hardening, self.hardening_old


class PeriodicCell:
    """Equilibrium of one cell in the dofs of its matrix, bordered by the three macro strains.

    The displacement is x -> E x + u(x) with u periodic; fibres are condensed to their outlines.
    The unknowns x are u (n,) and the macro strain xx, yy, engineering xy (3,). Units: MPa, side of
    the cell 1.
    """

    def __init__(self, d: Discretisation, inputs: Inputs, settings: Settings):
        self.moduli = moduli(1e3 * settings.E_m_GPa, settings.nu_m)
        self.fibre_moduli = moduli(1e3 * inputs.E_f_GPa, settings.nu_f)
        self.law = (*self.moduli, settings.a_MPa, inputs.b_m_MPa, inputs.c_m)
        self.matrix = d.matrix
        in_matrix = np.zeros(2 * d.n_nodes, dtype=bool)
        in_matrix[self.matrix.dofs] = True
        self.fibres = [condense(fibre, in_matrix, *self.fibre_moduli) for fibre in d.fibres]
        self.n_dofs = 2 * d.n_nodes
        self.active = np.flatnonzero(in_matrix)
        number = np.cumsum(in_matrix) - 1
        self.n = len(self.active)
        self.dofs = number[self.matrix.dofs].astype(np.int32)
        self.outlines = [number[f.outline] for f in self.fibres]
        self._build_pattern()
        coordinates = np.empty((d.n_nodes, 2))
        coordinates[d.merged] = d.points
        coordinates = coordinates[in_matrix[::2]]
        self.solver = MultifrontalCholesky(self.indptr, self.indices, coordinates)
        self.border = np.zeros((self.n, 3))
        self.macro_stiffness = np.zeros((3, 3))
        self.factor_free: np.ndarray | None = None
        self._age = 0  # iterations spent beyond those of a fresh factor
        self.counts = dict.fromkeys(("factorisations", "cg_iterations", "updates"), 0)
        # Nodal forces that a unit stress exerts within the cells: the scale of a residual.
        unit = self.matrix.root_area[:, None] * np.abs(self.matrix.dilatation[:, 0, :12])
        size = np.bincount(self.dofs.ravel(), unit.ravel(), self.n)
        self.force_scale = float(np.linalg.norm(size))

    def _build_pattern(self) -> None:
        """Sparsity of the stiffness, and its constant part: fibres and the held node."""
        keys = [_pair_keys(dofs, self.n) for dofs in (self.dofs, *(o[None] for o in self.outlines))]
        unique, slot = np.unique(np.concatenate(keys), return_inverse=True)
        self.indices = (unique % self.n).astype(np.int32)
        self.indptr = np.searchsorted(unique, np.arange(self.n + 1) * self.n).astype(np.int32)
        start = len(keys[0])
        self.slots = slot[:start].reshape(-1, 78).astype(np.int32)
        self.constant = np.zeros(len(unique))
        self.constant_border, self.constant_macro = np.zeros((self.n, 3)), np.zeros((3, 3))
        for fibre, outline in zip(self.fibres, self.outlines, strict=True):
            nb = len(outline)
            i, j = np.triu_indices(nb)
            np.add.at(self.constant, slot[start : start + len(i)], fibre.condensed[i, j])
            self.constant_border[outline] += fibre.condensed[:nb, nb:]
            self.constant_macro += fibre.condensed[nb:, nb:]
            start += len(i)
        # Rigid translation: springs hold one node. They carry no force in equilibrium.
        self.constant[self.indptr[self.dofs[0, :2]]] += 2 * self.moduli[0]

    def evaluate(self, x: np.ndarray, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Internal force at a trial state, whose history variables it fills.

        Returns:
            Forces that go with each unknown (n + 3,); integrals over the matrix (8,), see
            `plasticity.update`; integral of the stress xx, yy, xy over the fibres (3,).
        """
        n = self.n
        u, macro = x[:n], x[n:]
        out, sums = np.empty(n + 3), np.zeros(8)
        force = out[:n]
        symmetric_product(self.indptr, self.indices, self.constant, u, force)
        force += self.constant_border @ macro
        e = self.matrix
        update(
            u, macro, self.dofs, e.gradients, e.weights, e.dilatation, e.root_area,
            self.law, state.ep_old, state.p_old, state.hardening_old, state.ep, state.p,
            state.hardening, state.increment, state.tangent, force, sums,
        )  # fmt: skip
        in_fibres = self.constant_border.T @ u + self.constant_macro @ macro
        out[n:] = in_fibres + sums[[0, 1, 3]]
        self.counts["updates"] += 1
        return out, sums, in_fibres

    def averages(
        self, x: np.ndarray, sums: np.ndarray, in_fibres: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Volume averages at a converged state: tensors as xx, yy, zz, xy (tensor component)."""
        mu, kappa = self.fibre_moduli
        exx, eyy, gxy = x[self.n :]
        # Plane strain in an elastic phase: zz follows from xx + yy, pointwise and on average.
        ratio = (kappa - 2 * mu / 3) / (2 * kappa + 2 * mu / 3)
        zz = sums[2] + ratio * (in_fibres[0] + in_fibres[1])
        return {
            "strain": np.array([exx, eyy, 0.0, gxy / 2]),
            "stress": np.array(
                [sums[0] + in_fibres[0], sums[1] + in_fibres[1], zz, sums[3] + in_fibres[2]]
            ),
            "plastic_strain": np.array([sums[4], sums[5], -sums[4] - sums[5], sums[6]]),
            "yielded_fraction": sums[7],
        }

    def displacement(self, x: np.ndarray) -> np.ndarray:
        """Periodic fluctuation in all dofs of the cell, the fibres' interiors recovered."""
        u = np.zeros(self.n_dofs)
        u[self.active], macro = x[: self.n], x[self.n :]
        for fibre in self.fibres:
            u[fibre.interior] = -fibre.recovery @ np.append(u[fibre.outline], macro)
        return u

    def linearise(self, state) -> None:
        """Assemble the consistent stiffness at the state last evaluated."""
        e = self.matrix
        self.solver.values[:] = self.constant
        self.border[:] = self.constant_border
        self.macro_stiffness[:] = self.constant_macro
        stiffness(
            self.dofs, e.gradients, e.weights, e.dilatation, e.root_area,
            self.moduli[1], state.tangent, self.slots, self.solver.values, self.border,
            self.macro_stiffness,
        )  # fmt: skip

    def factorise(self, free: np.ndarray) -> None:
        """Renew the preconditioner at the current stiffness, for some free macro strains."""
        self.solver.factorise()
        self.factor_free = free
        self.factor_border = self.border[:, free].copy()
        self.factor_solution = self.solver.solve(self.factor_border)
        self.factor_schur = (
            self.macro_stiffness[np.ix_(free, free)] - self.factor_border.T @ self.factor_solution
        )
        self._age = 0
        self.counts["factorisations"] += 1

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        n = self.n
        z = np.empty_like(r)
        y = self.solver.solve(r[:n])
        z[n:] = (
            np.linalg.solve(self.factor_schur, r[n:] - self.factor_border.T @ y)
            if len(r) > n
            else ()
        )
        z[:n] = y - self.factor_solution @ z[n:]
        return z

    def _apply(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        n = self.n
        y = np.empty_like(x)
        symmetric_product(self.indptr, self.indices, self.solver.values, x[:n], y[:n])
        border = self.border[:, free]
        y[:n] += border @ x[n:]
        y[n:] = border.T @ x[:n] + self.macro_stiffness[np.ix_(free, free)] @ x[n:]
        return y

    def solve(self, rhs: np.ndarray, free: np.ndarray, accuracy: float) -> np.ndarray:
        """Solve the linearised equations for u and the free macro strains.

        Conjugate gradients, preconditioned by the last factor; it is renewed when it is too old.

        Args:
            rhs: (n + len(free),) out-of-balance forces.
            free: Macro strains that are unknown; the others do not change.
            accuracy: Relative residual that may be left.

        Returns:
            (n + len(free),) step; not a number where the stiffness is not positive definite.
        """
        if self._age > _REFACTORISE_AFTER or not self._has_factor(free):
            self.factorise(free)
        with np.errstate(over="ignore", invalid="ignore"):
            solution, iterations = self._conjugate_gradients(rhs, free, accuracy)
            if iterations > _CG_ITERATIONS:
                self.factorise(free)
                solution, iterations = self._conjugate_gradients(rhs, free, accuracy)
        self._age += iterations - 1
        return solution

    def _has_factor(self, free: np.ndarray) -> bool:
        return self.factor_free is not None and np.array_equal(free, self.factor_free)

    def _conjugate_gradients(self, rhs, free, rtol) -> tuple[np.ndarray, int]:
        x, r = np.zeros_like(rhs), rhs.copy()
        z = self._precondition(r)
        p, rz = z, r @ z
        stop = rtol * np.linalg.norm(rhs)
        for iteration in range(1, _CG_ITERATIONS + 1):
            ap = self._apply(p, free)
            curvature = p @ ap
            if not 0.0 < curvature < np.inf:  # a limit load: no stable equilibrium
                return np.full_like(rhs, np.nan), iteration
            alpha = rz / curvature
            x += alpha * p
            r -= alpha * ap
            self.counts["cg_iterations"] += 1
            if np.linalg.norm(r) <= stop:
                return x, iteration
            z = self._precondition(r)
            rz, old = r @ z, rz
            p = z + (rz / old) * p
        return x, _CG_ITERATIONS + 1


def _pair_keys(dofs: np.ndarray, n: int) -> np.ndarray:
    """Keys row * n + column of the upper triangle of each dense block of dofs (m, k)."""
    i, j = np.triu_indices(dofs.shape[1])
    a, b = dofs[:, i].astype(np.int64), dofs[:, j].astype(np.int64)
    return (np.minimum(a, b) * n + np.maximum(a, b)).ravel()
