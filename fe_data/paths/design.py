"""Strain paths in all three in-plane components, for surrogates of an RVE under any loading.

Random paths change direction and unload. Cycles and the tension test of the paper check a surrogate
that was trained on random paths.
"""

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.design import Design, NamedDesign, checked_design, seeds_of
from fe_data.loading import Loading
from fe_data.schema import BOUNDS, INPUT_BOUNDS, INPUT_NAMES
from fe_data.settings import Settings, require_between, require_integer, require_kind

SHIPPED_SETTINGS = Settings(resolution=2.5, tolerance=1e-4)  # of the shipped sets
INCREMENTS = 100
AMPLITUDE = 0.02  # standard deviation of both shears of a random path
# Standard deviation of ε_xx + ε_yy relative to AMPLITUDE. It is small, because most stress due to
# dilatation is elastic pressure.
DILATATION = 0.2
LENGTH = 0.15  # length scale of a random path, whose time goes from 0 to 1
LARGER = 1.5  # factor on the strains of large random paths, which are beyond the training paths
_JITTER = 1e-8  # relative to the variance, because the kernel is singular in double precision
_LEGS = (20, 40, 40)  # increments of a cycle: to one end, to the opposite end, and back
_MAX_INCREMENTS = 10_000  # of a random path, whose kernel then takes 0.8 GB
_TENSION = 0.05  # largest strain of the tension test of the paper


# Sets of RVEs with strain paths, a separate one for each input
PATH_SETS = {
    "random": NamedDesign("random", 500, 1),
    "repeated_random": NamedDesign("random", 20, 5),
    "reference_random": NamedDesign("random", 15, 20),
    "reference_random_large": NamedDesign("large random", 15, 20),
    "reference_cycles": NamedDesign("cycle", 15, 20),
    "reference_tension": NamedDesign("tension", 15, 20),
}


def random_path(
    rng: np.random.Generator,
    *,
    amplitude: float = AMPLITUDE,
    dilatation: float = DILATATION,
    length: float = LENGTH,
    increments: int = INCREMENTS,
) -> Floats:
    """Draw a random strain path from smooth Gaussian processes.

    (ε_xx - ε_yy) / 2, ε_xy and ε_xx + ε_yy are independent Gaussian processes of the time from 0 to
    1. They have an RBF kernel, conditioned on zero at time 0.

    Args:
        rng: Generator.
        amplitude: Standard deviation of (ε_xx - ε_yy) / 2 and ε_xy, without the conditioning [-].
        dilatation: Standard deviation of ε_xx + ε_yy, divided by `amplitude`.
        length: Length scale of the kernel.
        increments: Number of increments of the path.

    Returns:
        Strain tensor (increments, 3) with xx, yy, xy after each increment.

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
    # The Cholesky root is unique, while eigenvectors have arbitrary signs. With the jitter, paths
    # from different LAPACK libraries agree to about 1e-9.
    root = np.linalg.cholesky(kernel + _JITTER * np.eye(increments))
    half, shear, volume = amplitude * (root @ rng.standard_normal((increments, 3))).T
    volume = dilatation * volume
    return np.column_stack([volume / 2 + half, volume / 2 - half, shear])


def cycle(rng: np.random.Generator, *, amplitude: float = AMPLITUDE) -> Loading:
    """Draw a proportional cycle in a random direction: to one end, to the opposite end, and back.

    Args:
        rng: Generator.
        amplitude: Root mean square of (ε_xx - ε_yy) / 2 and of ε_xy at the end [-]. The standard
            deviation of ε_xx + ε_yy is 0.2 times as large, as in a random path.

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
    """Make a design of RVEs with strain paths.

    Inputs are uniform over the bounds of the paper. Each input has a separate path of 100
    increments. Sets whose names begin with "reference" are for tests.

    Random paths are three independent Gaussian processes of the time from 0 to 1, zero at the
    start, with an RBF kernel of length 0.15. The shears (ε_xx − ε_yy) / 2 and ε_xy have a standard
    deviation of 0.02, the dilatation ε_xx + ε_yy of 0.004. Cycles have these sizes: 20 increments
    in a random direction, 40 to the opposite point, and 40 back. In tension, strains yy and xy are
    free, and a file of the set has their means.

    Args:
        name: Key of PATH_SETS.
        seed: Seed of inputs, paths and microstructures, in [0, 2**63).
        count: Number of inputs; None uses the number of the set. A smaller design has the first
            inputs and paths of a larger one.
        replicates: Number of microstructures per input; None uses the number of the set.

    Returns:
        The design. All microstructures of an input follow the same path and form a group.

    Raises:
        ValueError: If the name is unknown, or a number is out of range.

    Examples:
        >>> from fe_data import path_design
        >>> design = path_design("reference_cycles", count=2, replicates=3)
        >>> len(design), design.sample(2).loading == design.sample(0).loading
        (6, True)
    """
    kind, seed, count, repeats = checked_design(PATH_SETS, name, seed, count, replicates)
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    inputs = []
    paths = []
    for index in range(count):
        rng = np.random.default_rng(seeds_of(name, seed, 0, index))
        inputs.append(low + rng.random(len(INPUT_NAMES)) * (high - low))
        paths.append(_path(kind, rng))
    return Design(
        name=name,
        seed=seed,
        inputs=np.repeat(inputs, repeats, axis=0),
        groups=np.arange(count).repeat(repeats),
        loadings=tuple(path for path in paths for _ in range(repeats)),
    )


def _path(kind: str, rng: np.random.Generator) -> Loading:
    """Draw a path of the kind "random", "large random", "cycle" or "tension"."""
    if kind == "cycle":
        return cycle(rng)
    if kind == "tension":
        return Loading(strain=(_TENSION, None, None), increments=INCREMENTS)
    scale = LARGER if kind == "large random" else 1.0
    path = random_path(rng, amplitude=scale * AMPLITUDE)
    return Loading(strain=[tuple(vertex) for vertex in path.tolist()], increments=1)
