"""Functions of known form as problems: settings were chosen by some, and others judge them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.scoreboard.problems import Problem, Split, digest

SPLITS = 40  # of each function, which differ in their points and noise
TESTED = 1000  # test points
KNOWN = 20_000  # points of which mean and standard deviation of a function are taken
Function = Callable[[np.ndarray], np.ndarray]  # u in [0, 1], (n, n_in) → f, (n,)


@dataclass(frozen=True)
class Case:
    """A function with a number of data, and noise relative to the standard deviation of f."""

    function: Function
    inputs: int
    data: int
    noise: float


def friedman(u: np.ndarray) -> np.ndarray:
    """Friedman's first function, of five of its inputs."""
    wave = 10.0 * np.sin(np.pi * u[:, 0] * u[:, 1])
    return np.asarray(wave + 20.0 * (u[:, 2] - 0.5) ** 2 + 10.0 * u[:, 3] + 5.0 * u[:, 4])


def sparse(u: np.ndarray) -> np.ndarray:
    """A function of the first three of its inputs."""
    return np.asarray(np.sin(3.0 * u[:, 0]) + 2.0 * u[:, 1] ** 2 + np.cos(4.0 * u[:, 2] * u[:, 0]))


def three(u: np.ndarray) -> np.ndarray:
    """A function of three inputs, all of which matter."""
    return np.asarray(np.sin(4.0 * u[:, 0]) + 3.0 * (u[:, 1] - 0.3) ** 2 + u[:, 0] * u[:, 2])


def smooth(u: np.ndarray) -> np.ndarray:
    """A smooth function of six inputs."""
    product = np.sin(3.0 * u[:, 0]) * np.cos(2.0 * u[:, 1])
    return np.asarray(product + u[:, 2] ** 2 * u[:, 3] + 0.5 * np.sin(4.0 * u[:, 4] + u[:, 5]))


def wave(u: np.ndarray) -> np.ndarray:
    """A function of three inputs that is smoother yet."""
    return np.asarray(np.sin(3.0 * u[:, 0]) + np.cos(4.0 * u[:, 1]) + u[:, 2] * u[:, 0])


def borehole(u: np.ndarray) -> np.ndarray:
    """Flow of water through a borehole."""
    low = np.array([0.05, 100.0, 63070.0, 990.0, 63.1, 700.0, 1120.0, 9855.0])
    high = np.array([0.15, 50000.0, 115600.0, 1110.0, 116.0, 820.0, 1680.0, 12045.0])
    r_w, r, T_u, H_u, T_l, H_l, L, K_w = (low + u * (high - low)).T
    ratio = np.log(r / r_w)
    resistance = 1.0 + 2.0 * L * T_u / (ratio * r_w**2 * K_w) + T_u / T_l
    return np.asarray(2.0 * np.pi * T_u * (H_u - H_l) / (ratio * resistance))


def piston(u: np.ndarray) -> np.ndarray:
    """Cycle time of a piston."""
    low = np.array([30.0, 0.005, 0.002, 1000.0, 90000.0, 290.0, 340.0])
    high = np.array([60.0, 0.02, 0.01, 5000.0, 110000.0, 296.0, 360.0])
    M, S, V_0, k, P_0, T_a, T_0 = (low + u * (high - low)).T
    A = P_0 * S + 19.62 * M - k * V_0 / S
    gas = P_0 * V_0 / T_0 * T_a
    V = S / (2.0 * k) * (np.sqrt(A**2 + 4.0 * k * gas) - A)
    return np.asarray(2.0 * np.pi * np.sqrt(M / (k + S**2 * gas / V**2)))


def circuit(u: np.ndarray) -> np.ndarray:
    """Voltage in the middle of an amplifier without an output transformer (OTL)."""
    low = np.array([50.0, 25.0, 0.5, 1.2, 0.25, 50.0])
    high = np.array([150.0, 70.0, 3.0, 2.5, 1.2, 300.0])
    R_1, R_2, R_f, R_c1, R_c2, beta = (low + u * (high - low)).T
    V = 12.0 * R_2 / (R_1 + R_2)
    gain = beta * (R_c2 + 9.0)
    total = gain + R_f
    return np.asarray(
        (V + 0.74) * gain / total + 11.35 * R_f / total + 0.74 * R_f * gain / (total * R_c1)
    )


