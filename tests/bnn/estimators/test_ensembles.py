"""Ensembles: exact where theory is exact, and honest where something goes wrong."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bnn import (
    RBF,
    AnchoredEnsemble,
    Anchoring,
    Architecture,
    Convergence,
    DivergenceError,
    DivergenceWarning,
    GaussianProcessPrior,
    Pretraining,
    SamplerPrior,
    Scaling,
    TrainingSettings,
    VanillaEnsemble,
    train_vanilla,
)
from bnn.estimators.anchoring import REGULARISERS
from bnn.estimators.members import data_gradient
from bnn.noise import noise_covariance, resample
from tests.bnn.closed_forms import LinearGaussianPosterior

X_TEST = np.array([[-1.5], [-0.5], [0.2], [1.0]])
DESIGN = np.column_stack([X_TEST, np.ones(4)])


def linear_ensemble(n_members, seed):
    """A one-layer linear network whose prior is w ~ N((1, 0.5), [[0.5, 0.2], [0.2, 0.3]])."""
    root = np.linalg.cholesky([[0.5, 0.2], [0.2, 0.3]])

    def line(X, rng):
        slope, intercept = [1.0, 0.5] + root @ rng.standard_normal(2)
        return slope * X[:, 0] + intercept

    return AnchoredEnsemble(
        SamplerPrior(line),
        noise=0.3,
        n_members=n_members,
        network=Architecture(()),
        pretraining=Pretraining(
            n_members,
            16,
            range_factor=2.0,
            perturbation=0.0,
            training=TrainingSettings(batch_size=None, learning_rate=0.02, epochs=1200),
        ),
        training=TrainingSettings(epochs=1200, batch_size=None, learning_rate=0.02),
        anchoring=Anchoring(resampling="likelihood"),
        scaling=Scaling(None, None),
        random_state=seed,
    )


@pytest.mark.parametrize("n_members", [50, 800])
def test_linear_gaussian_posterior(n_members):
    """Anchored members are draws from the closed-form posterior: 4-sigma bands shrink as K^-1/2."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6, 1))
    y = 2.0 * X[:, 0] + 0.3 * rng.standard_normal(6)
    ensemble = linear_ensemble(n_members, 1).fit(X, y)
    prior = ensemble.pretrained_.weight_prior("low_rank")
    design = np.column_stack([X, np.ones(6)])
    exact = LinearGaussianPosterior.condition(design, y, 0.3, prior.mean, prior.covariance())
    mean, covariance = exact.predict(DESIGN)

    samples = ensemble.sample(X_TEST)[:, :, 0]
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(samples.mean(axis=0) - mean) < 4 * deviations / np.sqrt(n_members))
    error = np.sqrt((covariance**2 + np.outer(deviations, deviations) ** 2) / n_members)
    assert np.all(np.abs(np.cov(samples.T) - covariance) < 4 * error)
    # The learnt prior itself is within its sampling error of the true one.
    error = 4 * np.sqrt(np.diag([0.5, 0.3]).sum() / n_members)
    assert np.abs(prior.mean - [1.0, 0.5]).max() < error


def test_sampled_anchors_give_the_same_posterior():
    """Anchors drawn from the learnt prior instead of the pre-trained weights: same moments."""
    X = np.array([[-0.5], [0.1], [0.8]])
    n = 800
    y = 2.0 * X[:, 0]
    ensemble = linear_ensemble(n, 4).set_params(anchoring__anchors="sampled").fit(X, y)
    prior = ensemble.pretrained_.weight_prior("low_rank")
    design = np.column_stack([X, np.ones(3)])
    exact = LinearGaussianPosterior.condition(design, y, 0.3, prior.mean, prior.covariance())
    mean, covariance = exact.predict(DESIGN)
    samples = ensemble.sample(X_TEST)[:, :, 0]
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(samples.mean(axis=0) - mean) < 4 * deviations / np.sqrt(n))
    assert np.all(np.abs(samples.std(axis=0) / deviations - 1.0) < 4 / np.sqrt(2 * n))
    assert np.abs(ensemble.members_.anchors - ensemble.pretrained_.weights).max() > 0.1


