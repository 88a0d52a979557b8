"""Groups of settings are nested parameters of scikit-learn, checked whenever they change."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import bnn

X = np.linspace(-1.0, 1.0, 10)[:, None]
Y = np.sin(3.0 * X[:, 0])
ESTIMATORS = [
    bnn.ExactPosterior,
    bnn.VanillaEnsemble,
    bnn.AnchoredEnsemble,
    bnn.FunctionAnchoredEnsemble,
    bnn.ComponentRegressor,
]
GROUPS = {
    "network": (bnn.Architecture, {"hidden": (0,)}, r"hidden\[0\] = 0: must be an integer >= 1"),
    "pretraining": (bnn.Pretraining, {"n_networks": 1}, "n_networks = 1: must be an integer >= 2"),
    "training": (bnn.TrainingSettings, {"epochs": 0}, "epochs = 0: must be an integer >= 1"),
    "anchoring": (bnn.Anchoring, {"optimiser": "sgd"}, "optimiser = 'sgd': must be one of adam, "),
    "scaling": (bnn.Scaling, {"inputs": "range"}, "inputs = 'range': must be one of data"),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_has_at_most_ten_parameters(kind):
    assert len(inspect.signature(kind).parameters) <= 10


@pytest.mark.parametrize("function", [bnn.pretrain, bnn.anchor, bnn.train_vanilla])
def test_a_function_takes_groups_too(function):
    assert len(inspect.signature(function).parameters) <= 10


@pytest.mark.parametrize("name", GROUPS)
def test_values_are_refused_on_construction_and_on_change(name):
    kind, wrong, message = GROUPS[name]
    with pytest.raises(ValueError, match=message):
        kind(**wrong)
    group = kind()
    before = group.get_params()
    with pytest.raises(ValueError, match=message):
        group.set_params(**wrong)
    assert group.get_params() == before
    model = bnn.AnchoredEnsemble()
    with pytest.raises(ValueError, match=message):
        model.set_params(**{f"{name}__{key}": value for key, value in wrong.items()})
    with pytest.raises(ValueError, match=f"{name} = 3: must be a {kind.__name__}"):
        bnn.AnchoredEnsemble(noise=0.1, **{name: 3}).fit(X, Y)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        model.set_params(**{f"{name}__colour": 1})


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


def test_a_clone_shares_no_group():
    model = bnn.VanillaEnsemble(network=bnn.Architecture((5,)), training=bnn.TrainingSettings(3))
    copied = clone(model)
    assert copied.network == model.network
    copied.set_params(network__hidden=(7, 7), training__epochs=4)
    assert model.network.hidden == (5,)
    assert model.training.epochs == 3


def test_arrays_in_groups_are_copies():
    bounds = np.array([[0.0, 1.0]])
    scaling = bnn.Scaling(inputs=bounds)
    bounds[...] = 7.0
    np.testing.assert_array_equal(clone(scaling).inputs, [[0.0, 1.0]])


def test_a_grid_search_varies_entries():
    model = bnn.VanillaEnsemble(
        n_members=2, noise=0.1, network=bnn.Architecture((4,)), random_state=0
    )
    grid = {"training__epochs": [1, 200], "network__activation": ["tanh"]}
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(model, grid, cv=folds).fit(X, Y)
    assert search.best_params_ == {"training__epochs": 200, "network__activation": "tanh"}
