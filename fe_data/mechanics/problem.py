"""Equilibrium of a periodic representative volume element: residual, tangent and averages.

The displacement is x -> E x + u(x) with the macro strain E and a periodic fluctuation u. The
derivative of the internal work by E is the volume average of the stress (Hill–Mandel), so that E
joins the unknowns with the mean stress as its force. Fibres and the pressure of the matrix, kappa
times the projected dilatation (B-bar, see `elements`), are linear: a constant part of the tangent.
"""

import numpy as np
import scipy.sparse as sp

from fe_data.arrays import Floats, Ints
from fe_data.mechanics.bordered_system import BorderedMatrix, BorderedSystem, assemble_tangent
from fe_data.mechanics.condensation import condense
from fe_data.mechanics.elements import Discretisation
from fe_data.mechanics.plasticity import HistoryVariables, J2Law, return_map
from fe_data.mechanics.properties import moduli
from fe_data.settings import Inputs, Settings
from fe_data.sparse.cholesky import symmetric_product
from fe_data.sparse.compilation import compiled


class State:
    """History variables at the start of a step (`old`) and its trial end (`new`); see `return_map`.

    There are m elements with q points.
    """

    def __init__(self, m: int, q: int):
        self.old, self.new = (
            HistoryVariables(np.zeros((m, q, 3)), np.zeros((m, q)), np.zeros((m, q)))
            for _ in range(2)
        )
        self.tangent = np.zeros((m, q, 6))

    def accept(self) -> None:
        """Make the trial end the start of the next step."""
        self.old, self.new = self.new, self.old


