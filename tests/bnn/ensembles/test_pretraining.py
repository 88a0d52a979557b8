"""When networks are pre-trained again, at which points, and what is left of older ones."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bnn
from bnn import AnchoredEnsemble, FunctionAnchoredEnsemble, GaussianProcessPrior, SamplerPrior
from bnn.priors.samplers import truncated_normal_hypercube
from tests.bnn.small import small as small_of

pytestmark = pytest.mark.usefixtures("one_family")
X = np.linspace(0.0, 1.0, 9)[:, None]
Y = np.sin(3.0 * X[:, 0])


small = partial(small_of, AnchoredEnsemble)
small_functions = partial(small_of, FunctionAnchoredEnsemble)


def test_pretrained_networks_are_handed_over_between_estimators():
    """The networks stay as they are, data must fit them, and a prior far from the data is said."""
    networks = small().pretrain(X).pretrained_
    weights = networks.weights.copy()
    for ensemble in (clone(small(networks)), small_functions(networks)):
        ensemble.fit(X, Y)
        np.testing.assert_array_equal(ensemble.members_.anchors, weights[:3])
        np.testing.assert_array_equal(ensemble.pretrained_.weights, weights)
    pretrained = small().pretrain(X).fit(X, Y)
    np.testing.assert_array_equal(small(networks).fit(X, Y).predict(X), pretrained.predict(X))
    two = np.column_stack([X, X])
    with pytest.raises(ValueError, match="the data have 2 inputs and 1 outputs, the prior has 1"):
        small(networks).fit(two, Y)
    with pytest.raises(ValueError, match="X has "):
        pretrained.sample_prior(two)
    with pytest.warns(bnn.PriorRangeWarning, match="100% of the data lie outside .* give scaling"):
        small(scaling__inputs=None).fit(3.0 + X, Y)


@pytest.mark.parametrize("make", [small, small_functions])
@pytest.mark.parametrize("bounds", [(50.0, 200.0), "data"])
def test_a_prior_is_asked_within_the_input_bounds(make, bounds):
    """For a model that takes moduli from 50 to 200 GPa only."""

    def bounded(inputs, rng):
        if inputs.min() < 50.0 or inputs.max() > 200.0:
            raise ValueError(f"E = {inputs.min()} to {inputs.max()} GPa")
        return rng.uniform(0.5, 1.5) * inputs[:, 0]

    moduli = np.linspace(50.0, 200.0, 9)[:, None]
    ensemble = make(SamplerPrior(bounded), scaling__inputs=bounds, random_state=1)
    ensemble.set_params(pretraining__n_points=300).fit(moduli, 1.1 * moduli[:, 0])
    reached = ensemble.pretrained_.inputs
    assert reached.min() < 52.0
    assert reached.max() > 198.0
    with pytest.raises(ValueError, match="E = -"):
        ensemble.set_params(pretraining__range_factor=2.0).fit(moduli, 1.1 * moduli[:, 0])


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
    two = bnn.train_anchored(networks.select([2, 3]), *data, noise=0.1, random_state=0)
    assert len(two.initial_weights) == 2
    with pytest.raises(ValueError, match="prior points that all networks share"):
        bnn.train_function_anchored(networks, *data, noise=0.1)


@pytest.mark.parametrize("train", [bnn.train_anchored, bnn.train_function_anchored])
def test_more_members_than_networks_are_refused(train):
    networks = small(scaling__inputs=None).pretrain(n_features=1).pretrained_
    n = len(networks.weights)
    with pytest.raises(ValueError, match=f"n_members = {n + 1}: must be <= .* = {n}$"):
        train(networks, X, Y, noise=0.1, n_members=n + 1)


def test_a_density_anchors_and_starts_of_ones_own():
    """Given to `train_anchored` they act as those that it takes itself."""
    networks = small(scaling__inputs=None).pretrain(n_features=1).pretrained_
    custom = bnn.Anchoring(networks.weight_prior("factorised"), networks.weights, networks.weights)
    options = {"noise": 0.1, "random_state": 2, "training": bnn.TrainingSettings(epochs=20)}
    custom_fit, learnt = (
        bnn.train_anchored(networks, X, Y, anchoring=anchoring, **options)
        for anchoring in (custom, bnn.Anchoring("factorised"))
    )
    np.testing.assert_array_equal(custom_fit.weights, learnt.weights)
    with pytest.raises(ValueError, match="must be a proper Gaussian"):
        bnn.Anchoring(networks.weight_prior("low_rank"), optimiser="gauss_newton")


@pytest.mark.parametrize(
    ("make", "informed"),
    [(bnn.VanillaEnsemble, False), (AnchoredEnsemble, True), (FunctionAnchoredEnsemble, False)],
)
def test_units_change_nothing(make, informed):
    """A problem in Pa and kelvin is the one in units of its own size, for default bounds."""

    def predicted(scale, shift):
        def prior(inputs, rng):
            return scale * rng.standard_normal() * (inputs[:, 0] - shift) / 50.0

        arguments = [SamplerPrior(prior)] if informed and make is not bnn.VanillaEnsemble else []
        longer = {} if make is FunctionAnchoredEnsemble else {"training__epochs": 40}
        model = small_of(make, *arguments, noise=0.1 * scale, network__hidden=(8,), **longer)
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


def test_networks_that_were_pretrained_by_hand_serve_all_data(tmp_path):
    """Their bounds are the ranges of the points and of the realisations there."""
    points = np.linspace(-1.0, 3.0, 12)[:, None]
    ensemble = small(SamplerPrior(lambda inputs, rng: rng.normal() + inputs[:, 0])).pretrain(points)
    networks = ensemble.pretrained_
    assert (networks.input_scaler.low, networks.input_scaler.high) == (-1.0, 3.0)
    highest = networks.targets.max()
    assert networks.output_scaler.high == highest
    ensemble.save(tmp_path / "a.npz")
    for model in (ensemble, bnn.load(tmp_path / "a.npz")):
        for outputs in (Y, 2.0 * Y):
            model.fit(X, outputs)
            np.testing.assert_array_equal(model.pretrained_.weights, networks.weights)
            assert model.members_.input_scaler.high == 3.0
    ensemble.set_params(pretraining__training__learning_rate=2e-3).fit(X, Y)
    np.testing.assert_array_equal(ensemble.pretrained_.inputs, points)
    assert ensemble.pretrained_.output_scaler.high == highest