def wing(u: np.ndarray) -> np.ndarray:
    """Weight of the wing of a light aircraft."""
    low = np.array([150.0, 220.0, 6.0, -10.0, 16.0, 0.5, 0.08, 2.5, 1700.0, 0.025])
    high = np.array([200.0, 300.0, 10.0, 10.0, 45.0, 1.0, 0.18, 6.0, 2500.0, 0.08])
    S, W_f, A, sweep, q, taper, t, N, W_d, W_p = (low + u * (high - low)).T
    cosine = np.cos(np.deg2rad(sweep))
    form = 0.036 * S**0.758 * W_f**0.0035 * (A / cosine**2) ** 0.6 * q**0.006 * taper**0.04
    return np.asarray(form * (100.0 * t / cosine) ** -0.3 * (N * W_d) ** 0.49 + S * W_p)


def robot(u: np.ndarray) -> np.ndarray:
    """Distance of the end of a robot's arm of four segments from its shoulder."""
    angles = np.cumsum(2.0 * np.pi * u[:, :4], axis=1)
    lengths = u[:, 4:8]
    along = np.sum(lengths * np.cos(angles), axis=1)
    return np.asarray(np.hypot(along, np.sum(lengths * np.sin(angles), axis=1)))


def steep(u: np.ndarray) -> np.ndarray:
    """Gramacy & Lee's function of four of six inputs, which is steep in the first."""
    inner = np.sin((0.9 * (u[:, 0] + 0.48)) ** 10)
    return np.asarray(np.exp(inner) + u[:, 1] * u[:, 2] + u[:, 3])


def curved(u: np.ndarray) -> np.ndarray:
    """Dette & Pepelyshev's function of eight inputs, curved in the first three."""
    first = 4.0 * (u[:, 0] - 2.0 + 8.0 * u[:, 1] - 8.0 * u[:, 1] ** 2) ** 2
    second = (3.0 - 4.0 * u[:, 1]) ** 2
    third = 16.0 * np.sqrt(u[:, 2] + 1.0) * (2.0 * u[:, 2] - 1.0) ** 2
    sums = np.cumsum(u[:, 2:8], axis=1)
    rest = sum((i + 1.0) * np.log1p(sums[:, i - 3]) for i in range(4, 9))
    return np.asarray(first + second + third + rest)


CHOOSING = {
    "friedman-40": Case(friedman, 10, 40, 0.05),
    "sparse-60": Case(sparse, 12, 60, 0.05),
    "borehole-20": Case(borehole, 8, 20, 0.01),
    "three-30": Case(three, 3, 30, 0.05),
    "smooth-400": Case(smooth, 6, 400, 0.05),
    "smooth-1000": Case(smooth, 6, 1000, 0.05),
    "wave-400": Case(wave, 3, 400, 0.1),
    "wave-1000": Case(wave, 3, 1000, 0.1),
}
SEEN = {
    "piston-50": Case(piston, 7, 50, 0.02),
    "circuit-40": Case(circuit, 6, 40, 0.02),
    "wing-60": Case(wing, 10, 60, 0.02),
    "wing-25": Case(wing, 10, 25, 0.02),
    "piston-400": Case(piston, 7, 400, 0.05),
    "circuit-700": Case(circuit, 6, 700, 0.02),
    "curved-40": Case(curved, 8, 40, 0.02),
}
JUDGING = {
    "robot-60": Case(robot, 8, 60, 0.02),
    "steep-50": Case(steep, 6, 50, 0.02),
}


def problems() -> list[Problem]:
    """All functions, whose names begin with what they did.

    Settings were chosen by "chosen/NAME-DATA". Functions "seen/..." were looked at before all
    settings were fixed, "judge/..." afterwards.
    """
    found = []
    for kind, cases in (("chosen", CHOOSING), ("seen", SEEN), ("judge", JUDGING)):
        for name, case in cases.items():
            found.append(Problem(f"{kind}/{name}", SPLITS, partial(_split, case)))
    return found


def _split(case: Case, number: int) -> Split:
    """Data of a function, in units of its standard deviation, and f at the test points."""
    rng = np.random.default_rng(number)
    known = case.function(np.random.default_rng(0).uniform(size=(KNOWN, case.inputs)))
    X = rng.uniform(size=(case.data, case.inputs))
    X_test = rng.uniform(size=(TESTED, case.inputs))
    y, f_test = ((case.function(u) - known.mean()) / known.std() for u in (X, X_test))
    y = y + case.noise * rng.standard_normal(len(y))
    y_test = f_test + case.noise * rng.standard_normal(len(f_test))
    bounds = np.array([[0.0], [1.0]]) * np.ones(case.inputs)
    given = {"X": X, "y": y[:, None], "X_test": X_test, "f_test": f_test[:, None], "bounds": bounds}
    return Split(given, y_test[:, None], 1.0, 0.0, digest(X, y, X_test, y_test))
