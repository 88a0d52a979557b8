"""The path follower on bars with closed forms: softening, snap-back and step control."""

# ruff: noqa: ARG002 (arguments of the protocol)
import math

import numpy as np
import pytest

from fe_data import ConvergenceError, Loading
from fe_data.incremental_problem import IncrementalProblem, Newton, PlaneStrainProblem, Residual
from fe_data.path_following import advance, extrapolate, follow

STIFFNESS = 10.0  # of the bar
BAND = 1000.0  # initial stiffness of its band, whose strength is 1
ELONGATION, OPENING = range(2)


class Bar(IncrementalProblem):
    """An elastic bar with a band that softens linearly; one of the two unknowns is prescribed."""

    def __init__(self, slope, prescribed=ELONGATION):
        self.slope = slope
        self.prescribed = prescribed
        self.x = np.zeros(2)
        self.state = self.trial = None

    def band(self, opening):
        """Stress of the band and its derivative."""
        if opening <= 1 / BAND:
            return BAND * opening, BAND
        return 1 + self.slope * (opening - 1 / BAND), self.slope

    def begin(self, segment, *, is_first):
        self.end = segment.end[0]

    def prescribe(self, x, t):
        x[self.prescribed] = t * self.end

    def residual(self, x, t):
        stress, self.tangent = self.band(x[OPENING])
        r = STIFFNESS * (x[ELONGATION] - x[OPENING]) - stress
        return Residual(np.array([r]), abs(r), abs(stress))

    def assemble_tangent(self):
        minus_elongation, opening = STIFFNESS, STIFFNESS + self.tangent
        self.tangent = -minus_elongation if self.prescribed == OPENING else opening

    def solve(self, residual, accuracy):
        dx = np.zeros(2)
        dx[1 - self.prescribed] = residual[0] / self.tangent
        return dx

    def averages(self):
        return {
            "strain": np.array([self.x[ELONGATION]]),
            "stress": np.array([self.band(self.x[OPENING])[0]]),
        }


def followed(bar, largest, increments=40, **options):
    path = follow(bar, Loading((largest, None, None)), increments, 1e-10, **options)
    return path, path.history["strain"][:, 0], path.history["stress"][:, 0]


def test_a_bar_is_followed_past_its_peak_until_a_criterion_ends_the_path():
    """The stress is K u up to the strength, and then falls with K h / (K + h)."""
    peak = 0.0

    def has_fallen(averages):
        nonlocal peak
        peak = max(peak, averages["stress"][0])
        return averages["stress"][0] < 0.8 * peak

    path, strain, stress = followed(Bar(-2.0), 0.4, ends=has_fallen)
    at_peak = 1 / STIFFNESS + 1 / BAND
    rising = strain * STIFFNESS * BAND / (STIFFNESS + BAND)
    falling = 1 - (strain - at_peak) * STIFFNESS * 2.0 / (STIFFNESS - 2.0)
    np.testing.assert_allclose(stress, np.where(strain < at_peak, rising, falling), atol=1e-9)
    assert path.stop is None
    assert stress[-1] < 0.8 * stress.max() <= stress[-2]
    assert len(stress) < 40


def test_a_path_that_snaps_back_is_followed_by_the_opening_of_the_band():
    """With the load among the unknowns, as in control by dissipated energy."""
    _, strain, stress = followed(Bar(-20.0, OPENING), 0.05)
    opening = np.linspace(0.0, 0.05, 41)
    np.testing.assert_allclose(strain, opening + stress / STIFFNESS, atol=1e-9)
    assert strain[-1] < 0.6 * strain.max()


def test_a_path_that_snaps_back_ends_in_an_error_under_a_prescribed_strain():
    with pytest.raises(ConvergenceError, match="material that softens") as caught:
        followed(Bar(-20.0), 0.4)
    assert caught.value.history["strain"].max() <= 1 / STIFFNESS + 1 / BAND
    stopped, strain, _ = followed(Bar(-20.0), 0.4, partial=True)
    assert isinstance(stopped.stop, ConvergenceError)
    np.testing.assert_array_equal(strain, caught.value.history["strain"][:, 0])


class Probe(PlaneStrainProblem):
    """Equations with the averages of a strained RVE."""

    x = np.zeros(3)
    residual = assemble_tangent = solve = None

    def averages(self):
        return {
            "strain": np.array([1.0, 2.0, 3.0, 4.0]),
            "stress": np.array([5.0, 6.0, 7.0, 8.0]),
        }


def test_a_part_begins_at_the_mean_strains_and_at_the_stresses_of_free_components():
    vertices = [(0.02, None, None), (None, None, None), (0.0, 0.0, 0.01)]
    stress = [(0.0, 0.0, 0.0), (0.0, 30.0, 0.0), (0.0, 0.0, 0.0)]
    probe = Probe()
    for segment, start in zip(
        Loading(vertices, stress).segments(1), ([1, 6, 8], [5, 6, 8], [1, 2, 4]), strict=True
    ):
        probe.begin(segment, is_first=False)
        np.testing.assert_array_equal(probe.load(0.0), start)
        np.testing.assert_allclose(probe.load(1.0), segment.end, atol=1e-14)
    x = np.zeros(5)
    probe.prescribe(x, 0.0)
    np.testing.assert_array_equal(x, [0, 0, 1, 2, 8])  # the last one is engineering shear


class StrainedByTime(IncrementalProblem):
    """Equations of one unknown, whose only load is the time."""

    state = trial = None

    def begin(self, segment, *, is_first):
        pass

    def prescribe(self, x, t):
        pass

    def assemble_tangent(self):
        pass


