"""Equilibrium of a periodic RVE: residual, tangent and averages.

The displacement is x → E x + u(x) with the macro strain E and a periodic fluctuation u. The
derivative of the internal work by E is the volume average of the stress (Hill–Mandel). E is
therefore an unknown, with the mean stress as its force:

    f_u(u, E) = ∫ Gᵀ σ dV = 0,        f_E(u, E) = ∫ σ dV = mean stress,

with the strain operator G. Fibres are linear, and so is the pressure of the matrix, which is κ
times the projected dilatation (B-bar, see `elements`). They are a constant part of the tangent.
"""

import copy

import numpy as np
import scipy.sparse as sp

from fe_data.arrays import Booleans, Floats, Ints
from fe_data.mechanics.bordered_system import BorderedMatrix, BorderedSystem, assemble_tangent
from fe_data.mechanics.condensation import condense
from fe_data.mechanics.elements import Discretisation
from fe_data.mechanics.plasticity import HistoryVariables, j2_law, return_map
from fe_data.mechanics.properties import moduli
from fe_data.settings import PaperPhases
from fe_data.sparse.cholesky import symmetric_product
from fe_data.sparse.compilation import compiled
from fe_data.sparse.symbolic import place_of
from safe_files.text import Short


class State(Short):
    """History variables of m elements with q points, and the tangent at the trial end.

    `old` is at the start of a step, and `new` at its trial end, see `return_map`.
    """

    def __init__(self, m: int, q: int):
        self.old = _at_rest(m, q)
        self.new = _at_rest(m, q)
        self.tangent = np.zeros((m, q, 6))

    def accept(self) -> None:
        """Accept the trial end as the start of the next step."""
        written_next = self.old
        self.old = self.new
        self.new = written_next

    def copy(self) -> "State":
        """Return an independent copy."""
        return copy.deepcopy(self)


def _at_rest(m: int, q: int) -> HistoryVariables:
    return HistoryVariables(np.zeros((m, q, 3)), np.zeros((m, q)), np.zeros((m, q)))


