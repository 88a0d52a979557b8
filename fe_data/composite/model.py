"""The discrete equations of a periodic RVE in generalised plane strain.

The displacement is v = E x + u(x, y). The mean strain E has six components, and the periodic
fluctuation u does not depend on z. The strain at an integration point is

    ε = E + B u_e,

with the strain operator B of isoparametric quadratic triangles. Each element also has a cubic
bubble, which is zero on its sides, and the dilatation in B is projected onto linear functions (M.
Crouzeix & P.-A. Raviart, RAIRO 7 (1973) 33). These elements do not lock in nearly incompressible or
plastic phases. All phases have them, so a result does not jump with Poisson's ratio or with the
law. The principle of virtual work for all periodic δu and all δE gives the equations (Hill-Mandel)

    ∫ Bᵀ σ dV = 0,    ∫ σ dV = V <σ>.

Without shear along z, u has two components and tensors have four: xx, yy, zz, xy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fe_data.arrays import Booleans, Floats, Ints
from fe_data.composite.elasticity import ROOT2
from fe_data.composite.materials import Material
from fe_data.composite.tangent import TangentSystem
from fe_data.geometry.domain import Domain, quadratic_gradients, quadrature
from safe_files.text import Short

if TYPE_CHECKING:
    from fe_data.composite.material_points import Response
    from fe_data.composite.softening import DamagedResponse

State = dict[str, Floats]
_NODES = 7  # of an element: six of the quadratic triangle, then the bubble
_DEGREE = 4  # of the polynomials that the integration rule integrates exactly


@dataclass(frozen=True, repr=False)
class PhaseElements(Short):
    """The m elements of one phase, with q integration points each.

    Attributes:
        name: Name of the phase.
        material: The material.
        elements: (m,) indices of the elements in the domain.
        nodes: (m, 7) indices of their nodes after merging periodic nodes, then of the bubbles; the
            largest index is the fixed node.
        B: (m, q k, d) strain operator: k components at q points from d nodal displacements.
        weights: (m, q) integration weights, which sum to the area of the phase.
    """

    name: str
    material: Material
    elements: Ints
    nodes: Ints
    B: Floats
    weights: Floats


@dataclass(frozen=True, repr=False)
class InterfacePoints(Short):
    """The p integration points of cut outlines: the pairs of nodes that face each other.

    The elements are sides with six nodes. Their rule has its points at the nodes (Simpson), so
    that a pair has one traction, which acts on the length of its sides.

    Attributes:
        nodes: (p, 2) indices of the node of the fibre and of the node outside, after merging.
        frames: (p, c, c) axes of the opening as rows: the normal out of the fibre, the tangent, z.
        weights: (p,) lengths, which sum to the length of the outlines.
        sides: (k, 3) points at the start, the end and the middle of each side.
    """

    nodes: Ints
    frames: Floats
    weights: Floats
    sides: Ints


class FEModel(Short):
    """Discrete equations of an RVE.

    Args:
        domain: Mesh with merged periodic nodes.
        materials: Name and material of each phase, and a boolean mask of its elements.
        out_of_plane: Whether u has a component along z; tensors then have six components, else
            four.
        elastic: Whether to treat all phases as elastic, so that none is damaged.
        area: Area of the RVE including voids; None is the area of the bounding box of the mesh.

    Attributes:
        n: Number of displacements. The unknowns (n + k,) are displacements of nodes, amplitudes of
            bubbles, then the mean strain.
        interface: Points of cut outlines; None if the mesh is not cut.
        size: Number k of components of tensors, in Kelvin's notation.
        area: Area of the RVE.
        phases: The elements of each phase.
        damageable: Inelastic phases with damage.
        thermal: (n + k,) internal forces that a temperature drop of one kelvin causes in the
            elastic phases at zero strain.
        thermal_stress: Norm of the mean stress that one kelvin causes at zero strain [MPa].
    """

    def __init__(
        self,
        domain: Domain,
        materials: Sequence[tuple[str, Material, Booleans]],
        *,
        out_of_plane: bool,
        elastic: bool = False,
        area: float | None = None,
    ):
        self.domain = domain
        self.block = 3 if out_of_plane else 2
        self.size = 6 if out_of_plane else 4
        self.area = float(np.prod(np.ptp(domain.points, axis=0))) if area is None else area
        # The last node is fixed, because a translation causes no strain.
        self.nodes = domain.n_nodes - 1
        elements = len(domain.triangles)
        self.n = self.block * (self.nodes + elements)
        bubbles = self.nodes + np.arange(elements)
        merged = np.append(np.arange(self.nodes), bubbles[-1] + 1)[domain.merged]
        self._elements = np.column_stack([merged[domain.triangles], bubbles])
        self.phases = [self._phase_elements(*entry) for entry in materials if entry[2].any()]
        self.elastic = [phase for phase in self.phases if elastic or phase.material.is_elastic]
        self.inelastic = [
            phase for phase in self.phases if not (elastic or phase.material.is_elastic)
        ]
        self.interface = self._interface_points(merged) if len(domain.interfaces) else None
        groups = (
            [self._elements]
            if self.interface is None
            else [
                self._elements,
                self.interface.nodes,
            ]
        )
        indptr, indices, slots = _node_pattern(groups, self.nodes + elements)
        self._slots = slots[0]
        self._interface_slots = slots[-1]
        coordinates = np.empty((self.nodes + elements + 1, 2))
        coordinates[merged] = domain.points
        coordinates[bubbles] = domain.points[domain.triangles[:, :3]].mean(axis=1)
        pattern = indptr, indices, coordinates[:-1], self.block, self.size
        self.damageable = [phase for phase in self.inelastic if phase.material.damage is not None]
        softens = self.interface is not None or bool(self.damageable)
        self.system = TangentSystem(*pattern, indefinite=softens)
        self._assemble_elastic()
        self.force_scale = self._nodal_force_of_unit_stress()

    def _phase_elements(self, name: str, material: Material, chosen: Booleans) -> PhaseElements:
        """Make the integration data of the elements of a phase."""
        elements = np.flatnonzero(chosen)
        gradients, weights = shape_gradients(self.domain.points[self.domain.triangles[elements]])
        B = strain_operator(gradients, weights, self.block)
        B = B.reshape(len(B), -1, _NODES * self.block)
        return PhaseElements(name, material, elements, self._elements[elements], B, weights)

    def _interface_points(self, merged: Ints) -> InterfacePoints:
        """Join the points of adjacent sides of cut outlines."""
        sides = self.domain.interfaces
        a, b, middle = np.moveaxis(self.domain.points[sides[:, :3]], 1, 0)
        # x(s) = (1 - s)(1 - 2s) a + 4s(1 - s) m + s(2s - 1) b,   0 ≤ s ≤ 1
        along = np.stack([4 * middle - 3 * a - b, a + 3 * b - 4 * middle, b - a], axis=1)
        along *= np.array([1, 1, 4])[:, None] / 6  # dx/ds and the weights of Simpson's rule
        inside, first, place = np.unique(
            merged[sides[:, :3]], return_index=True, return_inverse=True
        )
        outside = merged[sides[:, 3:]].ravel()[first]
        rows = along.reshape(-1, 2)
        place = place.ravel()
        sums = [np.bincount(place, rows[:, i]) for i in range(2)]
        lengths = np.hypot(*sums)
        # The fibre is on the left of a side.
        tangent = np.column_stack(sums) / lengths[:, None]
        frames = np.zeros((len(inside), self.block, self.block))
        frames[:, 0, 0], frames[:, 0, 1] = tangent[:, 1], -tangent[:, 0]
        frames[:, 1, :2] = tangent
        frames[:, 2:, 2:] = 1.0
        weights = np.asarray(np.bincount(place, np.hypot(*rows.T)), dtype=float)
        nodes = np.column_stack([inside, outside])
        return InterfacePoints(nodes, frames, weights, place.reshape(-1, 3))

    def opening(self, x: Floats) -> Floats:
        """Return openings (p, c) of interfaces at unknowns (n + k,): normal, tangential, z."""
        assert self.interface is not None
        u = np.append(x[: self.n], np.zeros(self.block)).reshape(-1, self.block)
        inside, outside = u[self.interface.nodes.T]
        return np.asarray((self.interface.frames @ (outside - inside)[:, :, None])[:, :, 0])

    def add_interface_forces(self, force: Floats, traction: Floats) -> None:
        """Add the forces of tractions (p, c) on the interfaces to forces (n + k,)."""
        assert self.interface is not None
        points = self.interface
        # f = ± w Rᵀ t
        weighted = points.weights[:, None, None] * traction[:, None]
        outside = (weighted @ points.frames)[:, 0]
        both = np.stack([-outside, outside], axis=1)
        dofs = points.nodes[:, :, None] * self.block + np.arange(self.block)
        added = np.bincount(dofs.ravel(), both.ravel(), self.n + self.block)
        force[: self.n] += added[: self.n]

    def add_interface_tangent(self, tangent: Floats) -> None:
        """Add the derivatives (p, c, c) of tractions by openings to `system`."""
        assert self.interface is not None
        points = self.interface
        # K += ± w Rᵀ D R
        block = points.frames.swapaxes(1, 2) @ tangent @ points.frames
        block *= points.weights[:, None, None]
        signs = np.array([[1.0, -1.0], [-1.0, 1.0]])[:, :, None, None]
        self._add_to(self._interface_slots, block[:, None, None] * signs)

    def _assemble_elastic(self) -> None:
        """Assemble the constant part of the tangent, and the thermal forces of elastic phases."""
        system = self.system
        self.thermal = np.zeros(self.n + self.size)
        for phase in self.elastic:
            stiffness = phase.material.elasticity.stiffness[: self.size, : self.size]
            shape = (*phase.weights.shape, self.size, self.size)
            self._add_tangent(phase, np.broadcast_to(stiffness, shape))
            stress = phase.material.elasticity.stiffness @ phase.material.elasticity.expansion
            self.thermal += self._force(phase, np.broadcast_to(stress[: self.size], shape[:-1]))
        arrays = (system.values, system.border, system.across, system.macro)
        self._constant = [array.copy() for array in arrays]
        self.thermal_stress = float(np.linalg.norm(self._held_stress()))

    def _held_stress(self) -> Floats:
        """Return the mean stress (6,) [MPa] of one kelvin at zero strain, apart from its sign."""
        stress = np.zeros(6)
        for phase in self.phases:
            elasticity = phase.material.elasticity
            stress += elasticity.stiffness @ elasticity.expansion * phase.weights.sum() / self.area
        return stress

    def _nodal_force_of_unit_stress(self) -> float:
        """Return the norm of the absolute nodal forces under unit stress, to scale residuals."""
        size = np.zeros(self.n + self.block)
        for phase in self.phases:
            normal = phase.B.reshape(*phase.weights.shape, self.size, -1)[:, :, :2].sum(axis=2)
            unit = np.abs(np.einsum("mqd,mq->md", normal, phase.weights))
            size += np.bincount(self._dofs(phase).ravel(), unit.ravel(), len(size))
        return float(np.linalg.norm(size[: self.n])) / self.area

    def _dofs(self, phase: PhaseElements) -> Ints:
        """Return the indices (m, d) of displacements by element; the fixed node has the largest."""
        return (phase.nodes[:, :, None] * self.block + np.arange(self.block)).reshape(
            len(phase.nodes), -1
        )

    def strain(self, phase: PhaseElements, x: Floats, temperature: float) -> Floats:
        """Return strain (m, q, 6) minus thermal strain in a phase, in Kelvin's notation.

        Args:
            phase: Phase.
            x: (n + k,) unknowns.
            temperature: Temperature change [K].

        Returns:
            The strain.
        """
        u = np.append(x[: self.n], np.zeros(self.block))[self._dofs(phase)]
        strain = np.zeros((*phase.weights.shape, 6))
        # ε = E + B u - α ΔT
        strain[..., : self.size] = (phase.B @ u[:, :, None]).reshape(*strain.shape[:2], self.size)
        strain[..., : self.size] += x[self.n :]
        strain -= temperature * phase.material.elasticity.expansion
        return strain

    def _force(self, phase: PhaseElements, stress: Floats) -> Floats:
        """Return the internal forces (n + k,) of a stress (m, q, k) in a phase."""
        weighted = phase.weights[..., None] * stress
        nodal = weighted.reshape(len(phase.B), 1, -1) @ phase.B  # ∫ Bᵀ σ dV
        force = np.bincount(self._dofs(phase).ravel(), nodal.ravel(), self.n + self.block)
        return np.append(force[: self.n], weighted.sum(axis=(0, 1)))

    def force(
        self, x: Floats, temperature: float, responses: "Mapping[str, Response | DamagedResponse]"
    ) -> Floats:
        """Return the internal forces (n + k,): nodal forces, then the integral of the stress.

        Args:
            x: (n + k,) unknowns.
            temperature: Temperature change [K].
            responses: Response of each inelastic phase.

        Returns:
            The forces.
        """
        K, border, across, macro = self._constant
        n = self.n
        force = np.empty_like(x)
        force[:n] = self.system.constant_product(x[:n], K) + border @ x[n:]
        force[n:] = across @ x[:n] + macro @ x[n:]
        force -= temperature * self.thermal
        self.add_forces(force, {name: response.stress for name, response in responses.items()})
        return force

    def add_forces(self, force: Floats, stresses: Mapping[str, Floats]) -> None:
        """Add the forces of stresses (points, 6) in the inelastic phases to forces (n + k,)."""
        for phase in self.inelastic:
            stress = stresses[phase.name][:, : self.size]
            force += self._force(phase, stress.reshape(*phase.weights.shape, self.size))

    def assemble(self, responses: "Mapping[str, Response | DamagedResponse]") -> None:
        """Assemble the tangent into `system`."""
        system = self.system
        arrays = (system.values, system.border, system.across, system.macro)
        for array, constant in zip(arrays, self._constant, strict=True):
            array[...] = constant
        for phase in self.inelastic:
            response = responses[phase.name]
            if (coupling := response.coupling()) is not None:
                self._add_coupling(phase, *coupling)
            tangent = response.tangent()
            self._add_tangent(phase, tangent.reshape(*phase.weights.shape, self.size, self.size))

    def add_elastic(self, factor: float) -> None:
        """Add a multiple of the elastic stiffness of the inelastic phases to `system`."""
        for phase in self.inelastic:
            stiffness = phase.material.elasticity.stiffness[: self.size, : self.size]
            shape = (*phase.weights.shape, self.size, self.size)
            self._add_tangent(phase, np.broadcast_to(factor * stiffness, shape))

    def add_viscosity(self, phase: PhaseElements, viscosity: Floats) -> None:
        """Add viscosities (m,) of the elements of a phase, over the time of a step, to `system`."""
        shape = (*phase.weights.shape, self.size, self.size)
        tangent = viscosity[:, None, None, None] * np.eye(self.size)
        self._add_tangent(phase, np.broadcast_to(tangent, shape))

    def viscous_force(self, phase: PhaseElements, dx: Floats, viscosity: Floats) -> Floats:
        """Return the viscous forces (n + k,) of a phase in a step dx of the unknowns (n + k,)."""
        strain = self.strain(phase, dx, 0.0)[..., : self.size]
        return self._force(phase, viscosity[:, None, None] * strain)

    def _add_coupling(self, phase: PhaseElements, by_damage: Floats, by_strain: Floats) -> None:
        """Add ∂σ/∂d ⊗ ∂d/∂ε of all pairs of points in each element of a phase to the tangent.

        Args:
            phase: Phase.
            by_damage: (m, q, 6) derivative of the stress by the damage of the element.
            by_strain: (m, q, k) derivative of this damage by the strain at each point.
        """
        system = self.system
        stress = phase.weights[..., None] * by_damage[..., : self.size]
        # a = Σ w Bᵀ ∂σ/∂d,   b = Σ Bᵀ ∂d/∂ε,   K += a bᵀ
        m = len(phase.weights)
        a = (stress.reshape(m, 1, -1) @ phase.B)[:, 0]
        b = (by_strain.reshape(m, 1, -1) @ phase.B)[:, 0]
        mean_a, mean_b = stress.sum(axis=1), by_strain.sum(axis=1)
        self._add_blocks(phase, a[:, :, None] * b[:, None])
        dofs = self._dofs(phase).ravel()
        for i in range(self.size):
            column = np.bincount(dofs, (a * mean_b[:, i, None]).ravel(), self.n + self.block)
            system.border[:, i] += column[: self.n]
            row = np.bincount(dofs, (mean_a[:, i, None] * b).ravel(), self.n + self.block)
            system.across[i] += row[: self.n]
        system.macro += mean_a.T @ mean_b

    def _add_tangent(self, phase: PhaseElements, tangent: Floats) -> None:
        """Add a phase to the tangent, from the tangents (m, q, k, k) at its points."""
        system = self.system
        m, q = phase.weights.shape
        weighted = phase.weights[..., None, None] * tangent
        # w C B,   K += Bᵀ (w C B),   ∂f/∂E += Bᵀ w C,   ∂<σ>/∂u += w C B,   ∂<σ>/∂E += w C
        B = phase.B.reshape(m, q, self.size, -1)
        product = (weighted @ B).reshape(m, q * self.size, -1)
        transposed = phase.B.swapaxes(1, 2)
        self._add_blocks(phase, transposed @ product)
        columns = transposed @ weighted.reshape(m, q * self.size, self.size)
        rows = product.reshape(m, q, self.size, -1).sum(axis=1)
        dofs = self._dofs(phase).ravel()
        for i in range(self.size):
            column = np.bincount(dofs, columns[:, :, i].ravel(), self.n + self.block)
            system.border[:, i] += column[: self.n]
            row = np.bincount(dofs, rows[:, i].ravel(), self.n + self.block)
            system.across[i] += row[: self.n]
        system.macro += weighted.sum(axis=(0, 1))

    def _add_blocks(self, phase: PhaseElements, matrices: Floats) -> None:
        """Add element matrices (m, d, d) to the blocks of K, without blocks of the fixed node."""
        c = self.block
        blocks = matrices.reshape(-1, _NODES, c, _NODES, c).swapaxes(2, 3)  # (m, 7, 7, c, c)
        self._add_to(self._slots[phase.elements], blocks)

    def _add_to(self, pairs: Ints, blocks: Floats) -> None:
        """Add blocks (m, j, j, c, c) to K, at the indices (m, j, j) of pairs of nodes."""
        c = self.block
        slots = pairs[..., None] * c * c + np.arange(c * c)
        size = self.system.values.size + c * c
        added = np.bincount(slots.ravel(), blocks.ravel(), size)
        self.system.values += added[: -c * c].reshape(self.system.values.shape)


def shape_gradients(nodes: Floats) -> tuple[Floats, Floats]:
    """Return derivatives of the shape functions at the integration points of quadratic triangles.

    Args:
        nodes: (m, 6, 2) positions of the nodes.

    Returns:
        Derivatives dN/dx (m, q, 7, 2), of the bubble last, and weights (m, q), which sum to the
        area.
    """
    points, rule = quadrature(_DEGREE)
    quadratic = quadratic_gradients(points)
    s, t = points.T
    # N = 27 s t (1 - s - t)
    bubble = 27 * np.stack([t * (1 - 2 * s - t), s * (1 - s - 2 * t)])
    reference = np.concatenate([quadratic, bubble[:, :, None]], axis=2)
    # J = dx/ds,   dN/dx = dN/ds J⁻¹
    jacobian = np.einsum("mid,sqi->mqds", nodes, quadratic)
    gradients = np.einsum("sqi,mqsd->mqid", reference, np.linalg.inv(jacobian))
    return gradients, rule * np.linalg.det(jacobian)


def strain_operator(gradients: Floats, weights: Floats, block: int) -> Floats:
    """Return the strain operator B of quadratic triangles with a bubble in Kelvin's notation.

    Args:
        gradients: (m, q, 7, 2) dN/dx.
        weights: (m, q) integration weights.
        block: Number of components of the displacement, 2 or 3.

    Returns:
        The operator (m, q, k, 7 block), with k = 4 or 6 components.
    """
    m, q = weights.shape
    x = gradients[..., 0]
    y = gradients[..., 1]
    B = np.zeros((m, q, 4 if block == 2 else 6, _NODES, block))
    B[:, :, 0, :, 0] = x  # ε_xx = u_x,x
    B[:, :, 1, :, 1] = y  # ε_yy = u_y,y
    B[:, :, 3, :, 0] = y / ROOT2  # √2 ε_xy = (u_x,y + u_y,x) / √2
    B[:, :, 3, :, 1] = x / ROOT2
    if block == 3:
        B[:, :, 4, :, 2] = x / ROOT2  # √2 ε_xz = u_z,x / √2
        B[:, :, 5, :, 2] = y / ROOT2
    # With φ = (1, s, t) and M = ∫ φ φᵀ dV, the projection of div is φᵀ M⁻¹ ∫ φ div dV.
    points, _ = quadrature(_DEGREE)
    modes = np.column_stack([np.ones(q), points])
    moments = weights[:, :, None] * modes
    divergence = (B[:, :, 0] + B[:, :, 1]).reshape(m, q, -1)
    transposed = moments.swapaxes(1, 2)
    projected = modes @ np.linalg.solve(transposed @ modes, transposed @ divergence)
    # B̄ = B + 1/3 1 ⊗ (projection of div - div)
    B[:, :, :3] += ((projected - divergence) / 3).reshape(m, q, 1, _NODES, block)
    return B.reshape(m, q, B.shape[2], -1)


def _node_pattern(groups: Sequence[Ints], n: int) -> tuple[Ints, Ints, list[Ints]]:
    """Return the pattern of the pairs of nodes that share an element, without the fixed node n.

    Args:
        groups: (m, j) nodes of each element, for each kind of element.
        n: Number of nodes that are not fixed.

    Returns:
        `indptr` and `indices` of the pairs in compressed rows, and for each kind the index
        (m, j, j) among them of each pair of nodes of each element. Pairs with the fixed node have
        the number of all pairs as index.
    """
    rows = [np.repeat(nodes[:, :, None], nodes.shape[1], axis=2) for nodes in groups]
    row = np.concatenate([nodes.ravel() for nodes in rows])
    column = np.concatenate([nodes.swapaxes(1, 2).ravel() for nodes in rows])
    is_free = (row < n) & (column < n)
    keys, place = np.unique(row[is_free] * n + column[is_free], return_inverse=True)
    slots = np.full(len(row), len(keys))
    slots[is_free] = place
    indptr = np.searchsorted(keys, n * np.arange(n + 1))
    ends = np.cumsum([nodes.size for nodes in rows])[:-1]
    split = np.split(slots, ends)
    of_groups = [chunk.reshape(nodes.shape) for chunk, nodes in zip(split, rows, strict=True)]
    return indptr, keys % n, of_groups