class Dashpot(StrainedByTime):
    """A spring and a dashpot in series at a constant strain rate, by backward Euler steps.

    The stress follows ds/dt = 1 - s / τ.
    """

    tau = 0.1

    def __init__(self, allowed):
        self.allowed = allowed
        self.x = np.zeros(1)
        self.times = [0.0]

    def rate(self, x):
        return 1 - x[0] / self.tau

    def residual(self, x, t):
        r = self.x[0] - x[0] + (t - self.times[-1]) * self.rate(x)
        self.slope = 1 + (t - self.times[-1]) / self.tau
        return Residual(np.array([r]), abs(r), abs(x[0]))

    def solve(self, residual, accuracy):
        return residual / self.slope

    def step_error(self, x, t, iterations):
        """Difference from the trapezoidal rule."""
        return abs((t - self.times[-1]) * (self.rate(x) - self.rate(self.x)) / 2) / self.allowed

    def commit(self, x, t):
        super().commit(x, t)
        self.times.append(t)

    def averages(self):
        return {"strain": np.array([self.times[-1]]), "stress": self.x}


def relaxed(allowed, increments):
    """Path of a dashpot, and the largest error at increments."""
    dashpot = Dashpot(allowed)
    path, time, stress = followed(dashpot, 0.5, increments)
    exact = dashpot.tau * (1 - np.exp(-time / dashpot.tau))
    return path, dashpot, np.abs(stress - exact).max()


def test_a_quarter_of_the_allowed_error_halves_the_steps_and_the_error_of_the_path():
    (_, coarse, first), (_, fine, second) = (relaxed(allowed, 4) for allowed in (4e-5, 1e-5))
    assert second / first == pytest.approx(0.5, rel=0.1)
    assert len(fine.times) / len(coarse.times) == pytest.approx(2.0, rel=0.1)


def test_the_steps_do_not_depend_on_increments_that_are_longer():
    """Each step is as long as the estimate allows, and few are rejected.

    The estimate is Δt² exp(-t/τ) / 2τ, so the integral of 1 / Δt is the number of steps.
    """
    expected = 2 * Dashpot.tau / math.sqrt(2 * Dashpot.tau * 1e-5) / 0.9
    for increments in (1, 10):
        path, dashpot, _ = relaxed(1e-5, increments)
        rate = np.exp(-np.array(dashpot.times) / dashpot.tau)
        steps = np.diff(dashpot.times)
        estimates = steps * -np.diff(rate) / 2 / 1e-5
        assert len(dashpot.times) == pytest.approx(expected, rel=0.1)
        assert estimates.max() < 1.1
        assert np.median(estimates) > 0.5
        assert path.counts["cutbacks"] < 8


def test_an_error_that_stays_too_large_is_named():
    with pytest.raises(ConvergenceError, match="times the allowed one"):
        relaxed(1e-12, 1)


@pytest.mark.parametrize("smallest", [2.0**-10, 2.0**-18])
def test_steps_are_cut_down_to_the_smallest_one(smallest):
    """Each cut is to a quarter, and the message has the smallest step of the increment."""
    steps = []

    def attempt(t):
        steps.append(t)
        return math.inf

    with pytest.raises(ConvergenceError, match=f"steps of {0.5 * smallest:.1e}"):
        advance(0.0, 0.5, attempt, 1, smallest=smallest)
    assert min(steps) == 0.5 * smallest
    assert len(steps) == 1 - math.log(smallest, 4)


@pytest.mark.parametrize(("error", "longest"), [(0.0, math.inf), (0.9**2, 0.25)])
def test_estimated_steps_of_an_increment_go_on_in_the_next_one(error, longest):
    """Without an estimate each increment begins with a whole step."""
    fractions = []

    def attempt(t):
        fractions.append(t)
        return math.inf if len(fractions) == 1 else error

    assert advance(0.0, 1.0, attempt, 1) == (1, pytest.approx(longest))
    advance(1.0, 2.0, attempt, 1, longest)
    expected = [1.0, 0.25, 0.75, 1.0, 2.0]
    if error:
        expected = [1.0, *np.arange(0.25, 2.1, 0.25)]
    assert fractions == pytest.approx(expected)


def test_the_predictor_is_exact_for_a_parabola():
    path = [(t, np.array([1 - t + 2 * t**2])) for t in (0.1, 0.4, 0.5)]
    np.testing.assert_allclose(extrapolate(path, 0.9), [1 - 0.9 + 2 * 0.81], rtol=1e-14)


class Switching(StrainedByTime):
    """A spring, stiff near its balance at t, so that full steps from t - 1 lead to t + 1 and back.

    The force is 4 d for |d| < 1/4, then grows with the stiffness 0.8; d is the distance from t.
    """

    def __init__(self, damped):
        self.newton = Newton(iterations=10, damped=damped)
        self.x = np.zeros(1)

    def residual(self, x, t):
        d = float(x[0] - t)
        force = 4 * d if abs(d) < 0.25 else math.copysign(1 + 0.8 * (abs(d) - 0.25), d)
        self.slope = 4.0 if abs(d) < 0.25 else 0.8
        return Residual(np.array([-force]), abs(force), 1.0)

    def assemble_tangent(self):
        self.tangent = self.slope

    def damp(self, damping):
        self.tangent += 4.0 * damping

    def solve(self, residual, accuracy):
        return residual / self.tangent

    def averages(self):
        return {"strain": self.x, "stress": self.x}


@pytest.mark.parametrize("damped", [0, 50])
def test_a_damped_tangent_ends_a_cycle_that_else_needs_smaller_steps(damped):
    path, strain, _ = followed(Switching(damped), 0.5, 1)
    assert strain[-1] == pytest.approx(1.0, abs=1e-10)
    assert (path.counts["cutbacks"] == 0) == bool(damped)
    assert path.counts.get("damped_solves", 0) == (1 if damped else 0)
