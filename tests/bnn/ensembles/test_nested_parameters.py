"""Groups of settings are nested parameters of scikit-learn, checked whenever they change."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import bnn
from tests.bnn.small import small

X = np.linspace(-1.0, 1.0, 10)[:, None]
Y = np.sin(3.0 * X[:, 0])


def test_entries_of_groups_are_reached_where_a_group_is_its_default():
    """A change is that of one estimator: the default of others stays."""
    first = bnn.AnchoredEnsemble()
    assert first.get_params()["training__epochs"] == 600
    assert first.get_params()["pretraining__training__epochs"] == 1000
    first.set_params(training__epochs=7, pretraining__training__batch_size=None)
    assert first.get_params()["training__epochs"] == first.training.epochs == 7
    assert first.pretraining.training.batch_size is None
    second = bnn.AnchoredEnsemble()
    assert second.get_params()["training__epochs"] == 600
    assert second.get_params()["pretraining__training__batch_size"] == 32
    assert bnn.FunctionAnchoredEnsemble().get_params()["network__activation"] == "silu"


def test_a_clone_shares_neither_groups_nor_networks(small_anchored):
    copied = clone(small_anchored)
    assert copied.network == small_anchored.network
    assert copied.pretrained_ is None
    copied.set_params(network__hidden=(7, 7), training__epochs=4)
    assert small_anchored.network.hidden == (10, 10)
    assert small_anchored.training.epochs == 100


def test_a_grid_search_varies_entries():
    grid = {"training__epochs": [1, 200], "network__activation": ["tanh"]}
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(small(bnn.VanillaEnsemble), grid, cv=folds).fit(X, Y)
    assert search.best_params_ == {"training__epochs": 200, "network__activation": "tanh"}
