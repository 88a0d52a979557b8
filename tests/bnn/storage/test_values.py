"""Values of files: a seed goes on, and what no file holds is replaced by its name."""

import json

import numpy as np
import pytest

from bnn import GaussianProcessPrior
from bnn.storage.values import NotStored, kept, plain, restored


def test_a_seed_goes_on_after_it_was_stored():
    seed = np.random.SeedSequence(3, spawn_key=(1, 2))
    tree = json.loads(json.dumps(plain(seed, {}, "value")))
    np.testing.assert_array_equal(restored(tree, {}.get).generate_state(4), seed.generate_state(4))
    with pytest.raises(ValueError, match="pool_size = 1000000"):
        restored({"SeedSequence": {"entropy": 1, "spawn_key": [], "pool_size": 10**6}}, {}.get)


@pytest.mark.parametrize(
    "value", [print, np.random.default_rng(0), GaussianProcessPrior(lambda X: X[:, 0]), {1, 2}]
)
def test_what_no_file_holds_is_replaced_by_its_name(value):
    assert kept(value) == NotStored(type(value).__name__)
