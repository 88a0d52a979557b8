"""Values that files hold come back as they were, everything else is named."""

import json

import numpy as np
import pytest

from bnn import RBF, Convergence, GaussianProcessPrior
from bnn.storage.values import NotStored, kept, plain, restored


def through_json(value):
    arrays = {}
    tree = json.loads(json.dumps(plain(value, arrays, "value")))
    return restored(tree, arrays.__getitem__)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        "text",
        (1, (2.0, None)),
        {"a": (1, 2), "b": {"c": "d"}},
        Convergence(window=7),
        GaussianProcessPrior(0.5, (RBF(), RBF(2.0, (1.0, 3.0))), n_outputs=2),
        NotStored("function"),
    ],
)
def test_a_value_comes_back(value):
    assert through_json(value) == value


def test_a_seed_goes_on_after_it_was_stored():
    seed = np.random.SeedSequence(3, spawn_key=(1, 2))
    np.testing.assert_array_equal(through_json(seed).generate_state(4), seed.generate_state(4))
    with pytest.raises(ValueError, match="pool_size = 1000000"):
        restored({"SeedSequence": {"entropy": 1, "spawn_key": [], "pool_size": 10**6}}, {}.get)


@pytest.mark.parametrize(
    "value", [print, np.random.default_rng(0), GaussianProcessPrior(lambda X: X[:, 0]), {1, 2}]
)
def test_what_no_file_holds_is_replaced_by_its_name(value):
    assert kept(value) == NotStored(type(value).__name__)
