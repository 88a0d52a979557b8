"""The equations of a path of equilibria, which each solver states for `path_following`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.loading import IN_PLANE, Segment
from safe_files.text import Short

Averages = dict[str, Floats]  # volume averages by name
PREDICTOR_POINTS = 3  # for a parabola through the last three equilibria
SMALLEST_STEP = 1 / 1024  # fraction of an increment


class Residual(NamedTuple):
    """The residual of a trial, and stresses to which it is compared."""

    vector: Floats  # r of the unknowns that are not prescribed
    imbalance: float  # larger residual of nodal forces and of mean stresses, as a stress [MPa]
    stress: float  # norm of the mean stress [MPa]
    held: float = 0.0  # norm of the mean stress that the temperature causes at zero strain [MPa]


@dataclass(frozen=True)
class Newton:
    """Constants of Newton's method for one kind of problem."""

    iterations: int = 20
    points: int = PREDICTOR_POINTS  # equilibria for the predictor after the path's first segment
    # After this number of iterations in later segments, a residual above the first one ends the
    # solve.
    patience: int | None = None
    damped: int = 0  # further iterations with a damped tangent, if these do not converge
    # Smallest relative residual of a linear solve; None is the relative residual of the iteration.
    least_accuracy: float | None = None
    smallest_step: float = SMALLEST_STEP  # fraction of an increment


class IncrementalProblem(Short, ABC):
    """Equations of the next equilibrium of a path, and the state at the last equilibrium.

    Attributes:
        newton: Constants of Newton's method.
        x: Unknowns (n,) at the last equilibrium.
        state: All other data of the last equilibrium.
        trial: State at the end of the step to the last trial, which `residual` sets.
    """

    newton = Newton()
    x: Floats
    state: Any
    trial: Any

    @abstractmethod
    def begin(self, segment: Segment, *, is_first: bool) -> float | None:
        """Begin a segment of the path at the last equilibrium.

        Args:
            segment: The segment.
            is_first: Whether no segment came before.

        Returns:
            Length of the segment relative to the one before, if the path continues nearly straight.
            Then earlier equilibria are used for the prediction. Otherwise None.
        """

    @abstractmethod
    def prescribe(self, x: Floats, t: float) -> None:
        """Write what is prescribed at fraction t of the segment to trial unknowns x."""

    @abstractmethod
    def residual(self, x: Floats, t: float) -> Residual:
        """Evaluate r(x, t) for trial unknowns, from the last equilibrium."""

    @abstractmethod
    def assemble_tangent(self) -> None:
        """Assemble the tangent K = -∂r/∂x at the last trial."""

    def damp(self, damping: float) -> None:
        """Add a multiple of the elastic stiffness of inelastic phases to the tangent."""

    def limit(self) -> str:
        """Return a sentence on the physical limit at the last equilibrium, "" if there is none."""
        return ""

    @abstractmethod
    def solve(self, residual: Floats, accuracy: float) -> Floats:
        """Solve K dx = r to a relative residual; return dx (n,), NaN if K is singular."""

    def step_error(self, x: Floats, t: float, iterations: int) -> float:  # noqa: ARG002 (for others)
        """Estimate the error of a step to an equilibrium, relative to the allowed error.

        A step with an error above 1 is repeated with a smaller step.

        Args:
            x: Unknowns, which were the last trial.
            t: Fraction of the segment.
            iterations: Number of Newton iterations of the step.

        Returns:
            The error. The default 0 is no estimate, so that steps end only at increments.
        """
        return 0.0

    def commit(self, x: Floats, t: float) -> None:  # noqa: ARG002 (for other problems)
        """Accept the last trial as equilibrium; it is the start of the next step."""
        self.x = x
        self.state = self.trial

    def is_over(self) -> bool:
        """Return whether the path ends at the last equilibrium, which may be in an increment."""
        return False

    def restart(self, x: Floats, state: Any) -> None:
        """Go back to an equilibrium, so that further steps depend only on it."""
        self.x = x
        self.state = state

    def copied_state(self) -> Any:
        """Return a state that does not change when the path goes on."""
        return self.state

    @abstractmethod
    def averages(self) -> Averages:
        """Return volume averages at the last equilibrium: a row of `EquilibriumPath.history`."""

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of factorisations and so on."""
        return {}


class PlaneStrainProblem(IncrementalProblem):
    """Equations whose last three unknowns are the mean strain xx, yy and engineering shear xy.

    Attributes:
        free: Indices of the components whose mean strain is free in this segment of the path.
        start: (3,) mean strains xx, yy, xy at its start, or stresses of free components [MPa].
        way: (3,) difference of its end from its start.
    """

    free: Ints
    start: Floats
    way: Floats

    def begin(self, segment: Segment, *, is_first: bool) -> float | None:  # noqa: ARG002
        """Begin a segment of the path, without a prediction from earlier equilibria."""
        averages = self.averages()
        self.start = averages["strain"][IN_PLANE]
        self.start[segment.free] = averages["stress"][IN_PLANE][segment.free]
        self.way = segment.end - self.start
        self.free = segment.free
        return None

    def load(self, t: float) -> Floats:
        """Return the mean strains xx, yy, xy at fraction t, or stresses of free components."""
        return np.asarray(self.start + t * self.way)

    def prescribe(self, x: Floats, t: float) -> None:
        """Write the prescribed mean strains at fraction t to unknowns x."""
        prescribed = np.delete(range(3), self.free)
        x[len(x) - 3 + prescribed] = (self.load(t) * [1.0, 1.0, 2.0])[prescribed]
