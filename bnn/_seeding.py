"""Seeds: (random_state, purpose, member) determine each stream of random numbers."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

RandomState = None | int | np.random.SeedSequence | np.random.Generator | np.random.RandomState


class Purpose(IntEnum):
    """Purpose of random numbers: the first entry of their spawn key below a random_state."""

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
    """Return the seed sequence of a random state; a generator draws one integer as its seed."""
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
    raise TypeError(f"random_state = {random_state!r:.60}: must be None, an integer or a generator")


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator. A Generator is returned as it is, so that drawing advances it."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def spawn(sequence: np.random.SeedSequence, *address: int) -> np.random.SeedSequence:
    """Return the child of a sequence with the key (purpose, member, ...), without advancing it."""
    return np.random.SeedSequence(
        sequence.entropy, spawn_key=(*sequence.spawn_key, *address), pool_size=sequence.pool_size
    )


def member_generators(
    sequence: np.random.SeedSequence, n_members: int
) -> list[np.random.Generator]:
    """Return a generator per member; the generator of member k does not depend on n_members."""
    return [np.random.default_rng(spawn(sequence, member)) for member in range(n_members)]


def member_seeds(sequence: np.random.SeedSequence, n_members: int) -> NDArray[np.uint32]:
    """Return the seed of the shuffles of each member during training, (n_members,) uint32."""
    seeds = [spawn(sequence, member).generate_state(1)[0] for member in range(n_members)]
    return np.array(seeds, dtype=np.uint32)