def test_isotropic_anchoring_has_its_own_closed_form():
    """Mean of the members is the ridge solution about the mean anchor, λ = 1 / σ0²."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6, 1))
    y = 2.0 * X[:, 0]
    ensemble = linear_ensemble(20, 2)
    ensemble.set_params(anchoring__regulariser="isotropic", anchoring__resampling="none")
    ensemble.fit(X, y)
    design = np.column_stack([X, np.ones(6)])
    penalty = np.eye(2) / ensemble.pretrained_.weight_prior("isotropic").variance
    matrix = design.T @ design / 0.09 + penalty
    exact = np.linalg.solve(
        matrix, (design.T @ y / 0.09)[:, None] + penalty @ ensemble.members_.anchors.T
    ).T
    np.testing.assert_allclose(ensemble.members_.weights, exact, atol=2e-3)


def test_predictive_moments(small_anchored, line_data):
    """Mean, epistemic and total covariance follow from the samples, with 1 / (K-1)."""
    ensemble = small_anchored.fit(*line_data)
    samples = ensemble.sample(X_TEST)
    mean, std = ensemble.predict(X_TEST, return_std=True)
    np.testing.assert_allclose(mean, samples[:, :, 0].mean(axis=0))
    np.testing.assert_allclose(std, samples[:, :, 0].std(axis=0, ddof=1))
    _, total = ensemble.predict(X_TEST, return_std=True, total=True)
    np.testing.assert_allclose(total**2, std**2 + 0.1**2)
    _, covariance = ensemble.predict(X_TEST, return_cov=True, total=True)
    np.testing.assert_allclose(covariance[:, 0, 0], total**2)
    with pytest.raises(ValueError, match="return_std and return_cov"):
        ensemble.predict(X_TEST, return_std=True, return_cov=True)


def test_full_noise_covariance_reaches_the_prediction():
    """Total minus epistemic covariance is Σ_noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (12, 1))
    noise = np.array([[0.04, 0.01], [0.01, 0.09]])
    y = np.column_stack([X[:, 0], -X[:, 0]])
    ensemble = VanillaEnsemble(
        n_members=3,
        noise=noise,
        network=Architecture((5,)),
        training=TrainingSettings(epochs=20),
        random_state=0,
    )
    ensemble.fit(X, y)
    _, epistemic = ensemble.predict(X, return_cov=True)
    _, total = ensemble.predict(X, return_cov=True, total=True)
    np.testing.assert_allclose(total - epistemic, np.broadcast_to(noise, (12, 2, 2)), atol=1e-12)
    assert ensemble.predict(X).shape == (12, 2)


def test_prior_is_kept_away_from_data(small_anchored, line_data):
    """Pre-training reproduces the prior; data shrink the uncertainty where they are."""
    ensemble = small_anchored.fit(*line_data)
    before = ensemble.sample_prior(X_TEST)[:, :, 0].std(axis=0, ddof=1)
    after = ensemble.predict(X_TEST, return_std=True)[1]
    assert after[1] < 0.3 * before[1]
    assert after[2] < 0.3 * before[2]
    residual = ensemble.sample_prior(ensemble.pretrained_.inputs) - ensemble.pretrained_.targets
    assert np.sqrt(np.mean(residual**2)) < 0.25 * ensemble.pretrained_.targets.std()
    assert ensemble.pretrained_.losses[-1].mean() < 0.1 * ensemble.pretrained_.losses[0].mean()


@pytest.mark.parametrize("regulariser", REGULARISERS)
def test_every_regulariser_trains(regulariser, small_anchored, line_data):
    """Data are fitted, and the reported penalty is the prior's own."""
    X, y = line_data
    ensemble = small_anchored.set_params(anchoring__regulariser=regulariser).fit(X, y)
    small_anchored.set_params(anchoring__regulariser="low_rank")
    assert np.sqrt(np.mean((ensemble.predict(X) - y) ** 2)) < 0.3
    penalty = ensemble.penalty()
    assert penalty.shape == (8,)
    assert np.all(penalty > 0) or regulariser == "none"


def test_one_pretraining_serves_many_fits(small_anchored, line_data):
    """Fitting again leaves the pre-trained networks alone; other prior settings do not."""
    X, y = line_data
    weights = small_anchored.pretrained_.weights
    first = small_anchored.fit(X, y).predict(X)
    second = small_anchored.fit(X, -y).predict(X)
    assert small_anchored.pretrained_.weights is weights
    assert np.abs(first - second).max() > 0.5
    small_anchored.set_params(pretraining__training__epochs=2).fit(X, y)
    assert small_anchored.pretrained_.weights is not weights
    small_anchored.set_params(pretraining__training__epochs=150).pretrain(n_features=1)
    np.testing.assert_array_equal(small_anchored.pretrained_.weights, weights)


