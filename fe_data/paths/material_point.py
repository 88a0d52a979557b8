"""An RVE as the material at a point of a larger structure (FE²).

The solver of the structure prescribes a mean strain at the point, and receives the mean stress and
its derivative (Feyel & Chaboche, CMAME 183, 2000). To find equilibrium of the structure it tries
several strains, which all start from the last accepted state.
"""

from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats, Ints, Short, numbers
from fe_data.composite import stepping
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.materials import Phases, require_no_phases
from fe_data.composite.rve import composite_cell, composite_domain, one_thread
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import Microstructure
from fe_data.geometry.outline import Outline
from fe_data.loading import IN_PLANE, Part
from fe_data.mechanics.elements import discretise
from fe_data.mechanics.load_stepping import Stepper
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.rve import arrange_fibres
from fe_data.schema import LARGEST_STRAIN
from fe_data.settings import Inputs, Settings, VolumeFraction, in_percent, require_kind

_NONE_FREE: Ints = np.empty(0, int)


class _Fast(Stepper):
    """A stepper of the fast solver that returns stress and tangent."""

    def respond(self, part: Part) -> tuple[Floats, Floats]:
        """Mean stress and tangent at the end of a part."""
        self.turn(part, self.x[-3:] * np.array([1.0, 1.0, 0.5]))
        self.advance(1.0)
        averages = self.problem.volume_averages(self.x, self.integrals)
        self.problem.assemble_tangent(self.state)
        return averages["stress"][IN_PLANE], self.problem.system.condensed()


class _General(stepping.Stepper):
    """A stepper of the general solver that returns stress and tangent."""

    def respond(self, part: Part) -> tuple[Floats, Floats]:
        """Mean stress and tangent at the end of a part."""
        self.turn(stepping.Step(part))
        with one_thread():
            self.advance(1.0)
            tangent = self.tangent()[np.ix_(IN_PLANE, IN_PLANE)]
        # Convert from Kelvin's notation: engineering shear strain is √2 times the component there.
        kelvin = TO_KELVIN[IN_PLANE]
        return self.stress[IN_PLANE] / kelvin, tangent / np.outer(kelvin, kelvin)


@dataclass(eq=False, repr=False)
class MaterialPoint(Short):
    """An RVE as a material law: mean stress and tangent for a mean strain.

    Args:
        inputs: The four inputs. With a material only the volume fraction is used; pass a
            `VolumeFraction`.
        microstructure: Seed of random fibres, or a given microstructure, as for `solve_rve`.
        settings: Mesh, material constants and solver options; None uses the defaults.
        material: Phases for the general solver; None uses the fast solver. For laws that depend on
            time a step lasts one second.

    Raises:
        ValueError: If an argument is out of range, the volume fraction cannot be packed, or
            settings of phases are combined with a material.
        TypeError: If inputs, settings or material have the wrong type.

    If the RVE cannot be meshed, a `SimulationError` is raised.

    Examples:
        >>> from fe_data import Inputs, MaterialPoint, Settings
        >>> one_fibre = Settings(n_fibres=1, resolution=3)
        >>> point = MaterialPoint(Inputs(0.2, 400.0, 400.0, 0.4), 0, one_fibre)
        >>> stress, tangent = point.respond([0.001, 0.0, 0.0])
        >>> bool(abs(stress[0] - 0.001 * tangent[0, 0]) < 1e-3 * stress[0])  # still elastic
        True
        >>> point.accept()
    """

    inputs: Inputs | VolumeFraction
    microstructure: int | Microstructure = 0
    settings: Settings | None = None
    material: Phases | None = None

    def __post_init__(self) -> None:
        """Mesh the RVE."""
        settings = Settings() if self.settings is None else self.settings
        kinds = (Inputs,) if self.material is None else (Inputs, VolumeFraction)
        require_kind("inputs", self.inputs, *kinds)
        require_kind("settings", settings, Settings)
        require_kind("material", self.material, Phases, NoneType)
        if self.material is not None:
            require_no_phases(settings)
        general = self.material is not None
        fibres = arrange_fibres(self.microstructure, self.inputs, settings, any_phase=general)
        with threadpool_limits(limits=1):
            if self.material is None:
                mesh = generate_mesh(Outline(fibres, settings.resolution))
                assert isinstance(self.inputs, Inputs)
                problem = RVEProblem(discretise(mesh), self.inputs, settings)
                self._stepper: _Fast | _General = _Fast(problem, settings.tolerance)
            else:
                domain = composite_domain(fibres, settings.resolution)
                cell = composite_cell(self.material, fibres, domain, out_of_plane=False)
                self._stepper = _General(cell, settings.tolerance)
        self._accepted: Any = self._stepper.equilibrium
        self._answered = self._accepted

    def respond(self, strain: ArrayLike) -> tuple[Floats, Floats]:
        """Return mean stress and tangent for a mean strain, from the last accepted state.

        The result depends only on accepted strains, not on earlier trials.

        Args:
            strain: Mean strain tensor (3,) xx, yy, xy at the end of the step; xy is half the
                engineering shear strain.

        Returns:
            Mean stress (3,) xx, yy, xy [MPa], and its derivative (3, 3) [MPa] with respect to xx,
            yy and engineering shear xy.

        Raises:
            ValueError: If the strain is not finite, or a component exceeds 0.5.

        If no equilibrium is found, even in smaller steps, a `ConvergenceError` is raised.
        """
        end = numbers("strain", strain)
        if end.shape != (3,) or not (np.abs(end) <= LARGEST_STRAIN).all():
            allowed = f"three numbers xx, yy, xy of at most {LARGEST_STRAIN:g}"
            allowed += in_percent(float(np.abs(end).max(initial=0.0)), LARGEST_STRAIN)
            raise ValueError(f"strain = {strain!r:.60}: must be {allowed}")
        stepper = self._stepper
        stepper.restart(self._accepted)
        with threadpool_limits(limits=1):
            answer = stepper.respond(Part(_NONE_FREE, end, 1))
        self._answered = stepper.equilibrium
        return answer

    def accept(self) -> None:
        """Accept the state of the last `respond`; further steps start from it.

        A trial that ended in an error is not accepted.
        """
        self._accepted = self._answered
