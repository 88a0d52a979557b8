"""Softening of the elements of a phase with damage, see `damage` for the equations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fe_data.arrays import Floats
from fe_data.composite.damage import DAMAGE, WORK, Damage
from fe_data.errors import MeshError
from safe_files.text import Short

if TYPE_CHECKING:
    from fe_data.composite.material_points import Response
    from fe_data.composite.materials import Material


class Softening(Short):
    """The damage of the m elements of one phase in an RVE.

    Args:
        name: Name of the phase, for messages.
        damage: Damage of the phase.
        stress: Uniaxial stress σ_0 at the onset [MPa].
        modulus: Young's modulus E [MPa].
        weights: (m, q) integration weights of the elements, relative to the side of the RVE.
        side: Side of the RVE [mm].

    Attributes:
        onset: Equivalent plastic strain p_0.
        weights: (m, q) integration weights.
        areas: (m,) areas of the elements.
        capacity: (m,) work g [MPa].
        stored: Elastic energy at the onset, σ_0² / 2E [MPa].
        slope: (m,) decrease of the stress per strain of an element, σ_0² h / 2G [MPa].

    Raises:
        MeshError: If an element is too large for the fracture energy, so that its stress would
            fall faster than it can unload.
    """

    def __init__(
        self,
        name: str,
        damage: Damage,
        stress: float,
        modulus: float,
        weights: Floats,
        side: float,
    ):
        self.onset = damage.onset
        self.weights = weights
        self.areas = weights.sum(axis=1)
        self.stored = stress**2 / (2 * modulus)
        widths = np.sqrt(2 * self.areas) * side  # h [mm]
        # 1 J/m² = 1e-3 N/mm
        self.capacity = 1e-3 * damage.fracture_energy_J_m2 / widths - self.stored
        if (self.capacity <= 0).any():
            widest = float(widths.max())
            raise MeshError(
                f"{name}: fracture_energy_J_m2 = {damage.fracture_energy_J_m2:g} is too small for "
                f"elements of {1e3 * widest:.3g} µm and a stress of {stress:.4g} MPa at the onset: "
                f"it must be above {1e3 * widest * self.stored:.3g}, or the resolution finer"
            )
        self.slope = stress**2 / (2 * (self.capacity + self.stored))  # finite for each h

    def mean(self, values: Floats) -> Floats:
        """Return the means (m,) over each element of values (m q,) at its points."""
        sums = (self.weights * values.reshape(self.weights.shape)).sum(axis=1)
        return np.asarray(sums / self.areas)

    def damage(self, work: Floats) -> tuple[Floats, Floats]:
        """Return the damage of each element, and its derivative by the work.

        Args:
            work: (m,) work W [MPa].

        Returns:
            d and ∂d/∂W, each (m,).
        """
        # d = min(1, W / 2g)
        ratio = work / (2 * self.capacity)
        slope = np.where((work > 0) & (ratio < 1), 1 / (2 * self.capacity), 0.0)
        return np.minimum(ratio, 1.0), slope

    def dissipated(self, work: Floats) -> float:
        """Return the work that softening has dissipated [MPa times the area of an RVE of side 1].

        Args:
            work: (m,) work W [MPa].

        Returns:
            The integral over all elements of the work per volume.
        """
        damage, _ = self.damage(work)
        # ∫ (1 - d) dW = W (1 - d / 2) up to W = 2g, and the stored energy as far as it is lost
        softened = np.minimum(work, 2 * self.capacity) * (1 - damage / 2)
        return float(self.areas @ (softened + damage * self.stored))


class DamagedResponse(Short):
    """Stress and state of the points of damaged elements, like `material_points.Response`.

    Attributes:
        stress: (m q, 6) stress (1 - d) σ_eff in Kelvin's notation [MPa].
        state: State variables of the law, `softening_work` and `damage`.
    """

    def __init__(self, effective: "Response", softening: Softening):
        self._effective = effective
        self._softening = softening
        damage, self._slope = softening.damage(softening.mean(effective.state[WORK]))
        at_points = damage.repeat(softening.weights.shape[1])
        self._intact = 1 - at_points
        self.stress: Floats = self._intact[:, None] * effective.stress
        self.state = effective.state | {DAMAGE: at_points}

    def tangent(self) -> Floats:
        """Return the derivative ∂σ/∂ε (m q, k, k) at constant damage [MPa]."""
        return self._intact[:, None, None] * self._effective.tangent()

    def coupling(self) -> tuple[Floats, Floats] | None:
        """Return the derivatives of stress by damage, and of damage by the strains of the element.

        Call it before `tangent`, which frees the graph.

        Returns:
            ∂σ/∂d (m, q, 6) [MPa] and ∂d/∂ε (m, q, k). None if no damage grows.
        """
        if not self._slope.any():
            return None
        m, q = self._softening.weights.shape
        by_strain = self._effective.gradient(WORK).reshape(m, q, -1)
        shares = self._softening.weights / self._softening.areas[:, None]
        # ∂d/∂ε_q = ∂d/∂W w_q / A ∂W_q/∂ε_q
        by_strain = (self._slope[:, None] * shares)[..., None] * by_strain
        return -self._effective.stress.reshape(m, q, -1), by_strain


def mesh_dependences(materials: "Mapping[str, Material]") -> list[str]:
    """Say why strengths of an RVE with these phases, by name, depend on the mesh; see `damage`."""
    softening = [name for name, material in materials.items() if material.damage]
    reasons = [
        f"{name} still hardens after the onset of its damage, so small elements break later than "
        "large ones: let it saturate before, or compare only equal --resolution"
        for name in softening
        if materials[name].hardens_after_onset
    ]
    if softening and materials["matrix"].is_elastic:
        names = " and ".join(softening)
        reasons.append(
            f"{names} can soften everywhere instead of in a band, since the matrix is elastic: "
            "give the matrix a law of plasticity, or compare only equal --resolution"
        )
    return reasons
