"""When networks are pre-trained again, at which points, and what is left of older ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from bnn import (
    RBF,
    AnchoredEnsemble,
    FunctionAnchoredEnsemble,
    GaussianProcessPrior,
    PriorRangeWarning,
    SamplerPrior,
    TablePrior,
    load,
)

X = np.linspace(0.0, 1.0, 9)[:, None]
Y = np.sin(3.0 * X[:, 0])
SMALL = {
    "hidden": (4,),
    "n_pretrained": 4,
    "n_members": 3,
    "prior_points": 8,
    "pretrain_epochs": 2,
    "epochs": 2,
    "random_state": 0,
}


def small(prior=None, **changes):
    return AnchoredEnsemble(prior, **{**SMALL, **changes})


def small_functions(prior=None, **changes):
    settings = {name: value for name, value in SMALL.items() if name != "epochs"}
    loose = {"points": 5, "tolerance": 100.0}
    return FunctionAnchoredEnsemble(prior, **{**settings, **loose, **changes})


def never(*_):
    raise AssertionError("work has begun")


def test_given_points_hold_for_pretraining_again():
    """A prior that is defined on [0, 1] only is asked nowhere else."""

    def defined_between_0_and_1(inputs, rng):
        assert inputs.min() >= 0.0
        return rng.standard_normal() * np.sqrt(inputs[:, 0])

    ensemble = small(SamplerPrior(defined_between_0_and_1)).pretrain(X)
    ensemble.set_params(learning_rate=2e-3).fit(X, Y)
    np.testing.assert_array_equal(ensemble.pretrained_.inputs, X)


def test_another_table_brings_its_own_points():
    values = np.random.default_rng(0).standard_normal((5, 9))
    ensemble = small(TablePrior(X, values)).fit(X, Y)
    ensemble.set_params(prior=TablePrior(2.0 * X, values)).fit(X, Y)
    np.testing.assert_array_equal(ensemble.pretrained_.inputs, 2.0 * X)


@pytest.mark.parametrize("in_function_space", [False, True])
def test_pretraining_forgets_the_members(in_function_space, tmp_path):
    """Networks in other units must not be read with the new scalers."""
    ensemble = (small_functions() if in_function_space else small()).fit(X, Y)
    ensemble.set_params(output_bounds=(-10.0, 10.0), hidden=(5,)).pretrain(n_features=1)
    with pytest.raises(NotFittedError):
        ensemble.predict(X)
    ensemble.save(tmp_path / "a.npz")
    np.testing.assert_array_equal(
        load(tmp_path / "a.npz").sample_prior(X), ensemble.sample_prior(X)
    )


@pytest.mark.parametrize("kind", [np.random.SeedSequence, np.random.default_rng])
def test_another_seed_of_any_kind_pretrains_again(kind):
    ensemble = small(random_state=kind(1)).fit(X, Y)
    first = ensemble.pretrained_.weights
    assert ensemble.fit(X, Y).pretrained_.weights is first or kind is np.random.default_rng
    assert not np.array_equal(
        ensemble.set_params(random_state=kind(2)).fit(X, Y).pretrained_.weights, first
    )


def test_the_default_prior_takes_the_shape_of_the_data():
    ensemble = small().fit(X, Y)
    assert ensemble.fit(X, np.column_stack([Y, Y])).predict(X).shape == (9, 2)
    assert ensemble.fit(np.column_stack([X, X]), Y).n_features_in_ == 2
    ensemble.set_params(prior=GaussianProcessPrior()).fit(X, Y)
    with pytest.raises(ValueError, match="2 outputs, the prior has 1 and 1"):
        ensemble.fit(X, np.column_stack([Y, Y]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"anchors": "sampled", "regulariser": "none"}, "anchors = 'sampled': needs a regulariser"),
        (
            {"regulariser": "probabilistic_pca", "n_pretrained": 2, "n_members": 2},
            "n_pretrained = 2: regulariser = 'probabilistic_pca' needs 3",
        ),
    ],
)
def test_combinations_are_refused_before_any_work(parameters, message):
    with pytest.raises(ValueError, match=message):
        small(SamplerPrior(never), **parameters).fit(X, Y)


def test_pretrained_networks_are_handed_over_between_estimators():
    """Also through clones; the networks are left alone, and data must fit them."""
    networks = small().pretrain(X).pretrained_
    weights = networks.weights.copy()
    for ensemble in (small(networks), clone(small(networks)), small_functions(networks)):
        ensemble.fit(X, Y)
        np.testing.assert_array_equal(ensemble.pretrained_.weights, weights)
        assert ensemble.pretrained_.prior == networks.prior
    own = small().pretrain(X).fit(X, Y)
    np.testing.assert_array_equal(small(networks).fit(X, Y).predict(X), own.predict(X))
    with pytest.raises(ValueError, match="the data have 2 inputs and 1 outputs, the prior has 1"):
        small(networks).fit(np.column_stack([X, X]), Y)


def test_data_far_from_the_prior_are_pointed_out():
    with pytest.warns(PriorRangeWarning, match="100% of the data lie outside .* give input_bounds"):
        small().fit(50.0 + X, Y)


def test_a_nugget_beyond_the_prior_is_refused():
    """Everything would count as close."""
    prior = GaussianProcessPrior(0.0, RBF(1e-6))
    ensemble = small_functions(prior, nugget=0.01, noise=1e-4)
    with pytest.raises(ValueError, match=r"nugget = 0.01: .* 0.001 for output 0 .* output_bounds"):
        ensemble.fit(X, 1e-3 * Y)


def test_priors_of_others_get_a_number_as_seed():
    """What scikit-learn, NumPy's old and new generators all take."""

    class Foreign:
        def sample(self, inputs, n_samples, random_state):
            noise = check_random_state(random_state).standard_normal((n_samples, 1))
            return noise * inputs[:, 0]

    first, second = (small(Foreign()).fit(X, Y).pretrained_.targets for _ in range(2))
    np.testing.assert_array_equal(first, second)
