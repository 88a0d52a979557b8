"""Ensembles: exact where theory is exact, and honest where something goes wrong."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bnn
from bnn import AnchoredEnsemble, SamplerPrior, Scaling, TrainingSettings, VanillaEnsemble
from bnn.ensembles.anchoring import REGULARISERS
from bnn.noise import resample
from tests.bnn.closed_forms import assert_covariance, assert_moments, linear_gaussian
from tests.bnn.small import small

X_TEST = np.array([[-1.5], [-0.5], [0.2], [1.0]])
DESIGN = np.column_stack([X_TEST, np.ones(4)])


@pytest.mark.parametrize(
    ("n_members", "anchors"), [(50, "pretrained"), (800, "pretrained"), (800, "sampled")]
)
def test_linear_networks_draw_from_the_closed_form_posterior(n_members, anchors):
    """One layer, w ~ N((1, 0.5), [[0.5, 0.2], [0.2, 0.3]]): four-sigma bands shrink as K^-1/2."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6, 1))
    y = 2.0 * X[:, 0] + 0.3 * rng.standard_normal(6)
    root = np.linalg.cholesky([[0.5, 0.2], [0.2, 0.3]])

    def line(X, rng):
        slope, intercept = [1.0, 0.5] + root @ rng.standard_normal(2)
        return slope * X[:, 0] + intercept

    training = TrainingSettings(batch_size=None, learning_rate=0.02, epochs=1200)
    ensemble = AnchoredEnsemble(
        SamplerPrior(line),
        noise=0.3,
        n_members=n_members,
        network=bnn.Architecture(()),
        pretraining=bnn.Pretraining(n_members, 16, 2.0, perturbation=0.0, training=training),
        training=training,
        anchoring=bnn.Anchoring(anchors=anchors, resampling="likelihood"),
        scaling=Scaling(None, None),
        random_state=1,
    ).fit(X, y)
    prior = ensemble.pretrained_.weight_prior("low_rank")
    design = np.column_stack([X, np.ones(6)])
    mean, covariance = linear_gaussian(design, y, 0.3, prior.mean, prior.covariance())
    samples = ensemble.sample(X_TEST)[:, :, 0]
    assert_moments(samples, DESIGN @ mean, DESIGN @ covariance @ DESIGN.T, errors=4.0)
    # The learnt prior itself is within its sampling error of the true one.
    error = 4 * np.sqrt(np.diag([0.5, 0.3]).sum() / n_members)
    assert np.abs(prior.mean - [1.0, 0.5]).max() < error
    moved = np.abs(ensemble.members_.anchors - ensemble.pretrained_.weights).max()
    assert moved > 0.1 if anchors == "sampled" else moved == 0.0


def test_predictive_moments_follow_from_the_samples_and_the_noise():
    """With 1 / (K-1), and noise that is correlated between two outputs."""
    X = np.linspace(-1.0, 1.0, 12)[:, None]
    noise = np.array([[0.04, 0.01], [0.01, 0.09]])
    ensemble = small(VanillaEnsemble, noise=noise).fit(X, np.column_stack([X, -X]))
    samples = ensemble.sample(X)
    mean, epistemic = ensemble.predict(X, return_cov=True)
    np.testing.assert_allclose(mean, samples.mean(axis=0))
    np.testing.assert_allclose(epistemic[3], np.cov(samples[:, 3].T), atol=1e-12)
    _, total = ensemble.predict(X, return_cov=True, include_noise=True)
    np.testing.assert_allclose(total - epistemic, np.broadcast_to(noise, (12, 2, 2)), atol=1e-12)
    for include_noise, covariance in ((False, epistemic), (True, total)):
        _, std = ensemble.predict(X, return_std=True, include_noise=include_noise)
        np.testing.assert_allclose(std**2, np.diagonal(covariance, axis1=1, axis2=2))
    with pytest.raises(ValueError, match="return_std and return_cov"):
        ensemble.predict(X, return_std=True, return_cov=True)


