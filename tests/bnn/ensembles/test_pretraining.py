"""When networks are pre-trained again, at which points, and what is left of older ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

import bnn
from bnn import AnchoredEnsemble, FunctionAnchoredEnsemble, GaussianProcessPrior, SamplerPrior
from bnn.priors.samplers import truncated_normal_hypercube
from tests.bnn.small import small as small_of

X = np.linspace(0.0, 1.0, 9)[:, None]
Y = np.sin(3.0 * X[:, 0])


def small(*prior, **changes):
    return small_of(AnchoredEnsemble, *prior, **changes)


def small_functions(*prior, **changes):
    return small_of(FunctionAnchoredEnsemble, *prior, **changes)


def never(*_):
    raise AssertionError("work has begun")


def test_given_points_hold_for_pretraining_again():
    """A prior that is defined on [0, 1] only is asked nowhere else, whatever became of an array."""

    def defined_between_0_and_1(inputs, rng):
        assert inputs.min() >= 0.0
        return rng.standard_normal() * np.sqrt(inputs[:, 0])

    points = X.copy()
    ensemble = small(SamplerPrior(defined_between_0_and_1)).pretrain(points)
    points[...] = 7.0
    ensemble.set_params(pretraining__training__learning_rate=2e-3).fit(X, Y)
    np.testing.assert_array_equal(ensemble.pretrained_.inputs, X)


def test_another_table_brings_its_own_points():
    values = np.random.default_rng(0).standard_normal((5, 9))
    ensemble = small(bnn.TablePrior(X, values)).fit(X, Y)
    ensemble.set_params(prior=bnn.TablePrior(2.0 * X, values)).fit(X, Y)
    np.testing.assert_array_equal(ensemble.pretrained_.inputs, 2.0 * X)


@pytest.mark.parametrize("in_function_space", [False, True])
def test_pretraining_forgets_the_members(in_function_space, tmp_path):
    """Networks in other units must not be read with the new scalers."""
    ensemble = (small_functions() if in_function_space else small()).fit(X, Y)
    ensemble.set_params(scaling__outputs=(-10.0, 10.0), network__hidden=(5,)).pretrain(X)
    with pytest.raises(NotFittedError):
        ensemble.predict(X)
    ensemble.save(tmp_path / "a.npz")
    np.testing.assert_array_equal(
        bnn.load(tmp_path / "a.npz").sample_prior(X), ensemble.sample_prior(X)
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


def test_too_few_networks_for_a_weight_prior_are_refused_before_any_work():
    few = {"pretraining__n_networks": 2, "n_members": 2}
    ensemble = small(SamplerPrior(never), anchoring__regulariser="probabilistic_pca", **few)
    with pytest.raises(ValueError, match=r"pretraining.n_networks = 2: .* needs 3"):
        ensemble.fit(X, Y)


def test_pretrained_networks_are_handed_over_between_estimators():
    """Also through clones; the networks are left alone, and data must fit them."""
    networks = small().pretrain(X).pretrained_
    weights = networks.weights.copy()
    for ensemble in (small(networks), clone(small(networks)), small_functions(networks)):
        ensemble.fit(X, Y)
        np.testing.assert_array_equal(ensemble.members_.anchors, weights[:3])
        np.testing.assert_array_equal(ensemble.pretrained_.weights, weights)
        assert ensemble.pretrained_.prior == networks.prior
    own = small().pretrain(X).fit(X, Y)
    np.testing.assert_array_equal(small(networks).fit(X, Y).predict(X), own.predict(X))
    with pytest.raises(ValueError, match="the data have 2 inputs and 1 outputs, the prior has 1"):
        small(networks).fit(np.column_stack([X, X]), Y)


def test_data_far_from_the_prior_are_pointed_out():
    with pytest.warns(bnn.PriorRangeWarning, match="100% of the data lie outside .* give scaling"):
        small(scaling__inputs=None).fit(3.0 + X, Y)


def test_priors_of_others_get_a_number_as_seed():
    """What scikit-learn, NumPy's old and new generators all take."""

    class Foreign:
        def sample(self, inputs, n_samples, random_state):
            noise = check_random_state(random_state).standard_normal((n_samples, 1))
            return noise * inputs[:, 0]

    first, second = (small(Foreign()).fit(X, Y).pretrained_.targets for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_each_network_may_have_points_of_its_own():
    """With points (K, M, n_in), network k follows its realisation at its own points."""
    X = np.stack([truncated_normal_hypercube(60, 1, seed) for seed in range(4)])
    prior = bnn.GaussianProcessPrior(bnn.LinearMean([3.0]), bnn.RBF(0.01, 1.0))
    settings = bnn.Pretraining(4, training=bnn.TrainingSettings(epochs=200))
    networks = bnn.pretrain(prior, X, settings=settings, random_state=0)
    assert networks.inputs.shape == (4, 60, 1)
    slopes = np.sum(networks.targets * X, axis=1) / np.sum(X**2, axis=1)
    np.testing.assert_allclose(slopes, 3.0, atol=0.3)
    fitted = np.stack([networks.select([k]).sample(X[k])[0] for k in range(4)])
    assert np.sqrt(np.mean((fitted - networks.targets) ** 2)) < 0.1
    data = np.array([[0.5], [1.0]]), np.array([1.5, 3.0])
    assert (
        bnn.train_anchored(networks.select([2, 3]), *data, noise=0.1, random_state=0).start.shape[0]
        == 2
    )
    with pytest.raises(ValueError, match="prior points that all networks share"):
        bnn.train_function_anchored(networks, *data, noise=0.1)
    with pytest.raises(ValueError, match=r"X has shape \(4, 60, 1\): must be .* or \(5, M >= 2"):
        bnn.pretrain(prior, X, settings=bnn.Pretraining(5))


def test_a_density_anchors_and_starts_of_ones_own():
    """Given to `train_anchored` they act as those that it takes itself."""
    brief = bnn.TrainingSettings(epochs=20)
    networks = small(scaling__inputs=None).pretrain(n_features=1).pretrained_
    own = bnn.Anchoring(networks.weight_prior("factorised"), networks.weights, networks.weights)
    other = bnn.Anchoring(networks.weight_prior("isotropic"))
    options = {"noise": 0.1, "random_state": 2, "training": brief}
    given, learnt, weaker = (
        bnn.train_anchored(networks, X, Y, anchoring=each, **options)
        for each in (own, bnn.Anchoring("factorised"), other)
    )
    np.testing.assert_array_equal(given.weights, learnt.weights)
    assert np.abs(weaker.weights - learnt.weights).max() > 1e-4
    low_rank = networks.weight_prior("low_rank")
    with pytest.raises(ValueError, match="needs a proper Gaussian"):
        bnn.Anchoring(low_rank, optimiser="gauss_newton")


def test_the_prior_is_sampled_at_inputs_of_its_own_kind():
    """One column would be taken for all inputs, and columns in another order for each other."""
    rng = np.random.default_rng(0)
    inputs = pd.DataFrame(rng.uniform(-1.0, 1.0, (12, 2)), columns=["a", "b"])
    ensemble = small(scaling__inputs=None).pretrain(n_features=2)
    for wrong in (X, np.zeros((5, 3)), np.zeros(2)):
        with pytest.raises(ValueError, match="X has shape"):
            ensemble.sample_prior(wrong)
    ensemble.fit(inputs, rng.standard_normal(12))
    with pytest.raises(ValueError, match="feature names"):
        ensemble.sample_prior(inputs[["b", "a"]])


def bounded(inputs, rng):
    """A model that takes moduli from 50 to 200 GPa only."""
    if inputs.min() < 50.0 or inputs.max() > 200.0:
        raise ValueError(f"E = {inputs.min()} to {inputs.max()} GPa")
    return rng.uniform(0.5, 1.5) * inputs[:, 0]


@pytest.mark.parametrize("make", [small, small_functions])
@pytest.mark.parametrize("bounds", [(50.0, 200.0), "data"])
def test_a_prior_is_asked_within_the_input_bounds(make, bounds):
    moduli = np.linspace(50.0, 200.0, 9)[:, None]
    ensemble = make(SamplerPrior(bounded), scaling__inputs=bounds, random_state=1)
    ensemble.set_params(pretraining__n_points=300).fit(moduli, 1.1 * moduli[:, 0])
    reached = ensemble.pretrained_.inputs
    assert reached.min() < 52.0
    assert reached.max() > 198.0
    with pytest.raises(ValueError, match="E = -"):
        ensemble.set_params(pretraining__range_factor=2.0).fit(moduli, 1.1 * moduli[:, 0])


@pytest.mark.parametrize("informed", [True, False])
@pytest.mark.parametrize("make", [bnn.VanillaEnsemble, AnchoredEnsemble, FunctionAnchoredEnsemble])
def test_units_change_nothing(make, informed):
    """A problem in Pa and kelvin is the one in units of its own size, for default bounds."""

    def predicted(scale, shift):
        def prior(inputs, rng):
            return scale * rng.standard_normal() * (inputs[:, 0] - shift) / 50.0

        given = [SamplerPrior(prior)] if informed and make is not bnn.VanillaEnsemble else []
        longer = {} if make is FunctionAnchoredEnsemble else {"training__epochs": 40}
        model = small_of(make, *given, noise=0.1 * scale, network__hidden=(8,), **longer)
        model.fit(shift + 50.0 * X, scale * Y)
        return model.predict(shift + 50.0 * X) / scale

    np.testing.assert_allclose(predicted(2.0**30, 300.0), predicted(1.0, 0.0), atol=1e-3)


def test_pretraining_is_used_again_where_it_is_that_of_a_first_fit():
    """Data of the same range keep it, others get the networks of an estimator without a past."""
    prior = GaussianProcessPrior()
    ensemble = small(prior, noise=0.05).fit(X, Y)
    weights = ensemble.pretrained_.weights
    inner = np.where(np.isin(Y, [Y.min(), Y.max()]), Y, 0.9 * Y)
    assert ensemble.set_params(n_members=2).fit(X, inner).pretrained_.weights is weights
    for inputs, outputs in ((1e3 * X, Y), (X, 5.0 + 1e3 * Y)):
        again = ensemble.set_params(n_members=3).fit(inputs, outputs).predict(inputs)
        first = small(prior, noise=0.05).fit(inputs, outputs).predict(inputs)
        np.testing.assert_array_equal(again, first)


def test_a_prior_by_evidence_is_that_of_the_data():
    """Equal data keep the networks; other data have another prior, whatever their ranges are."""
    ensemble = small(noise=0.05).fit(X, Y)
    networks = ensemble.pretrained_
    assert ensemble.fit(X.copy(), Y.copy()).pretrained_ is networks
    assert isinstance(ensemble.prior_, bnn.MixturePrior)
    inner = np.where(np.isin(Y, [Y.min(), Y.max()]), Y, 0.9 * Y)
    assert ensemble.fit(X, inner).pretrained_ is not networks
    np.testing.assert_array_equal(ensemble.noise_, [[0.05**2]])


def test_networks_that_were_pretrained_by_hand_serve_all_data(tmp_path):
    """Their bounds are the ranges of the points and of the realisations there."""
    points = np.linspace(-1.0, 3.0, 12)[:, None]
    ensemble = small(SamplerPrior(lambda inputs, rng: rng.normal() + inputs[:, 0])).pretrain(points)
    networks = ensemble.pretrained_
    assert (networks.input_scaler.low, networks.input_scaler.high) == (-1.0, 3.0)
    targets = networks.targets
    assert (networks.output_scaler.low, networks.output_scaler.high) == (
        targets.min(),
        targets.max(),
    )
    ensemble.save(tmp_path / "a.npz")
    for model in (ensemble, bnn.load(tmp_path / "a.npz")):
        for outputs in (Y, 2.0 * Y):
            model.fit(X, outputs)
            np.testing.assert_array_equal(model.pretrained_.weights, networks.weights)
            assert model.members_.input_scaler.high == 3.0
    ensemble.set_params(pretraining__training__learning_rate=2e-3).fit(X, Y)
    np.testing.assert_array_equal(ensemble.pretrained_.inputs, points)
    assert ensemble.pretrained_.output_scaler.high == targets.max()


def test_two_data_lie_within_bounds_that_are_theirs():
    """The prior's points come near the bounds and do not reach them, which is no reason to warn."""
    small().fit([[2.0], [30.0]], [0.0, 1.0])
