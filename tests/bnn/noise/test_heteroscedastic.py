"""Noise that depends on the input: its estimate, and every estimator under it."""

import warnings

import numpy as np
import pytest
from scipy.stats import chi2

import bnn
from bnn import HeteroscedasticNoise
from bnn.ensembles.members import data_gradient
from bnn.ensembles.weight_priors import IsotropicGaussian
from bnn.gp.evidence import fit_heteroscedastic_noise, fit_noise, fit_prior
from bnn.noise import replicate_covariance
from tests.bnn.small import small

RNG = np.random.default_rng(4)
X = RNG.uniform(-1, 1, (14, 2))
X_NEW = RNG.uniform(-1, 1, (5, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2])
COEFFICIENTS = np.array([[-1.6, -1.2], [0.7, 0.2], [-0.3, 0.5], [0.4, -0.2]])
CORRELATION = np.array([[1.0, 0.6], [0.6, 1.0]])
NOISE = HeteroscedasticNoise(COEFFICIENTS, CORRELATION, squares=(0,))


def written_out(noise, points):
    """Σ(x), by hand, with the square of input 0."""
    logs = [
        c[0] + points[:, 0] * c[1] + points[:, 1] * c[2] + points[:, 0] ** 2 * c[3]
        for c in COEFFICIENTS.T
    ]
    deviations = np.exp(np.column_stack(logs))
    return np.array([np.diag(d) @ noise.correlation @ np.diag(d) for d in deviations])


def simulated(noise, n_groups, n, rng):
    """Return inputs, outputs (of large differences between groups), and groups."""
    inputs = rng.uniform(-1, 1, (n_groups, 2)).repeat(n, axis=0)
    drawn = [rng.multivariate_normal(np.zeros(2), covariance) for covariance in noise(inputs)]
    groups = np.arange(n_groups).repeat(n)
    return inputs, 10.0 * rng.standard_normal((n_groups, 2))[groups] + drawn, groups


