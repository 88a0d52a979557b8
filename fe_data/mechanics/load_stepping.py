"""The equations of the fast solver along a loading path."""

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.incremental_problem import Averages, Newton, PlaneStrainProblem, Residual
from fe_data.loading import Segment
from fe_data.mechanics.problem import RVEProblem, State

_LARGEST_CHANGE = 0.012  # in later segments, after a larger change of the tangent it is factorised
_NEARLY_STRAIGHT = 0.5  # largest relative change of direction at which earlier states are kept


class IncrementalRVE(PlaneStrainProblem):
    """The equations of an RVE along a loading path, in the undeformed state at first.

    Attributes:
        problem: Equations.
        x: (n + 3,) unknowns at the last equilibrium.
        state: History variables at the last equilibrium.
        integrals: (11,) integrals at the last equilibrium, see `RVEProblem.internal_force`.
    """

    # In later segments of a path some points yield and others unload. A straight line through two
    # states and little patience are faster there. A larger least accuracy would save a sixth of the
    # iterations, but change the shipped tables by 1e-5.
    newton = Newton(iterations=12, points=2, patience=4, least_accuracy=1e-3)

    def __init__(self, problem: RVEProblem):
        problem.system.drop_factor()  # it may be of an earlier path
        self.problem = problem
        self.x = np.zeros(problem.n + 3)
        self.state: State = State(*problem.matrix.weights.shape)
        self.integrals = np.zeros(11)
        self._trial_integrals = self.integrals
        self.free: Ints = np.empty(0, int)
        self.way = np.zeros(3)

    def begin(self, segment: Segment, *, is_first: bool) -> float | None:
        """Begin a segment of the path, see `IncrementalProblem`."""
        free = self.free
        way = self.way
        super().begin(segment, is_first=is_first)
        self._unknown = np.append(np.arange(self.problem.n), self.problem.n + segment.free)
        self._largest_change = np.inf if is_first else _LARGEST_CHANGE
        goes_on = not is_first and np.array_equal(segment.free, free)
        return self._speed_ratio(way) if goes_on else None

    def _speed_ratio(self, way: Floats) -> float | None:
        """Return the length relative to the last segment; None if the path turns too much."""
        scale = np.ones(3)
        scale[self.free] /= self.problem.law.shear_modulus  # stresses become strains
        before = scale * way
        after = scale * self.way
        # ratio = (before · after) / |before|²
        ratio = float(before @ after / (before @ before + 1e-300))
        turned = np.linalg.norm(after - ratio * before)
        if ratio > 0.0 and turned <= _NEARLY_STRAIGHT * np.linalg.norm(after):
            return ratio
        return None

    def residual(self, x: Floats, t: float) -> Residual:
        """Evaluate the residual of the unknowns that are not prescribed."""
        n = self.problem.n
        force, self._trial_integrals = self.problem.internal_force(x, self.state)
        # r = f_ext - f_int(x)
        residual = -force[self._unknown]
        residual[n:] += self.load(t)[self.free]
        local = np.linalg.norm(residual[:n]) / self.problem.force_scale
        imbalance = float(max(local, np.linalg.norm(residual[n:])))
        return Residual(residual, imbalance, float(np.linalg.norm(force[n:])))

    def assemble_tangent(self) -> None:
        """Assemble the tangent at the last trial."""
        self.problem.assemble_tangent(self.state)

    def solve(self, residual: Floats, accuracy: float) -> Floats:
        """Solve for a Newton step (n + 3,)."""
        dx = np.zeros_like(self.x)
        system = self.problem.system
        dx[self._unknown] = system.solve(residual, self.free, accuracy, self._largest_change)
        return dx

    def commit(self, x: Floats, t: float) -> None:  # noqa: ARG002 (the state does not depend on t)
        """Accept the last trial as equilibrium."""
        self.x = x
        self.integrals = self._trial_integrals
        self.state.accept()

    def restart(self, x: Floats, state: State) -> None:
        """Go back to an equilibrium, whose mean stress is then unknown."""
        self.problem.system.drop_factor()
        self.x = x
        self.integrals = np.full(11, np.nan)
        self.state = state.copy()

    def copied_state(self) -> State:
        """Return an independent copy of the state."""
        return self.state.copy()

    def averages(self) -> Averages:
        """Return volume averages at the last equilibrium; tensors have xx, yy, zz, xy."""
        return self.problem.volume_averages(self.x, self.integrals)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of factorisations and iterations of conjugate gradients."""
        return dict(self.problem.system.counts)