def test_seed_decides_everything(line_data):
    """Equal seeds give equal networks, other seeds others; members do not depend on K."""
    X, y = line_data
    brief = {"network": Architecture((8,)), "training": TrainingSettings(epochs=20), "noise": 0.1}

    def weights(n_members, seed):
        ensemble = VanillaEnsemble(n_members=n_members, random_state=seed, **brief)
        return ensemble.fit(X, y).members_.weights

    first = weights(4, 3)
    again = weights(4, 3)
    more = weights(20, 3)
    other = weights(4, 4)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, more[:4], atol=1e-5)
    assert np.abs(first - other).max() > 0.1


def test_convergence_shortens_pretraining():
    """A criterion ends pre-training before the budget."""
    prior = GaussianProcessPrior(lambda X: 2.0 * X[:, 0], RBF(0.6, 2.0))
    ensemble = AnchoredEnsemble(
        prior,
        noise=0.1,
        n_members=4,
        network=Architecture((20, 20)),
        pretraining=Pretraining(
            4,
            64,
            training=TrainingSettings(
                epochs=3000, convergence=Convergence(residual_variance=0.02, window=20)
            ),
        ),
        scaling=Scaling(inputs=None),
        random_state=0,
    ).pretrain(n_features=1)
    assert ensemble.pretrained_.epochs.max() < 1500
    assert len(ensemble.pretrained_.losses) == ensemble.pretrained_.epochs.max()


def test_bootstrap_and_likelihood_resampling():
    """Bootstrap repeats pairs; likelihood adds Σ_noise; both keep members apart."""
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
    covariance = np.cov((targets - y).reshape(-1, 2).T)
    error = 5 * np.sqrt((noise**2 + np.outer(np.diag(noise), np.diag(noise))) / 12_000)
    assert np.all(np.abs(covariance - noise) < error)


def test_vanilla_bootstrap_spreads_less_at_data(line_data):
    """Uncertainty grows away from the data."""
    X, y = line_data
    ensemble = VanillaEnsemble(
        noise=0.1,
        n_members=10,
        resampling="bootstrap",
        network=Architecture((20, 20)),
        training=TrainingSettings(epochs=150),
        random_state=0,
    ).fit(X, y)
    std = ensemble.predict(np.array([[0.0], [3.0]]), return_std=True)[1]
    assert std[1] > 3 * std[0]


def test_diverged_members_are_left_out(line_data):
    """One prior realisation of 1e30 makes its member infinite: named, and in no average."""
    X, y = line_data

    def sometimes_huge(X, rng):
        return X[:, 0] * (1e30 if rng.uniform() < 0.15 else 1.0)

    ensemble = AnchoredEnsemble(
        SamplerPrior(sometimes_huge),
        noise=0.1,
        n_members=10,
        network=Architecture((5,)),
        pretraining=Pretraining(10, 32, training=TrainingSettings(epochs=5)),
        training=TrainingSettings(epochs=5),
        random_state=0,
    )
    with pytest.warns(DivergenceWarning, match=r"pre-training: members [\d, ]+ of 10 diverged"):
        ensemble.fit(X, y)
    bad = ensemble.pretrained_.diverged
    assert 0 < len(bad) < 9
    assert (
        ensemble.pretrained_.weights.shape[0] == ensemble.members_.weights.shape[0] == 10 - len(bad)
    )
    assert np.isfinite(ensemble.sample(X)).all()
    assert ensemble.pretrained_.losses.shape[1] == 10


def test_all_diverged_is_an_error(line_data):
    """Fewer than two members left is no ensemble."""
    X, y = line_data
    ensemble = VanillaEnsemble(
        noise=0.1,
        n_members=3,
        network=Architecture((5,)),
        training=TrainingSettings(epochs=3, learning_rate=1e30),
    )
    with pytest.raises(DivergenceError, match="training: members 0, 1, 2 of 3 diverged"):
        ensemble.fit(X, y)


