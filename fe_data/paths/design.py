"""Paths of strain through all three components, for surrogates of an RVE under any loading.

Random paths turn and unload. Cycles and the paper's tension test check a surrogate that was trained
on random paths.
"""

from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.design import Design, checked_sizes, seeds_of
from fe_data.loading import Loading
from fe_data.schema import BOUNDS, INPUT_BOUNDS, INPUT_NAMES
from fe_data.settings import Settings, require_between, require_integer, require_kind

SHIPPED_SETTINGS = Settings(resolution=2.5, tolerance=1e-4)  # of the sets in the package
INCREMENTS = 100
AMPLITUDE = 0.02  # standard deviation of both shears of a random path
DILATATION = 0.2  # that of ε_xx + ε_yy over it: most of its stress would be an elastic pressure
LENGTH = 0.15  # of the kernel of a random path, whose time goes from 0 to 1
LARGER = 1.5  # factor on the strains of a random path that was not learnt
_JITTER = 1e-8  # of the variance, on the diagonal: the kernel is singular in double precision
_LEGS = (20, 40, 40)  # increments of a cycle: to the end, to its opposite, and back
_MAX_INCREMENTS = 10_000  # of a random path: its kernel then takes 0.8 GB
_TENSION = 0.05  # largest strain of the test of the paper


@dataclass(frozen=True)
class PathSet:
    """A set of RVEs with paths, before its seed is chosen."""

    kind: str  # "random", "large random", "cycle" or "tension"
    count: int  # different inputs, each with a path of its own
    replicates: int  # microstructures for each of them


PATH_SETS = {
    "random": PathSet("random", 500, 1),
    "repeated_random": PathSet("random", 20, 5),
    "reference_random": PathSet("random", 15, 20),
    "reference_random_large": PathSet("large random", 15, 20),
    "reference_cycles": PathSet("cycle", 15, 20),
    "reference_tension": PathSet("tension", 15, 20),
}


def random_path(
    rng: np.random.Generator,
    *,
    amplitude: float = AMPLITUDE,
    dilatation: float = DILATATION,
    length: float = LENGTH,
    increments: int = INCREMENTS,
) -> Floats:
    """Random path of both shears and, with a smaller amplitude, of the dilatation.

    (ε_xx - ε_yy) / 2, ε_xy and ε_xx + ε_yy are independent Gaussian processes of the time from 0 to
    1 with an RBF kernel, given that all begin at zero.

    Args:
        rng: Generator.
        amplitude: Standard deviation of the first two [-].
        dilatation: Standard deviation of the third, divided by `amplitude`.
        length: Length scale of the kernel.
        increments: Increments of the path.

    Returns:
        Strain tensor (increments, 3), xx, yy, xy, from the first increment on.

    Raises:
        TypeError: If `rng` is not a generator.
        ValueError: If a number is out of range.

    Examples:
        >>> import numpy as np
        >>> from fe_data import random_path
        >>> random_path(np.random.default_rng(0), increments=50).shape
        (50, 3)
    """
    require_kind("rng", rng, np.random.Generator)
    amplitude = require_between("amplitude", amplitude, *BOUNDS["amplitude"])
    dilatation = require_between("dilatation", dilatation, *BOUNDS["dilatation"])
    length = require_between("length", length, *BOUNDS["length"])
    increments = require_integer("increments", increments, 1, _MAX_INCREMENTS)
    t = np.arange(1, increments + 1) / increments
    # k(t, s) - k(t, 0) k(0, s) with k(t, s) = exp(-(t - s)² / 2L²)
    start = np.exp(-0.5 * (t / length) ** 2)
    kernel = np.exp(-0.5 * ((t[:, None] - t) / length) ** 2) - np.outer(start, start)
    # A root by Cholesky has no signs to choose, as one by eigenvectors has. With the jitter the
    # paths of different LAPACKs are equal to about 1e-9.
    root = np.linalg.cholesky(kernel + _JITTER * np.eye(increments))
    half, shear, volume = amplitude * (root @ rng.standard_normal((increments, 3))).T
    volume = dilatation * volume
    return np.column_stack([volume / 2 + half, volume / 2 - half, shear])


def cycle(rng: np.random.Generator, *, amplitude: float = AMPLITUDE) -> Loading:
    """A proportional cycle in a random direction: to one end, to the opposite end, and back.

    Args:
        rng: Generator.
        amplitude: Root mean square of both shears at the end [-]; the dilatation is 0.2 times as
            large, as in a random path.

    Returns:
        The path, in 100 increments.

    Raises:
        TypeError: If `rng` is not a generator.
        ValueError: If the amplitude is out of range.

    Examples:
        >>> import numpy as np
        >>> from fe_data import cycle
        >>> cycle(np.random.default_rng(0)).increments
        (20, 40, 40)
    """
    require_kind("rng", rng, np.random.Generator)
    amplitude = require_between("amplitude", amplitude, *BOUNDS["amplitude"])
    angle = rng.uniform(0.0, 2.0 * np.pi)
    volume = rng.standard_normal()
    half, shear = np.sqrt(2.0) * amplitude * np.array([np.cos(angle), np.sin(angle)])
    mean = DILATATION * amplitude * volume / 2
    end = np.array([mean + half, mean - half, shear])
    return Loading(strain=[tuple(sign * end) for sign in (1.0, -1.0, 1.0)], increments=_LEGS)


def path_design(
    name: str, seed: int = 0, *, count: int | None = None, replicates: int | None = None
) -> Design:
    """RVEs with inputs drawn as in the paper, each with its own path.

    Args:
        name: Key of PATH_SETS.
        seed: Seed of inputs, paths and microstructures, in [0, 2**63).
        count: Number of inputs; None takes the number of the set. A smaller number gives the first
            RVEs of a larger one.
        replicates: Number of microstructures per input; None takes the number of the set.

    Returns:
        The design; all microstructures of an input follow its path and form a group.

    Raises:
        ValueError: If the name is unknown, or a number is out of range.

    Examples:
        >>> from fe_data import path_design
        >>> design = path_design("reference_cycles", count=2, replicates=3)
        >>> len(design), design.sample(2).loading == design.sample(0).loading
        (6, True)
    """
    if not isinstance(name, str) or name not in PATH_SETS:
        raise ValueError(f"name = {name!r:.60} is not a set: allowed are {', '.join(PATH_SETS)}")
    chosen = PATH_SETS[name]
    count = chosen.count if count is None else count
    repeats = chosen.replicates if replicates is None else replicates
    seed, count, repeats = checked_sizes(seed, count, repeats)
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    inputs = []
    paths = []
    for index in range(count):
        rng = np.random.default_rng(seeds_of(name, seed, 0, index))
        inputs.append(low + rng.random(len(INPUT_NAMES)) * (high - low))
        paths.append(_path(chosen.kind, rng))
    return Design(
        name=name,
        seed=seed,
        inputs=np.repeat(inputs, repeats, axis=0),
        groups=np.arange(count).repeat(repeats),
        loadings=tuple(path for path in paths for _ in range(repeats)),
    )


def _path(kind: str, rng: np.random.Generator) -> Loading:
    """A path of one kind."""
    if kind == "cycle":
        return cycle(rng)
    if kind == "tension":
        return Loading(strain=(_TENSION, None, None), increments=INCREMENTS)
    scale = LARGER if kind == "large random" else 1.0
    path = random_path(rng, amplitude=scale * AMPLITUDE)
    return Loading(strain=[tuple(vertex) for vertex in path.tolist()], increments=1)
