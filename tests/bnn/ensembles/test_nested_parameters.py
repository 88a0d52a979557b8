"""Groups of settings are nested parameters of scikit-learn, checked whenever they change."""

import pytest
from sklearn.base import clone

import bnn


def test_a_clone_shares_neither_groups_nor_networks(small_anchored):
    copied = clone(small_anchored)
    assert copied.network == small_anchored.network
    assert copied.pretrained_ is None
    copied.set_params(network__hidden=(7, 7), training__epochs=4)
    assert copied.get_params()["training__epochs"] == copied.training.epochs == 4
    assert small_anchored.network.hidden == (10, 10)
    assert small_anchored.training.epochs == 100


def test_a_wrong_setting_is_refused_where_it_is_set():
    """Groups stay as they were then, and the default of other estimators always."""
    model = bnn.AnchoredEnsemble().set_params(training__batch_size=None, network__init="he")
    before = model.get_params()
    with pytest.raises(ValueError, match="epochs = 0: must be an integer >= 1"):
        model.set_params(training__epochs=0)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        model.set_params(network__colour=1)
    assert model.get_params() == before
    assert bnn.AnchoredEnsemble().get_params()["training__batch_size"] == 32
    with pytest.raises(ValueError, match="network = 3: must be a Architecture"):
        bnn.AnchoredEnsemble(noise=0.1, network=3).fit([[0.0], [1.0]], [0.0, 1.0])
