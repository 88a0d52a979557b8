"""Evaluate the law of a material at many points, with the consistent tangent, in PyTorch.

A law is written for one point, see `laws`. `torch.func.vmap` evaluates it at many points, and
automatic differentiation gives its tangent.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from fe_data.arrays import Floats
from fe_data.composite.damage import WORK
from fe_data.composite.elasticity import Isotropic
from fe_data.composite.law_checks import State, check_law, require_pair
from fe_data.composite.law_registry import CURVE, MaterialWithLaw
from fe_data.settings import HardeningTable
from fe_data.settings.hardening import TableLaw

_TINY = 1e-30  # added to a plastic strain by which a formula divides
# Of uniaxial tension: number of steps, of iterations in each, and relative residual at their end
_STEPS, _ITERATIONS, _ACCURACY = 20, 30, 1e-9


class Response:
    """Stress and state of n points at the end of a step, and the tangent on request.

    Attributes:
        stress: (n, 6) stress in Kelvin's notation [MPa].
        state: State variables by name, (n,) or (n, 6).
    """

    def __init__(self, stress: Tensor, state: State, strain: Tensor, size: int):
        self.stress: Floats = stress.detach().numpy()
        self.state = {name: values.detach().numpy() for name, values in state.items()}
        self._graph = stress
        self._new = state
        self._strain = strain
        self._size = size

    def coupling(self) -> None:
        """Return None: unlike with damage, the stress of a point depends only on its strain."""

    def gradient(self, name: str) -> Floats:
        """Return the derivative (n, k) of a scalar state variable by strain, before `tangent`."""
        total = self._new[name].sum()
        (rows,) = torch.autograd.grad(total, self._strain, retain_graph=True)
        return np.asarray(rows[:, : self._size].numpy())

    def tangent(self) -> Floats:
        """Return the derivative (n, k, k) of stress by strain [MPa]; call it only once."""
        rows = []
        for i in range(self._size):
            along = self._graph[:, i].sum()  # each stress depends only on the strain at its point
            last = i == self._size - 1
            (row,) = torch.autograd.grad(along, self._strain, retain_graph=not last)
            rows.append(row[:, : self._size])
        return np.asarray(torch.stack(rows, dim=1).numpy())


class MaterialPoints:
    """The law of a material at many points.

    Args:
        material: Material with a law other than "elastic". With `damage` the stress is the
            effective one, yield stresses grow up to the onset only, and the state has
            `softening_work`; see `damage`.
        size: Number k of strain components that may be nonzero, 4 or 6; the tangent is (k, k).
    """

    def __init__(self, material: MaterialWithLaw, size: int = 6):
        entry = material.entry
        if entry.update is None:
            raise ValueError("an elastic material has no history")
        self._update = entry.update
        self._sizes = dict(entry.state)
        self._onset = None if material.damage is None else material.damage.onset
        if self._onset is not None:
            self._sizes[WORK] = 0
        self._size = size
        values = dict(material.parameters)
        for name, kind in entry.parameters.items():
            if kind == CURVE:
                curve = _in_torch(values[name])
                values[name] = curve if self._onset is None else _up_to(self._onset, curve)
        elasticity = material.elasticity
        values["stiffness"] = torch.from_numpy(elasticity.stiffness)
        if isinstance(elasticity, Isotropic):
            values |= {"shear": elasticity.shear, "bulk": elasticity.bulk}
        self._values = values
        check_law(material.law, self._step, self._sizes)

    def rest(self, n: int) -> dict[str, Floats]:
        """Return the initial state of n points."""
        return {name: np.zeros((n, size) if size else n) for name, size in self._sizes.items()}

    def evaluate(self, strain: Floats, state: Mapping[str, Floats], dt: float = 1.0) -> Response:
        """Evaluate the law.

        Args:
            strain: (n, 6) strain at the end of a step minus thermal strain, in Kelvin's notation.
            state: State of the points at the start of the step.
            dt: Duration of the step [s].

        Returns:
            Stress and state at the end of the step.
        """
        at = torch.from_numpy(strain).requires_grad_()
        old = {name: torch.from_numpy(state[name]) for name in self._sizes}
        stress, new = self._step(at, old, dt)
        return Response(stress, new, at, self._size)

    def _step(self, strain: Tensor, state: State, dt: float) -> tuple[Tensor, State]:
        """Return the stress and state of all points at the end of a step."""
        material = SimpleNamespace(**self._values, dt=dt)

        def update(strain: Tensor, state: State) -> tuple[Tensor, State]:
            if self._onset is None:
                return require_pair(self._update(strain, state, material))
            old = {name: values for name, values in state.items() if name != WORK}
            stress, new = require_pair(self._update(strain, old, material))
            work = state[WORK] + _softening_work(stress, old, new, self._onset)
            return stress, new | {WORK: work}

        stress, new = vmap(update)(strain, state)
        return stress, new

    def differentials(
        self,
        strain: Floats,
        state: Mapping[str, Floats],
        dt: float,
        d_strain: Floats,
        d_state: Mapping[str, Floats],
    ) -> tuple[Floats, dict[str, Floats]]:
        """Return the changes of stress and state at the end of a step, to first order.

        Args:
            strain: As for `evaluate`.
            state: As for `evaluate`.
            dt: As for `evaluate`.
            d_strain: (n, 6, c) changes of the strain, one per column.
            d_state: Changes of each state variable at the start, (n, c) or (n, 6, c).

        Returns:
            Changes of the stress (n, 6, c), and of each state variable at the end.
        """
        at = torch.from_numpy(strain).requires_grad_()
        old = {
            name: torch.from_numpy(values.copy()).requires_grad_() for name, values in state.items()
        }
        stress, new = self._step(at, old, dt)
        arguments = [at, *old.values()]
        changes = [d_strain, *(d_state[name] for name in old)]

        def change(output: Tensor) -> Floats:
            """Return the changes (n, c) of an output (n,): dy = Σ ∂y/∂x dx."""
            total = np.zeros((len(strain), d_strain.shape[-1]))
            if output.requires_grad:
                # Each output depends only on the arguments at its point.
                slopes = torch.autograd.grad(
                    output.sum(), arguments, retain_graph=True, allow_unused=True
                )
                for slope, dx in zip(slopes, changes, strict=True):
                    if slope is not None:
                        product = slope.numpy()[..., None] * dx
                        total += product.reshape(len(strain), -1, dx.shape[-1]).sum(axis=1)
            return total

        def changes_of(output: Tensor) -> Floats:
            if output.ndim == 1:
                return change(output)
            return np.stack([change(output[:, i]) for i in range(output.shape[1])], axis=1)

        return changes_of(stress), {name: changes_of(values) for name, values in new.items()}


def uniaxial_stress(material: MaterialWithLaw, first_yield: float, p: float) -> float:
    """Follow uniaxial tension up to an equivalent plastic strain.

    Each step takes 1 s, which matters only to a law that depends on time.

    Args:
        material: Material with a law of plasticity.
        first_yield: Initial yield stress in uniaxial tension [MPa].
        p: Equivalent plastic strain at the end [-].

    Returns:
        The stress at the end [MPa].

    Raises:
        ValueError: If Newton's method does not converge.
    """
    points = MaterialPoints(material)
    state = points.rest(1)
    axial = np.array([first_yield, 0.0, 0.0, 0.0, 0.0, 0.0])
    strain = np.linalg.solve(material.elasticity.stiffness, axial)[None]
    scale = strain[0, 0] + p
    for target in np.linspace(0.0, p, _STEPS + 1)[1:]:
        strain = strain + p / _STEPS * np.array([1.0, -0.5, -0.5, 0.0, 0.0, 0.0])
        for _ in range(_ITERATIONS):
            at = points.evaluate(strain, state)
            # p(ε) = p_target, and all stresses but σ_xx are zero
            residual = np.append((at.state["p"] - target) / scale, at.stress[0, 1:] / first_yield)
            if np.abs(residual).max() <= _ACCURACY:
                break
            by_strain = np.vstack([at.gradient("p") / scale, at.tangent()[0, 1:] / first_yield])
            strain = strain - np.linalg.lstsq(by_strain, residual, rcond=None)[0]
        else:
            raise ValueError(
                f"law = {material.law!r:.60}: uniaxial tension does not reach the equivalent "
                f"plastic strain {target:.3g}"
            )
        state = at.state
    return float(at.stress[0, 0])


def _softening_work(stress: Tensor, old: State, new: State, onset: float) -> Tensor:
    """Return the plastic work σ_eff : Δε_p of a step with plastic strain beyond the onset."""
    growth = new["p"] - old["p"]
    share = ((new["p"] - onset) / (growth + _TINY)).clamp(0.0, 1.0)
    return share * torch.relu(stress @ (new["plastic_strain"] - old["plastic_strain"]))


def _up_to(onset: float, curve: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return a yield stress that stays the same from an equivalent plastic strain on."""
    if onset == 0.0:  # where a power law has an infinite slope
        first = curve(torch.tensor(0.0, dtype=torch.float64))
        return lambda p: first + 0.0 * p
    return lambda p: curve(p.clamp(max=onset))


def _in_torch(curve: Any) -> Callable[[Tensor], Tensor]:
    """Return a yield stress as a function of a tensor p."""
    if isinstance(curve, HardeningTable):
        table: Any = TableLaw(curve)
        first = curve.stress[0]
        return lambda p: first + table.hardening(p, first, 0.0, 1.0, torch)
    return lambda p: curve(p, torch)
