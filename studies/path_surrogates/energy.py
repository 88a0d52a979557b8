"""Share of models that gain energy in cycles: python -m studies.path_surrogates.energy.

A real material never gains energy. Sixty RVEs with inputs drawn between the bounds follow
proportional cycles in random directions: from rest to one end, to the opposite end, and back. The
cycle is closed between the first and the second time at the first end. In a closed cycle the work
of the mean and of each member must not be negative. The first table has cycles about rest. The
second table has cycles about a strain of 0.02, to which the RVE is loaded first. The text below
each table gives the largest gain, relative to the work before the closed cycle.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch

from bnn.paths import StrainPathEnsemble
from figures.markdown import markdown
from studies.path_surrogates import data
from studies.path_surrogates.estimators import fitted
from studies.strain_paths.study import subset

AMPLITUDES = (0.001, 0.0015, 0.002, 0.003, 0.004, 0.006, 0.01, 0.02)  # |E| at the end of a cycle
RVES = 60
PRELOAD = 0.02  # |E| at the middle of the cycles in the second table
SIZES = (5, 20, 100)
_ROUNDING = 1e-9  # tolerance of the energy, relative to largest stress times largest strain
_LEGS = (20, 40, 40)  # increments to the first end, to the opposite end, and back
_BEFORE = 20  # increments of the preload


def main() -> None:
    """Print the shares of cycles that gain energy."""
    parser = argparse.ArgumentParser(
        "python -m studies.path_surrogates.energy", description=__doc__
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="training paths")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sets = data.load()
    models = {
        n: fitted(subset(sets.random_paths, n, 0), sets.repeated_random, 0) for n in options.sizes
    }
    for preload, words in ((0.0, "Cycles about rest"), (PRELOAD, f"About a strain of {PRELOAD:g}")):
        print(f"{words}: share of laws that gain energy\n")
        text, largest = table(models, AMPLITUDES, preload)
        print(f"{text}\n\nLargest gain: {largest:.1e} of the work before the cycle\n", flush=True)


def table(
    models: dict[int, StrainPathEnsemble], amplitudes: Sequence[float], preload: float
) -> tuple[str, float]:
    """Return the table of shares by number of paths and amplitude, and the largest gain."""
    body: list[list[str]] = []
    largest = 0.0
    for n, model in models.items():
        rows = [["means", str(n)], ["members", str(n)]]
        for amplitude in amplitudes:
            for row, gained in zip(rows, cycled(model, amplitude, preload), strict=True):
                row.append(f"{100 * (gained > 0.0).mean():.2g} %")
                largest = max(largest, gained.max())
        body += rows
    return markdown(["laws", "training paths", *map(str, amplitudes)], body), largest


def cycled(
    model: StrainPathEnsemble, amplitude: float, preload: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the energy that the mean and the members gain in closed cycles.

    Args:
        model: A fitted ensemble.
        amplitude: Norm of the strain xx, yy, xy between the middle and an end of a cycle.
        preload: Norm of the strain at the middle of the cycles; zero is rest.

    Returns:
        `gains` of the mean, (1, RVES), and of the members, (K, RVES).
    """
    rng = np.random.default_rng(5)
    low, high = model.basis.bounds
    X = rng.uniform(low, high, (RVES, 4))
    ends, middles = (_directions(RVES, rng) for _ in range(2))
    strain, first = cycles(amplitude * ends, preload * middles)
    mean = gains(model.predict(X, strain)[None], strain, first)
    return mean, gains(model.predict_members(X, strain), strain, first)


def cycles(ends: np.ndarray, middles: np.ndarray) -> tuple[np.ndarray, int]:
    """Return strain cycles about `middles` (n, 3) with amplitudes `ends` (n, 3), (n, T, 3).

    Also return the index of the step at the first end.
    """
    before = _BEFORE if middles.any() else 0
    at = np.cumsum([0, *_LEGS])
    times = np.interp(np.arange(1, at[-1] + 1), at, [0.0, 1.0, -1.0, 1.0])
    cycle = middles[:, None] + times[None, :, None] * ends[:, None]
    lead = np.arange(1, before + 1)[None, :, None] / max(before, 1) * middles[:, None]
    return np.concatenate([lead, cycle], axis=1), before + _LEGS[0] - 1


def gains(stress: np.ndarray, strain: np.ndarray, first: int) -> np.ndarray:
    """Return the energy gained in closed cycles that begin after step `first`, (K, n).

    The stress is (K, n, T, 3). The gain is relative to the work up to that step, and zero if a
    cycle dissipates energy.
    """
    increments = np.diff(strain, axis=1, prepend=0.0) * [1.0, 1.0, 2.0]
    before = np.concatenate([np.zeros_like(stress[:, :, :1]), stress[:, :, :-1]], axis=2)
    work = (0.5 * (before + stress) * increments).sum(axis=3)
    closed = work[:, :, first + 1 :].sum(axis=2)
    # An elastic cycle has no work, up to rounding.
    scale = np.abs(stress).max(axis=(2, 3)) * np.abs(strain).max()
    gained = np.where(closed < -_ROUNDING * scale, -closed, 0.0)
    return np.asarray(gained / work[:, :, : first + 1].sum(axis=2))


def _directions(rves: int, rng: np.random.Generator) -> np.ndarray:
    """Draw unit strains xx, yy, xy (n, 3), with dilatations reduced to about a fifth."""
    strains = rng.standard_normal((rves, 3))
    strains[:, :2] -= 0.8 * strains[:, :2].mean(axis=1, keepdims=True)
    return strains / np.linalg.norm(strains, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