def test_replicates_tell_the_coefficients_and_the_correlation():
    """Within 5 standard errors: those of independent fits to 20 other sets of replicates."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(21):
        estimate = HeteroscedasticNoise.from_replicates(
            *simulated(NOISE, 40, 8, rng), squares=(0,), slope_deviation=100.0
        )
        estimates.append(np.append(estimate.coefficients, estimate.correlation[0, 1]))
    truth = np.append(COEFFICIENTS, CORRELATION[0, 1])
    error = np.std(estimates, axis=0, ddof=1)
    assert np.all(error < 0.2)
    assert np.all(np.abs(np.mean(estimates, axis=0) - truth) < 5 * error / np.sqrt(len(estimates)))


def test_a_narrow_prior_of_the_slopes_leaves_the_constant_covariance():
    inputs, y, groups = simulated(NOISE, 6, 5, np.random.default_rng(1))
    flat = HeteroscedasticNoise.from_replicates(inputs, y, groups, slope_deviation=1e-6)
    expected = replicate_covariance(y, groups)
    np.testing.assert_allclose(flat(X), np.broadcast_to(expected, (14, 2, 2)), rtol=1e-6)


@pytest.mark.parametrize("optimiser", ["gauss_newton", "adam"])
def test_a_linear_network_arrives_at_weighted_least_squares(optimiser):
    """The optimum of Algorithm 2 for each member, by the normal equations, in other units."""
    networks = bnn.pretrain(
        bnn.GaussianProcessPrior(0.0, bnn.RBF(0.7, 0.5), 2),
        n_features=2,
        n_outputs=2,
        network=bnn.Architecture(()),
        scaling=bnn.Scaling((-2.0, 2.0), [(-1.0, 3.0), (-0.5, 0.5)]),
        settings=bnn.Pretraining(3, 30, training=bnn.TrainingSettings(epochs=5)),
        random_state=0,
    )
    settings = bnn.TrainingSettings(epochs=6000, batch_size=None, learning_rate=3e-3)
    members = bnn.train_anchored(
        networks,
        X,
        Y,
        noise=NOISE,
        training=settings,
        random_state=0,
        anchoring=bnn.Anchoring(IsotropicGaussian(0.3, 6), optimiser=optimiser),
    )
    scale = np.array([2.0, 0.5])
    for member in range(3):
        inputs = members.inputs[member]
        targets = members.targets[member]
        # Weights in the order of a kernel by rows, and then the biases: w[2 i + j] for output j.
        features = [np.kron(np.append(x / 2.0, 1.0), np.eye(2)) for x in inputs]
        precision = np.eye(6) / 0.3
        right = members.anchors[member] / 0.3
        for phi, y, S in zip(features, targets, written_out(NOISE, inputs), strict=True):
            P = np.linalg.inv(S / np.outer(scale, scale))
            precision = precision + phi.T @ P @ phi
            right = right + phi.T @ P @ ((y - np.array([1.0, 0.0])) / scale)
        expected = np.linalg.solve(precision, right)
        np.testing.assert_allclose(members.weights[member], expected, atol=1e-4)
        away = (members.weights[member] - members.anchors[member]) / 0.3
        slope = data_gradient(members, members.weights)[member] + 2.0 * away
        np.testing.assert_allclose(slope, 0.0, atol=2e-3)


@pytest.mark.parametrize("resampling", ["bootstrap", "likelihood", "none"])
def test_a_minibatch_has_the_precisions_of_its_points(resampling):
    """The recorded loss of an epoch that goes nowhere, which has a last batch of two points."""
    settings = bnn.TrainingSettings(epochs=1, batch_size=4, learning_rate=1e-12)
    ensemble = small(bnn.VanillaEnsemble, noise=NOISE, resampling=resampling, training=settings)
    members = ensemble.fit(X, Y).members_
    for k, loss in enumerate(members.losses[0]):
        inputs = members.inputs[k] if resampling == "bootstrap" else members.inputs
        residuals = members.sample(inputs)[k] - members.targets[k]
        solved = np.linalg.solve(written_out(NOISE, inputs), residuals[:, :, None])[:, :, 0]
        assert loss == pytest.approx(np.mean(np.sum(residuals * solved, axis=1)), rel=1e-5)


def test_members_in_function_space_are_conditioned_on_the_noise():
    """Their targets have the mean and, with many members, the covariance of the posterior."""
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(0.7, 0.5), 2)
    many = {"n_members": 300, "pretraining__n_networks": 300, "pretraining__training__epochs": 1}
    model = small(bnn.FunctionAnchoredEnsemble, prior, noise=NOISE, **many)
    model.set_params(scaling=bnn.Scaling((-1, 1), (-1, 1))).fit(X, Y)
    targets = model.members_.targets[:, :14]
    exact = bnn.GPRegressor(prior, noise=NOISE).fit(X, Y)
    mean, std = exact.predict(X, return_std=True)
    np.testing.assert_allclose(targets.mean(axis=0), mean, atol=1e-5)
    assert np.mean(targets.std(axis=0) / std) == pytest.approx(1.0, abs=0.05)
    _, epistemic = model.predict(X_NEW, return_cov=True)
    _, total = model.predict(X_NEW, return_cov=True, include_noise=True)
    np.testing.assert_allclose(total - epistemic, written_out(NOISE, X_NEW), atol=1e-12)


@pytest.mark.slow
def test_noise_is_told_without_replicates():
    """Slopes and correlation of 120 data, within 5 of the standard errors of residuals alone."""
    rng = np.random.default_rng(5)
    truth = [[-2.5, -2.0], [1.0, -0.5], [0.0, 0.5]]
    noise = HeteroscedasticNoise(truth, CORRELATION)
    points = rng.uniform(-1, 1, (120, 2))
    drawn = [rng.multivariate_normal(np.zeros(2), covariance) for covariance in noise(points)]
    y = np.column_stack([np.sin(3.0 * points[:, 0]), points[:, 1] ** 2]) + drawn
    estimate = fit_heteroscedastic_noise(points, y, restarts=0)
    error = 1.0 / np.sqrt(2.0 * len(y) * points.var(axis=0))
    assert np.all(np.abs(estimate.coefficients[1:] - truth[1:]) < 5.0 * error[:, None])
    assert estimate.correlation[0, 1] == pytest.approx(0.6, abs=5.0 * (1.0 - 0.6**2) / np.sqrt(120))


def coverage_of_f(n_in, n, slopes, seed):
    """Shares of 400 values of f in 95 % intervals: noise by input, constant, and the true one."""
    rng = np.random.default_rng([seed, n_in, n])
    W = rng.standard_normal((3, n_in))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    phase = rng.uniform(0, 2 * np.pi, 3)
    points = rng.uniform(-1, 1, (n + 400, n_in))
    z = points @ W.T
    f = np.sin(2.0 * z[:, 0] + phase[0]) + 0.5 * np.cos(3.0 * z[:, 1] + phase[1]) + z[:, 2]
    coefficients = np.zeros((1 + n_in, 1))
    coefficients[0] = -2.0
    coefficients[1 : 1 + len(slopes), 0] = slopes
    true = HeteroscedasticNoise(coefficients)
    seen = points[:n]
    y = f[:n] + np.sqrt(true(seen)[:, 0, 0]) * rng.standard_normal(n)
    covered = []
    for noise in (fit_heteroscedastic_noise(seen, y, restarts=0), fit_noise(seen, y), true):
        prior = fit_prior(seen, y, noise, restarts=0)
        model = bnn.GPRegressor(prior, noise=noise).fit(seen, y)
        mean, std = model.predict(points[n:], return_std=True)
        covered.append(np.mean(np.abs(f[n:] - mean) < 1.96 * std))
    return covered


@pytest.mark.coverage
@pytest.mark.parametrize(
    ("n_in", "n", "slopes"),
    [(4, 25, (0.8, 0.4)), (3, 25, ()), (6, 80, (0.8,))],
    ids=["four inputs", "constant", "six inputs"],
)
def test_intervals_of_f_hold_it_as_under_the_true_noise(n_in, n, slopes):
    """Within 0.03 over 40 sets, whose functions all three kinds of noise are given."""
    covered = np.mean([coverage_of_f(n_in, n, slopes, seed) for seed in range(40)], axis=0)
    print(f"{n_in} inputs, {n} data: by input, constant, true {covered.round(3)}")
    assert covered[0] > covered[2] - 0.03
    assert covered[0] > covered[1] - 0.03


def test_far_from_the_data_f_needs_no_noise():
    """Posteriors and ensembles predict f, and a total that is finite, where σ would overflow."""
    far = 1e3 * X
    prior = bnn.GaussianProcessPrior(0.5, bnn.RBF(0.7, 0.5), 2)
    exact = bnn.GPRegressor(prior, noise=NOISE).fit(X, Y)
    mean, std = exact.predict(far, return_std=True)
    np.testing.assert_allclose(mean, 0.5, atol=1e-12)
    np.testing.assert_allclose(std, np.sqrt(0.7), rtol=1e-9)
    for model in (exact, small(bnn.VanillaEnsemble, noise=NOISE).fit(X, Y)):
        _, total = model.predict(far, return_std=True, include_noise=True)
        assert total.max() == pytest.approx(1e100)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::bnn.NuggetWarning")
def test_noise_that_vanishes_in_double_precision_has_a_size():
    """At a point of the data with log σ = -10⁴ too, which is too small to train networks."""
    falling = HeteroscedasticNoise(np.outer([-1.0, 1.0, 0.0], [1.0, 1.0]), CORRELATION)
    far = np.array([[-1e4, 0.0]])
    np.testing.assert_allclose(falling(far)[0], 1e-200 * CORRELATION)
    assert not falling.log_slopes(far).any()
    inputs, outputs = np.vstack([X, far]), np.vstack([Y, Y[:1]])
    exact = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(), 2), noise=falling)
    _, total = exact.fit(inputs, outputs).predict(inputs, return_std=True, include_noise=True)
    assert np.isfinite(total).all()
    with pytest.raises(ValueError, match="too small for single precision"):
        small(bnn.VanillaEnsemble, noise=falling).fit(inputs, outputs)


@pytest.mark.usefixtures("one_family")
def test_beyond_the_data_the_noise_is_that_of_their_nearest_edge():
    """Of every estimate, however far away, one input as another; within it is log-linear."""
    rng = np.random.default_rng(2)
    inputs = rng.uniform([-1.0, 300.0], [1.0, 400.0], (80, 2))

    def drawn(points):
        return np.exp(points @ [1.0, -0.01] + 1.5) * rng.standard_normal(len(points))

    groups = np.arange(80).repeat(4)
    y = drawn(inputs)
    for noise in (
        HeteroscedasticNoise.from_replicates(inputs[groups], drawn(inputs[groups]), groups),
        fit_heteroscedastic_noise(inputs, y, restarts=0),
        bnn.evidence.fit_kernel_average(inputs, y, noise="gaussian")[1],
    ):
        low, high = noise.limits
        assert np.all((low >= inputs.min(axis=0)) & (high <= inputs.max(axis=0)))
        middle = 0.5 * (low + high)
        assert np.ptp(np.log(noise([low, middle, high])[:, 0, 0])) > 0.5
        for far in ([1e9, 350.0], [0.0, -1e9], [-2.0, 1e90]):
            np.testing.assert_array_equal(noise([far]), noise([np.clip(far, low, high)]))
        free = HeteroscedasticNoise(noise.coefficients, noise.correlation, noise.squares)
        np.testing.assert_array_equal(noise([middle, high]), free([middle, high]))
        assert not np.array_equal(noise(high[None] + 1.0), free(high[None] + 1.0))


@pytest.mark.parametrize("n_out", [1, 2, 5])
def test_what_few_replicates_do_not_tell_is_said(n_out):
    """The share of new noise in the joint region, of 300 estimates from other replicates."""
    rng = np.random.default_rng(0)
    groups = np.arange(4).repeat(3)
    held = []
    for _ in range(300):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimate = replicate_covariance(rng.standard_normal((12, n_out)), groups)
        new = rng.standard_normal((200, n_out))
        squares = np.einsum("ni,ij,nj->n", new, np.linalg.inv(estimate), new)
        held.append(np.mean(squares < chi2.ppf(0.95, n_out)))
    said = [warning.category for warning in caught] == [bnn.NoiseWarning]
    assert said == (np.mean(held) < 0.85)