class RVEProblem:
    """Equilibrium in the dofs of the matrix; fibres are condensed to their outlines.

    The unknowns x are u (n,) and the macro strain xx, yy, engineering xy (3,). Units: MPa, and the
    side of the volume element for lengths.
    """

    def __init__(self, d: Discretisation, inputs: Inputs, settings: Settings):
        self.fibre_moduli = moduli(1e3 * inputs.E_f_GPa, settings.nu_f)
        matrix_moduli = moduli(1e3 * settings.E_m_GPa, settings.nu_m)
        voce = settings.hardening == "voce"
        self.law = J2Law(*matrix_moduli, settings.a_MPa, inputs.b_m_MPa, inputs.c_m, voce)
        in_matrix = np.zeros(2 * d.n_nodes, dtype=bool)
        in_matrix[d.matrix.dofs] = True
        self.fibres = [condense(fibre, in_matrix, self.fibre_moduli) for fibre in d.fibres]
        self.n_dofs = 2 * d.n_nodes
        self.active = np.flatnonzero(in_matrix)
        number = np.cumsum(in_matrix) - 1
        self.n = len(self.active)
        self.matrix = d.matrix._replace(dofs=number[d.matrix.dofs].astype(np.int32))
        indptr, indices = self._build_pattern([number[fibre.outline] for fibre in self.fibres])
        coordinates = np.empty((d.n_nodes, 2))
        coordinates[d.merged] = d.points
        self.system = BorderedSystem(indptr, indices, coordinates[in_matrix[::2]])
        self.linear_solver, self._evaluations = self.system.solver.name, 0
        # Nodal forces that a unit stress exerts within the elements: the scale of a residual.
        unit = self.matrix.root_area[:, None] * np.abs(self.matrix.dilatation[:, 0, :12])
        size = np.bincount(self.matrix.dofs.ravel(), unit.ravel(), self.n)
        self.force_scale = float(np.linalg.norm(size))

    def _build_pattern(self, outlines: list[Ints]) -> tuple[Ints, Ints]:
        """Sparsity of the tangent, and its constant part: fibres, pressure and the held node."""
        dense = [self.matrix.dofs, *(outline[None] for outline in outlines)]
        indptr, indices, slots = _upper_pattern(dense, self.n // 2)
        self._slots = slots[0]
        values, border, macro = np.zeros(len(indices)), np.zeros((self.n, 3)), np.zeros((3, 3))
        for fibre, outline, at in zip(self.fibres, outlines, slots[1:], strict=True):
            nb = len(outline)
            values[at[0]] += fibre.stiffness[np.triu_indices(nb)]
            border[outline] += fibre.stiffness[:nb, nb:]
            macro += fibre.stiffness[nb:, nb:]
        kappa, (dofs, _, _, h, root_area, _) = self.law.bulk_modulus, self.matrix
        i, j = np.triu_indices(12)
        bulk = kappa * np.einsum("mri,mrj->mij", h, h)[:, i, j]
        values += np.bincount(self._slots.ravel(), bulk.ravel(), len(values))
        pressure = kappa * h[:, 0] * root_area[:, None]
        self._pressure = np.bincount(dofs.ravel(), pressure.ravel(), self.n)
        border[:, :2] += self._pressure[:, None]
        self._stiffness = kappa * root_area @ root_area
        macro[:2, :2] += self._stiffness
        # Springs hold one node against rigid translation. They carry no force in equilibrium.
        values[indptr[self.matrix.dofs[0, :2]]] += 2 * self.law.shear_modulus
        self._constant = BorderedMatrix(values, border, macro)
        return indptr, indices

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of factorisations, iterations of conjugate gradients and return mappings."""
        return {**self.system.counts, "updates": self._evaluations}

    def internal_force(self, x: Floats, state: State) -> tuple[Floats, Floats]:
        """Force of each unknown (n + 3,) and integrals (11,); writes the trial end of `state`."""
        # The integrals: stress xx, yy, zz, xy and plastic strain xx, yy, xy over the matrix, the
        # area where p > 0, and stress xx, yy, xy over the fibres.
        n = self.n
        u, macro_strain = x[:n], x[n:]
        out, integrals = np.empty(n + 3), np.zeros(11)
        force, constant = out[:n], self._constant
        symmetric_product(self.system.indptr, self.system.indices, constant.values, u, force)
        force += constant.border @ macro_strain
        return_map(
            u, macro_strain, self.matrix, self.law, state.old, state.new,
            state.tangent, force, integrals,
        )  # fmt: skip
        linear = constant.border.T @ u + constant.macro @ macro_strain
        out[n:] = linear + integrals[[0, 1, 3]]
        pressure = self._pressure @ u + self._stiffness * (macro_strain[0] + macro_strain[1])
        integrals[:3] += pressure
        integrals[8:] = linear - [pressure, pressure, 0.0]
        self._evaluations += 1
        return out, integrals

    def assemble_tangent(self, state: State) -> None:
        """Assemble the consistent tangent at the trial end of a state."""
        for target, source in zip(self.system.tangent, self._constant, strict=True):
            target[:] = source
        assemble_tangent(self.matrix, state.tangent, self._slots, self.system.tangent)

    def volume_averages(self, x: Floats, integrals: Floats) -> dict[str, Floats]:
        """Row of an `EquilibriumPath.history`, from the integrals (11,) of `internal_force`."""
        mu, kappa = self.fibre_moduli
        exx, eyy, gxy = x[self.n :]
        plastic_xx, plastic_yy, plastic_xy, yielded, fibre_xx, fibre_yy, fibre_xy = integrals[4:]
        # Plane strain in an elastic phase: zz follows from xx + yy, pointwise and on average.
        ratio = (kappa - 2 * mu / 3) / (2 * kappa + 2 * mu / 3)
        in_fibres = np.array([fibre_xx, fibre_yy, ratio * (fibre_xx + fibre_yy), fibre_xy])
        plastic = np.array([plastic_xx, plastic_yy, -plastic_xx - plastic_yy, plastic_xy])
        strain, stress = np.array([exx, eyy, 0.0, gxy / 2]), integrals[:4] + in_fibres
        names = ("strain", "stress", "plastic_strain", "yielded_fraction")
        return dict(zip(names, (strain, stress, plastic, yielded), strict=True))

    def fluctuation(self, x: Floats) -> Floats:
        """Periodic fluctuation u in all dofs (n_dofs,), the interiors of the fibres recovered."""
        u = np.zeros(self.n_dofs)
        u[self.active], macro_strain = x[: self.n], x[self.n :]
        for fibre in self.fibres:
            u[fibre.interior] = -fibre.recovery @ np.append(u[fibre.outline], macro_strain)
        return u


def _upper_pattern(dense: list[Ints], n: int) -> tuple[Ints, Ints, list[Ints]]:
    """Upper triangle (CSR) of dense blocks, by their dofs, and the places of each one's entries."""
    # Dofs (m, 2 k) go node by node, places (m, k (2 k + 1)) row by row of the upper triangle.
    ends = np.cumsum(np.concatenate([[0], *([dofs.shape[1] // 2] * len(dofs) for dofs in dense)]))
    nodes = np.concatenate([dofs[:, ::2].ravel() // 2 for dofs in dense])
    blocks = sp.csr_matrix((np.ones(len(nodes), np.int32), nodes, ends), (len(ends) - 1, n))
    upper = sp.triu(sp.kron(sp.triu(blocks.T @ blocks), np.ones((2, 2), np.int8)), format="csr")
    upper.sort_indices()
    return upper.indptr, upper.indices, [_places(d, upper.indptr, upper.indices) for d in dense]


@compiled()
def _places(dofs: Ints, indptr: Ints, indices: Ints) -> Ints:
    """Places of the entries of dense blocks in a pattern of the upper triangle."""
    m, k = dofs.shape
    places = np.empty((m, k * (k + 1) // 2), np.int32)
    for e in range(m):
        for i in range(0, k, 2):
            for j in range(i, k, 2):  # rows i and i + 1 of a node have the same columns
                low, high = min(dofs[e, i], dofs[e, j]), max(dofs[e, i], dofs[e, j])
                column = np.searchsorted(indices[indptr[low] : indptr[low + 1]], high)
                for r in range(i, i + 2):
                    for s in range(max(r, j), j + 2):
                        a, b = min(dofs[e, r], dofs[e, s]), max(dofs[e, r], dofs[e, s])
                        at = r * k - r * (r - 1) // 2 + s - r
                        places[e, at] = indptr[a] + column + b % 2 - a % 2
    return places