X = np.linspace(-1, 1, 8)[:, None]
Y = np.linspace(-1, 1, 8)
NAN = np.where(X > 0.9, np.nan, X)
INF = np.where(Y > 0.9, np.inf, Y)
SKEW = np.array([[1.0, 2.0], [2.0, 1.0]])
ONCE = TrainingSettings(epochs=1)
VANILLA = {"noise": 0.1, "n_members": 2, "network": Architecture((4,)), "training": ONCE}
ANCHORED = {**VANILLA, "pretraining": Pretraining(2, 8, training=ONCE), "random_state": 0}
BAD = [
    (VanillaEnsemble, {"n_members": 1}, "n_members = 1: must be an integer >= 2"),
    (VanillaEnsemble, {"n_members": 2.0}, "n_members = 2.0: must be an integer"),
    (VanillaEnsemble, {"training__batch_size": 0}, "batch_size = 0"),
    (VanillaEnsemble, {"training__learning_rate": -1.0}, "learning_rate = -1.0: must be > 0"),
    (VanillaEnsemble, {"network__init": "zeros"}, "init = 'zeros': must be one of glorot, he"),
    (VanillaEnsemble, {"network__activation": "swish"}, "activation = 'swish'"),
    (VanillaEnsemble, {"resampling": "jackknife"}, "resampling = 'jackknife'"),
    (VanillaEnsemble, {"noise": 0.0}, "noise = 0.0: standard deviations must be > 0"),
    (VanillaEnsemble, {"noise": -0.1}, "noise = -0.1"),
    (VanillaEnsemble, {"noise": [0.1, 0.2]}, "noise has 2 entries: must be one, or 1"),
    (VanillaEnsemble, {"noise": SKEW, "y": np.c_[Y, Y]}, "eigenvalue -1, must be positive"),
    (VanillaEnsemble, {"noise": SKEW[:1], "y": np.c_[Y, Y]}, r"noise has shape \(1, 2\)"),
    (VanillaEnsemble, {"noise": [[1.0, 0.5], [0.0, 1.0]], "y": np.c_[Y, Y]}, "symmetric"),
    (VanillaEnsemble, {"random_state": -1}, "random_state = -1: must be >= 0"),
    (VanillaEnsemble, {"device": "tpu9"}, "device = 'tpu9': must be 'cpu' or"),
    (
        VanillaEnsemble,
        {"scaling__inputs": (1.0, 0.0)},
        "scaling.inputs: bounds of column 0 are 1.0",
    ),
    (VanillaEnsemble, {"scaling__inputs": 5}, r"inputs has shape \(\): must be None, 'data'"),
    (VanillaEnsemble, {"scaling__inputs": (0, [1, 1])}, "inputs = .*: must be numbers"),
    (AnchoredEnsemble, {"pretraining__range_factor": 0.0}, "range_factor = 0.0: must be > 0"),
    (VanillaEnsemble, {"X": NAN}, "Input X contains NaN"),
    (VanillaEnsemble, {"y": INF}, "Input y contains infinity"),
    (VanillaEnsemble, {"X": X[:1], "y": Y[:1]}, "minimum of 2 is required"),
    (VanillaEnsemble, {"X": X[:, 0]}, "Expected 2D array, got 1D array"),
    (VanillaEnsemble, {"y": Y[:5]}, "inconsistent numbers of samples"),
    (
        AnchoredEnsemble,
        {"anchoring__regulariser": "ridge"},
        "regulariser = 'ridge': must be one of",
    ),
    (AnchoredEnsemble, {"anchoring__anchors": "none"}, "anchors = 'none'"),
    (AnchoredEnsemble, {"n_members": 3}, "n_members = 3: must be <= pretraining"),
    (AnchoredEnsemble, {"pretraining__n_points": 1}, "n_points = 1: must be an integer >= 2"),
    (AnchoredEnsemble, {"pretraining__perturbation": -0.1}, "perturbation = -0.1: must be >= 0"),
    (
        AnchoredEnsemble,
        {"prior": GaussianProcessPrior(n_outputs=2)},
        "1 inputs and 1 outputs, the prior has 1 and 2",
    ),
    (
        AnchoredEnsemble,
        {"prior": GaussianProcessPrior(lambda X: np.log(X[:, 0]))},
        "not finite in realisation 0",
    ),
    (AnchoredEnsemble, {"prior": "gp"}, "prior = 'gp': must have a method sample"),
    (AnchoredEnsemble, {"prior": SamplerPrior}, "prior = SamplerPrior: must be an object"),
    (
        AnchoredEnsemble,
        {"anchoring__regulariser": "none", "anchoring__anchors": "sampled"},
        "anchors = 'sampled'",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "message"), BAD)
@pytest.mark.filterwarnings("ignore::bnn.ConstantInputWarning", "ignore:invalid value")
def test_bad_input_names_field_value_and_range(kind, changes, message):
    """Every refusal says what was wrong, before any training."""
    settings = VANILLA if kind is VanillaEnsemble else ANCHORED
    parameters = {"X": X, "y": Y, **changes}
    data = parameters.pop("X"), parameters.pop("y")
    with pytest.raises(ValueError, match=message):
        kind(**settings).set_params(**parameters).fit(*data)


