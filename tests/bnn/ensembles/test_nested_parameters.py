"""Groups of settings are nested parameters of scikit-learn, checked whenever they change."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import bnn
from tests.bnn.small import small

X = np.linspace(-1.0, 1.0, 10)[:, None]
Y = np.sin(3.0 * X[:, 0])
TAKERS = [
    bnn.GPRegressor,
    bnn.VanillaEnsemble,
    bnn.AnchoredEnsemble,
    bnn.FunctionAnchoredEnsemble,
    bnn.PCARegressor,
    bnn.pretrain,
    bnn.train_anchored,
    bnn.train_function_anchored,
    bnn.train_vanilla,
]
GROUPS = {
    "network": (bnn.Architecture, {"hidden": (0,)}, r"hidden\[0\] = 0: must be an integer >= 1"),
    "pretraining": (bnn.Pretraining, {"n_networks": 1}, "n_networks = 1: must be an integer >= 2"),
    "training": (bnn.TrainingSettings, {"epochs": 0}, "epochs = 0: must be an integer >= 1"),
    "anchoring": (bnn.Anchoring, {"optimiser": "sgd"}, "optimiser = 'sgd': must be one of adam, "),
    "scaling": (bnn.Scaling, {"inputs": "range"}, "inputs = 'range': must be one of data"),
}
REFUSED = [
    (bnn.Architecture, {"hidden": 5, "activation": "swish", "init": "zeros"}),
    (bnn.Pretraining, {"n_points": 1, "range_factor": 0.0, "perturbation": -0.1, "training": 3}),
    (bnn.TrainingSettings, {"epochs": 2.5, "batch_size": 0, "members_at_once": -1}),
    (bnn.TrainingSettings, {"learning_rate": 0.0, "epsilon": np.nan, "beta1": 1.0, "beta2": -0.1}),
    (bnn.TrainingSettings, {"bias_correction": "all", "convergence": 3, "progress": "a"}),
    (bnn.Convergence, {"residual_variance": 1.0, "improvement": -0.1, "window": 0}),
    (bnn.Anchoring, {"regulariser": "ridge", "anchors": "none", "start": "data"}),
    (bnn.Anchoring, {"resampling": "jackknife"}),
    (bnn.FunctionAnchoring, {"n_points": 0, "max_iter": 2.5, "n_realisations": 1, "nugget": 0.0}),
    (bnn.FunctionAnchoring, {"tol": np.inf}),
]


@pytest.mark.parametrize("taker", TAKERS)
def test_there_are_at_most_ten_parameters(taker):
    assert len(inspect.signature(taker).parameters) <= 10


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(kind, *entry) for kind, entries in REFUSED for entry in entries.items()],
)
def test_a_wrong_setting_is_refused_with_its_value(kind, name, value):
    with pytest.raises(ValueError, match=re.escape(f"{name} = {value!r}: must be")):
        kind(**{name: value})


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