@pytest.mark.parametrize("regulariser", REGULARISERS)
def test_every_regulariser_trains(regulariser, small_anchored, line_data):
    """Data are fitted, and the reported penalty is the prior's own."""
    X, y = line_data
    ensemble = small_anchored.set_params(anchoring__regulariser=regulariser).fit(X, y)
    assert np.sqrt(np.mean((ensemble.predict(X) - y) ** 2)) < 0.3
    penalty = ensemble.members_.penalties
    assert penalty.shape == (8,)
    assert np.all(penalty > 0) or regulariser == "none"


def test_the_seed_decides_everything(line_data):
    """Equal seeds give equal networks, other seeds others; members do not depend on K."""

    def weights(n_members, seed):
        changes = {"n_members": n_members, "random_state": seed, "training__epochs": 20}
        return small(VanillaEnsemble, **changes).fit(*line_data).members_.weights

    first = weights(4, 3)
    np.testing.assert_array_equal(first, weights(4, 3))
    np.testing.assert_allclose(first, weights(20, 3)[:4], atol=1e-5)
    assert np.abs(first - weights(4, 4)).max() > 0.1


def test_bootstrap_repeats_pairs_and_likelihood_adds_noise():
    X = np.arange(40.0)[:, None]
    y = np.column_stack([X[:, 0], 2 * X[:, 0]])
    noise = np.array([[0.04, 0.03], [0.03, 0.09]])
    generators = [np.random.default_rng(k) for k in range(300)]
    inputs, targets = resample(X, y, "bootstrap", noise, generators)
    np.testing.assert_array_equal(targets, inputs * [1.0, 2.0])
    unique = np.mean([len(np.unique(rows)) for rows in inputs]) / 40
    assert unique == pytest.approx(1 - (1 - 1 / 40) ** 40, abs=0.02)
    inputs, targets = resample(X, y, "likelihood", noise, generators)
    assert inputs.shape == (40, 1)
    assert_covariance((targets - y).reshape(-1, 2), noise)


def test_diverged_members_are_left_out(line_data):
    """One prior realisation of 1e30 makes its member infinite: named, and in no average."""

    def sometimes_huge(X, rng):
        return X[:, 0] * (1e30 if rng.uniform() < 0.15 else 1.0)

    ten = {"n_members": 10, "pretraining__n_networks": 10, "pretraining__n_points": 32}
    ensemble = small(AnchoredEnsemble, SamplerPrior(sometimes_huge), **ten)
    with pytest.warns(bnn.DivergenceWarning, match=r"pre-training: members [\d, ]+ of 10 diverged"):
        ensemble.fit(*line_data)
    left = len(ensemble.pretrained_.numbers)
    assert 1 < left < 10
    assert len(ensemble.pretrained_.weights) == len(ensemble.members_.weights) == left
    assert np.isfinite(ensemble.sample(line_data[0])).all()
    assert ensemble.pretrained_.losses.shape[1] == 10
    hopeless = small(VanillaEnsemble, training__learning_rate=1e30)
    with pytest.raises(bnn.DivergenceError, match="training: members 0, 1, 2 of 3 diverged"):
        hopeless.fit(*line_data)


def test_what_needs_networks_or_inputs_says_so():
    for wrong in (AnchoredEnsemble().sample_prior, VanillaEnsemble().predict):
        with pytest.raises(NotFittedError):
            wrong(X_TEST)
    with pytest.raises(ValueError, match="n_features = None: must be given"):
        AnchoredEnsemble().pretrain()
    with pytest.raises(ValueError, match="inputs = 'data' needs data"):
        AnchoredEnsemble().pretrain(n_features=1)


def test_a_wrong_setting_is_refused_where_it_is_set():
    """Groups stay as they were then, and the default of other estimators always."""
    model = AnchoredEnsemble().set_params(training__batch_size=None, network__init="he")
    before = model.get_params()
    with pytest.raises(ValueError, match="epochs = 0: must be an integer >= 1"):
        model.set_params(training__epochs=0)
    assert model.get_params() == before
    assert AnchoredEnsemble().get_params()["training__batch_size"] == 32
    with pytest.raises(ValueError, match="network = 3: must be a Architecture"):
        AnchoredEnsemble(noise=0.1, network=3).fit(X_TEST, X_TEST[:, 0])
