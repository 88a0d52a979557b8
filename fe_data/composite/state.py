"""The state of an RVE of any phases at an equilibrium, and its volume averages."""

from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats
from fe_data.composite.damage import WORK
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.model import FEModel
from fe_data.composite.softening import Softening
from fe_data.incremental_problem import Averages


class Debonding(NamedTuple):
    """The state of p points of interfaces. Openings are relative to the side of the RVE."""

    opening: Floats  # (p, c)
    traction: Floats  # (p, c) without viscous tractions [MPa]
    damage: Floats  # (p,)
    dissipated: Floats  # (p,) work that was not stored [MPa]


class Work(NamedTuple):
    """Work per area of an RVE that can break [MPa], and the forces that do it."""

    force: Floats  # (n + k,) internal forces of the phases without viscous stresses
    bulk: float = 0.0  # work on the phases
    external: float = 0.0  # work of the mean stress
    viscous: float = 0.0  # work of viscous tractions and stresses outside snaps
    snaps: float = 0.0  # their work in snaps: elastic energy that fracture does not use


class Peak(NamedTuple):
    """The equilibrium with the largest norm of the mean stress, in the axes of the loading."""

    norm: float  # of the mean stress [MPa]
    stress: Floats  # (6,) mean stress in Kelvin's notation [MPa]
    strain: Floats  # (6,) mean strain in Kelvin's notation
    lowest: float  # norm of the mean stress since then [MPa]


class State(NamedTuple):
    """The data of an equilibrium apart from its unknowns."""

    temperature: float  # change [K]
    time: float  # s
    variables: dict[str, dict[str, Floats]]  # of each inelastic phase, (points,) or (points, 6)
    stresses: dict[str, Floats]  # (points, 6) of each inelastic phase, in Kelvin's notation [MPa]
    mean_stress: Floats  # (6,) in Kelvin's notation [MPa]
    debonding: Debonding | None = None  # of interfaces, if the mesh is cut
    work: Work | None = None  # if fibres can debond or a phase can soften
    peak: Peak | None = None  # so far in the last part of the path, with `drop`


def averages(
    model: FEModel, state: State, mean_strain: Floats, softening: dict[str, Softening]
) -> Averages:
    """Return the volume averages at an equilibrium.

    Args:
        model: Equations.
        state: State of the equilibrium.
        mean_strain: Mean strain (6,) in Kelvin's notation.
        softening: Damage of each phase that can soften, by name.

    Returns:
        Tensors (6,) with components xx, yy, zz, xy, xz, yz: `strain`, `stress` [MPa],
        `plastic_strain`. Numbers: `yielded_fraction`, `temperature` [K], `time` [s].

        If the RVE can break, also energies per area of the RVE [MPa]: the work of the mean
        stress, and its parts, which are the work on the phases, the stored and dissipated work
        of interfaces, viscous work, and the energy that snaps release. With damage the
        dissipated part of the work on the phases, and the area fractions of the RVE that are
        damaged and broken. If the mesh is cut, the length fractions of interfaces that are
        damaged and debonded.
    """
    plastic = np.zeros(6)
    yielded = np.zeros(())
    for phase in model.inelastic:
        variables = state.variables[phase.name]
        weights = phase.weights.ravel() / model.area
        if "plastic_strain" in variables:
            plastic += weights @ variables["plastic_strain"]
        if "p" in variables:
            yielded = yielded + weights @ (variables["p"] > 0)
        elif "plastic_strain" in variables:
            yielded = yielded + weights @ (variables["plastic_strain"] != 0).any(axis=1)
    return {
        "strain": mean_strain / TO_KELVIN,
        "stress": state.mean_stress / TO_KELVIN,
        "plastic_strain": plastic / TO_KELVIN,
        "yielded_fraction": yielded,
        "temperature": np.asarray(state.temperature),
        "time": np.asarray(state.time),
        **of_breaking(model, state, softening),
    }


def of_breaking(model: FEModel, state: State, softening: dict[str, Softening]) -> Averages:
    """Return the fractions and energies of what breaks."""
    work = state.work
    if work is None:
        return {}
    fractions, energies = _of_interfaces(model, state)
    if softening:
        fractions |= _of_softening(model, state, softening)
    numbers = {
        **fractions,
        "external_work": work.external,
        "work_on_phases": work.bulk,
        **energies,
        "viscous_energy": work.viscous,
        "snap_energy": work.snaps,
    }
    return {name: np.asarray(float(value)) for name, value in numbers.items()}


def _of_softening(
    model: FEModel, state: State, softening: dict[str, Softening]
) -> dict[str, float]:
    """Return damaged and broken area fractions, and the energy that damage dissipated."""
    damaged, broken, energy = 0.0, 0.0, 0.0
    for name, of_phase in softening.items():
        work = of_phase.mean(state.variables[name][WORK])
        damage, _ = of_phase.damage(work)
        damaged += float(of_phase.areas @ (damage > 0))
        broken += float(of_phase.areas @ (damage >= 1))
        energy += of_phase.dissipated(work)
    values = {"damaged_area": damaged, "broken_area": broken, "softening_energy": energy}
    return {name: value / model.area for name, value in values.items()}


def _of_interfaces(model: FEModel, state: State) -> tuple[dict[str, float], dict[str, float]]:
    """Return the fractions and energies of the interfaces."""
    at, points = state.debonding, model.interface
    if at is None or points is None:
        return {}, {}
    share = points.weights / points.weights.sum()
    weights = points.weights / model.area
    # Stored energy 1/2 t · δ
    stored = weights @ (0.5 * at.opening * at.traction).sum(axis=1)
    fractions = {
        "damaged_fraction": share @ (at.damage > 0),
        "debonded_fraction": share @ (at.damage >= 1),
    }
    return fractions, {
        "interface_energy": stored,
        "debonding_energy": weights @ at.dissipated,
    }