class RVEProblem(Short):
    """Equilibrium in the dofs of the matrix; fibres are condensed to their outlines.

    The unknowns x (n + 3,) are u (n,), then the macro strain xx, yy and engineering shear xy (3,).
    Stresses are in MPa, and lengths are relative to the side of the RVE.
    """

    def __init__(self, d: Discretisation, phases: PaperPhases):
        self.fibre_moduli = moduli(1e3 * phases.E_f_GPa, phases.nu_f)
        matrix_moduli = moduli(1e3 * phases.E_m_GPa, phases.nu_m)
        self.law = j2_law(
            mu=matrix_moduli.shear,
            kappa=matrix_moduli.bulk,
            a=phases.sigma_y0_MPa,
            b=phases.b_m_MPa,
            c=phases.c_m,
            hardening=phases.hardening,
        )
        self.n_dofs = 2 * d.n_nodes
        in_matrix = np.zeros(self.n_dofs, dtype=bool)
        in_matrix[d.matrix.dofs] = True
        self.active = np.flatnonzero(in_matrix)
        self.n = len(self.active)
        self.fibres = [condense(fibre, in_matrix, self.fibre_moduli) for fibre in d.fibres]
        # Renumber the dofs of the matrix.
        number = np.full(self.n_dofs, -1)
        number[self.active] = np.arange(self.n)
        self.matrix = d.matrix._replace(dofs=number[d.matrix.dofs].astype(np.int32))
        outlines = [number[fibre.outline] for fibre in self.fibres]
        indptr, indices = self._build_pattern(outlines)
        self._constant = self._constant_tangent(indptr, len(indices), outlines)
        self.system = BorderedSystem(indptr, indices, _node_coordinates(d, in_matrix))
        self.linear_solver = self.system.solver.name
        self.force_scale = self._nodal_force_of_unit_stress()

    def _build_pattern(self, outlines: list[Ints]) -> tuple[Ints, Ints]:
        """Return the pattern of the tangent: elements of the matrix, and outlines, are dense.

        Returns:
            `indptr` and `indices` of the upper triangle (CSR).
        """
        dense = [self.matrix.dofs, *(outline[None] for outline in outlines)]
        indptr, indices, slots = upper_pattern(dense, self.n // 2)
        self._slots = slots[0]
        self._fibre_slots = [places[0] for places in slots[1:]]
        return indptr, indices

    def _constant_tangent(
        self, indptr: Ints, n_entries: int, outlines: list[Ints]
    ) -> BorderedMatrix:
        """Assemble the constant part of the tangent: fibres, pressure and the fixed node."""
        constant = BorderedMatrix(np.zeros(n_entries), np.zeros((self.n, 3)), np.zeros((3, 3)))
        self._add_fibres(constant, outlines)
        self._add_pressure(constant)
        # Springs at one node prevent rigid translation. They carry no force in equilibrium.
        constant.values[indptr[self.matrix.dofs[0, :2]]] += 2 * self.law.shear_modulus
        return constant

    def _add_fibres(self, constant: BorderedMatrix, outlines: list[Ints]) -> None:
        """Add the condensed stiffness of each fibre."""
        for fibre, outline, slots in zip(self.fibres, outlines, self._fibre_slots, strict=True):
            nb = len(outline)
            constant.values[slots] += fibre.stiffness[np.triu_indices(nb)]
            constant.border[outline] += fibre.stiffness[:nb, nb:]
            constant.macro[:] += fibre.stiffness[nb:, nb:]

    def _add_pressure(self, constant: BorderedMatrix) -> None:
        """Add the stiffness of the projected dilatation in the matrix.

        With h_r = ∫ φ_r div N, the dilatation of an element has the modes θ_r = h_rᵀ u. The
        constant mode has the additional term √A (E_xx + E_yy). The energy of an element is
        κ/2 Σ_r θ_r².
        """
        kappa = self.law.bulk_modulus
        dofs = self.matrix.dofs
        h = self.matrix.dilatation
        root_area = self.matrix.root_area
        # K += κ Σ_r h_r h_rᵀ
        i, j = np.triu_indices(12)
        bulk = kappa * np.einsum("mri,mrj->mij", h, h)[:, i, j]
        n_entries = len(constant.values)
        constant.values[:] += np.bincount(self._slots.ravel(), bulk.ravel(), n_entries)
        # B += κ √A h_0 [1 1 0]
        pressure = kappa * h[:, 0] * root_area[:, None]
        self._pressure = np.bincount(dofs.ravel(), pressure.ravel(), self.n)
        constant.border[:, :2] += self._pressure[:, None]
        # C += κ A [1 1 0]ᵀ [1 1 0]
        self._stiffness = kappa * root_area @ root_area
        constant.macro[:2, :2] += self._stiffness

    def _nodal_force_of_unit_stress(self) -> float:
        """Return the norm of the nodal forces of elements under unit stress, to scale residuals."""
        unit = self.matrix.root_area[:, None] * np.abs(self.matrix.dilatation[:, 0, :12])
        size = np.bincount(self.matrix.dofs.ravel(), unit.ravel(), self.n)
        return float(np.linalg.norm(size))

    def internal_force(self, x: Floats, state: State) -> tuple[Floats, Floats]:
        """Evaluate the internal force; the trial end is written to `state`.

        Args:
            x: (n + 3,) unknowns.
            state: History at the start of the step.

        Returns:
            The force of each unknown (n + 3,), and integrals (11,): the stress xx, yy, zz, xy and
            the plastic strain xx, yy, xy over the matrix, the area with p > 0, and the stress xx,
            yy, xy over the fibres.
        """
        n = self.n
        u = x[:n]
        macro_strain = x[n:]
        constant = self._constant
        out = np.empty(n + 3)
        integrals = np.zeros(11)
        force = out[:n]
        # f_u = K₀ u + B₀ E + ∫ Gᵀ s dV, with the constant tangent K₀, B₀, C₀ and the deviator s
        symmetric_product(self.system.indptr, self.system.indices, constant.values, u, force)
        force += constant.border @ macro_strain
        return_map(
            u,
            macro_strain,
            self.matrix,
            self.law,
            state.old,
            state.new,
            state.tangent,
            force,
            integrals,
        )
        # f_E = B₀ᵀ u + C₀ E + ∫ s dV
        linear = constant.border.T @ u + constant.macro @ macro_strain
        out[n:] = linear + integrals[[0, 1, 3]]
        # `linear` is the stress of the fibres plus the pressure of the matrix; separate the two.
        pressure = self._pressure @ u + self._stiffness * (macro_strain[0] + macro_strain[1])
        integrals[:3] += pressure
        integrals[8:] = linear - [pressure, pressure, 0.0]
        return out, integrals

    def assemble_tangent(self, state: State) -> None:
        """Assemble the consistent tangent at the trial end of a state."""
        for target, source in zip(self.system.tangent, self._constant, strict=True):
            target[:] = source
        assemble_tangent(self.matrix, state.tangent, self._slots, self.system.tangent)

    def forces_of(self, stress: Floats) -> tuple[Floats, Floats]:
        """Return internal forces of c deviatoric stresses xx, yy, xy at the points of the matrix.

        Args:
            stress: (m, q, 3, c) stresses [MPa].

        Returns:
            The nodal forces (n, c), and the integrals of the stresses (3, c).
        """
        weighted = self.matrix.weights[..., None, None] * stress
        tensor = weighted[:, :, [[0, 2], [2, 1]]]
        # ∫ Gᵀ s dV
        nodal = np.einsum("mqid,mqdec->miec", self.matrix.gradients, tensor)
        columns = nodal.reshape(-1, stress.shape[-1]).T
        dofs = self.matrix.dofs.ravel()
        forces = [np.bincount(dofs, column, self.n) for column in columns]
        return np.column_stack(forces), weighted.sum(axis=(0, 1))

    def volume_averages(self, x: Floats, integrals: Floats) -> dict[str, Floats]:
        """Return the row of `EquilibriumPath.history` from the integrals of `internal_force`."""
        mu, kappa = self.fibre_moduli
        exx, eyy, gxy = x[self.n :]
        plastic_xx, plastic_yy, plastic_xy, yielded, fibre_xx, fibre_yy, fibre_xy = integrals[4:]
        # In an elastic phase in plane strain σ_zz = λ / (2λ + 2μ) (σ_xx + σ_yy) with
        # λ = κ - 2μ/3, at each point and on average.
        ratio = (kappa - 2 * mu / 3) / (2 * kappa + 2 * mu / 3)
        in_fibres = np.array([fibre_xx, fibre_yy, ratio * (fibre_xx + fibre_yy), fibre_xy])
        return {
            "strain": np.array([exx, eyy, 0.0, gxy / 2]),
            "stress": integrals[:4] + in_fibres,
            "plastic_strain": np.array(
                [plastic_xx, plastic_yy, -plastic_xx - plastic_yy, plastic_xy]
            ),
            "yielded_fraction": yielded,
        }

    def fluctuation(self, x: Floats) -> Floats:
        """Return the periodic fluctuation u in all dofs (n_dofs,), also inside fibres."""
        u = np.zeros(self.n_dofs)
        u[self.active] = x[: self.n]
        macro_strain = x[self.n :]
        for fibre in self.fibres:
            # u_i = -K_ii⁻¹ K_ib u_b
            u[fibre.interior] = -fibre.recovery @ np.append(u[fibre.outline], macro_strain)
        return u


def _node_coordinates(d: Discretisation, in_matrix: Booleans) -> Floats:
    """Return the coordinates (n / 2, 2) of the nodes of the matrix."""
    coordinates: Floats = np.empty((d.n_nodes, 2))
    coordinates[d.merged] = d.points
    of_matrix: Floats = coordinates[in_matrix[::2]]
    return of_matrix


def upper_pattern(dense: list[Ints], n: int) -> tuple[Ints, Ints, list[Ints]]:
    """Return the pattern of the upper triangle (CSR) of a matrix of dense blocks on n nodes.

    Args:
        dense: For each kind of block the dofs (m, 2 k) of m blocks, node by node.
        n: Number of nodes.

    Returns:
        `indptr`, `indices`, and for each kind the places (m, k (2 k + 1)) of the entries of the
        blocks, row by row of their upper triangles.
    """
    nodes = np.concatenate([dofs[:, ::2].ravel() // 2 for dofs in dense])
    sizes = [np.full(len(dofs), dofs.shape[1] // 2) for dofs in dense]
    ends = np.cumsum(np.concatenate([[0], *sizes]))
    # Two nodes are connected if a block has both: the pattern of Mᵀ M, with incidence matrix M.
    incidence = sp.csr_matrix((np.ones(len(nodes), np.int32), nodes, ends), (len(ends) - 1, n))
    joined = sp.triu(incidence.T @ incidence)
    upper = sp.triu(sp.kron(joined, np.ones((2, 2), np.int8)), format="csr")
    upper.sort_indices()
    # Of one type, so that the function is compiled once.
    dense = [np.ascontiguousarray(dofs, np.int32) for dofs in dense]
    places = [_places(dofs, upper.indptr, upper.indices) for dofs in dense]
    return upper.indptr, upper.indices, places


@compiled()
def _places(dofs: Ints, indptr: Ints, indices: Ints) -> Ints:
    """Return the places of the entries of dense blocks in a pattern of the upper triangle."""
    m, k = dofs.shape
    places = np.empty((m, k * (k + 1) // 2), np.int32)
    for e in range(m):
        for i in range(0, k, 2):
            for j in range(i, k, 2):  # rows i and i + 1 of a node have the same columns
                low = min(dofs[e, i], dofs[e, j])
                high = max(dofs[e, i], dofs[e, j])
                column = place_of(high, indices, indptr[low], indptr[low + 1]) - indptr[low]
                for r in range(i, i + 2):
                    for s in range(max(r, j), j + 2):
                        a = min(dofs[e, r], dofs[e, s])
                        b = max(dofs[e, r], dofs[e, s])
                        at = r * k - r * (r - 1) // 2 + s - r
                        places[e, at] = indptr[a] + column + b % 2 - a % 2
    return places
