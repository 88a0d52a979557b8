"""Seeds: every random draw is addressed by (random_state, purpose, member)."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

RandomState = None | int | np.random.SeedSequence | np.random.Generator | np.random.RandomState


class Purpose(IntEnum):
    """Purpose of random numbers, which is the first part of their address below a random_state."""

    START = 0
    PERTURBATION = 1
    PRIOR = 2
    INPUTS = 3
    RESAMPLING = 4
    PRETRAINING = 5
    TRAINING = 6
    ANCHORS = 7
    MEASUREMENT = 8
    COVARIANCE = 9
    COMPONENTS = 10


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Turn a random state into a seed sequence; a generator draws one integer as seed."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31 - 1)))
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state = {random_state}: must be >= 0")
        return np.random.SeedSequence(int(random_state))
    raise TypeError(f"random_state = {random_state!r}: must be None, an integer or a generator")


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator; a Generator is returned itself, so that drawing advances it."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def spawn(sequence: np.random.SeedSequence, *address: int) -> np.random.SeedSequence:
    """Return the child at an address (purpose, member, ...) of a sequence, without advancing it."""
    return np.random.SeedSequence(
        sequence.entropy, spawn_key=(*sequence.spawn_key, *address), pool_size=sequence.pool_size
    )


def member_generators(
    sequence: np.random.SeedSequence, n_members: int
) -> list[np.random.Generator]:
    """Return a generator for each member; that of member k does not depend on n_members."""
    return [np.random.default_rng(spawn(sequence, member)) for member in range(n_members)]


def member_seeds(sequence: np.random.SeedSequence, n_members: int) -> NDArray[np.uint32]:
    """Return for each member the seed of its shuffles in training, (n_members,) uint32."""
    seeds = [spawn(sequence, member).generate_state(1)[0] for member in range(n_members)]
    return np.array(seeds, dtype=np.uint32)