def test_constant_input_warns(line_data):
    """A constant column is no error, since a prior may know about it, but is pointed out."""
    X, y = line_data
    with pytest.warns(UserWarning, match="input 1 is constant in the data"):
        VanillaEnsemble(**VANILLA).fit(np.c_[X, np.ones(len(X))], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VanillaEnsemble(**VANILLA).fit(X, y)


def test_before_fitting():
    """Predicting and saving need networks; pre-training needs to know its inputs."""
    for ensemble in (VanillaEnsemble(), AnchoredEnsemble()):
        with pytest.raises(NotFittedError):
            ensemble.predict(X)
        with pytest.raises(NotFittedError):
            ensemble.save("nowhere.npz")
    with pytest.raises(NotFittedError):
        AnchoredEnsemble().sample_prior(X)
    with pytest.raises(ValueError, match="n_features = None: must be given"):
        AnchoredEnsemble().pretrain()
    with pytest.raises(ValueError, match=r"X has shape \(1, 1\): must be \(M >= 2, n_in\)"):
        AnchoredEnsemble().pretrain([[0.0]])
    with pytest.raises(ValueError, match="inputs = 'data': pretrain has no data"):
        AnchoredEnsemble().pretrain(n_features=1)


def test_prediction_refuses_other_inputs(small_anchored, line_data):
    """Another number of columns, or NaN."""
    ensemble = small_anchored.fit(*line_data)
    with pytest.raises(ValueError, match="X has 2 features, but AnchoredEnsemble is expecting 1"):
        ensemble.predict(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ensemble.predict([[np.nan]])


def test_bounds_from_data_are_the_range_of_the_data(line_data):
    """The default is short for the range, for pre-training too, and follows new data."""
    X, y = line_data
    kind = dict(ANCHORED, prior=SamplerPrior(lambda X, rng: rng.normal() * X[:, 0]))
    named = AnchoredEnsemble(**kind)
    given = AnchoredEnsemble(scaling=Scaling((X.min(), X.max()), (y.min(), y.max())), **kind)
    np.testing.assert_allclose(named.fit(X, y).predict(X), given.fit(X, y).predict(X))
    named.fit(10.0 * X, y)
    np.testing.assert_allclose(named.members_.input_scaler.high, 10.0 * X.max())
    assert np.abs(named.pretrained_.inputs).max() > 5.0 * np.abs(given.pretrained_.inputs).max()


@pytest.mark.parametrize("progress", [False, True])
def test_progress_bars_can_be_silenced(progress, line_data, capsys):
    """A bar for each stage on standard error, or nothing at all."""
    training = TrainingSettings(epochs=1, progress=progress)
    pretraining = Pretraining(2, 8, training=training)
    settings = {**VANILLA, "training": training, "pretraining": pretraining}
    AnchoredEnsemble(**settings).fit(*line_data)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("pre-training" in printed.err) == progress
    assert ("training: 100%" in printed.err) == progress
    assert progress or printed.err == ""


def test_noise_forms_agree():
    """A scalar, a vector and a matrix of the same noise are the same Σ_noise."""
    forms = [0.2, [0.2, 0.2], 0.04 * np.eye(2)]
    for noise in forms:
        np.testing.assert_allclose(noise_covariance(noise, 2), 0.04 * np.eye(2))


def test_data_gradient_against_finite_differences():
    """Of each member's own data, with correlated noise and in the networks' units."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (9, 2))
    y = rng.standard_normal((9, 3))
    noise = np.diag([0.1, 0.2, 0.3]) + 0.03
    members = train_vanilla(
        X,
        y,
        noise=noise,
        n_members=2,
        network=Architecture((4,), "silu"),
        resampling="bootstrap",
        training=TrainingSettings(epochs=1),
        scaling=Scaling(inputs=None, outputs=(-2.0, 3.0)),
        random_state=0,
    )
    targets = members.output_scaler.transform(members.targets)
    precision = np.linalg.inv(members.output_scaler.transform_covariance(noise))

    def loss(weights):
        residual = members.architecture.forward(weights, members.inputs) - targets
        return np.einsum("kni,ij,knj->k", residual, precision, residual)

    weights = members.weights.astype(float)
    gradient = data_gradient(members, members.weights)
    for j in range(weights.shape[1]):
        step = np.zeros(weights.shape[1])
        step[j] = 1e-5
        slope = (loss(weights + step) - loss(weights - step)) / 2e-5
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-5, atol=1e-4)
