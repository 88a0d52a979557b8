"""Noise that is known for each datum, by standard deviations and weights given to `fit`."""

from itertools import product

import numpy as np
import pytest
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bnn
from bnn.ensembles.members import data_gradient
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import Family, NoiseForm
from tests.bnn.small import small

RNG = np.random.default_rng(0)
N = 15
X = RNG.uniform(-1.0, 1.0, (N, 2))
STD = RNG.uniform(0.05, 0.4, (N, 2))
Y = np.column_stack([np.sin(3.0 * X.sum(axis=1)), X[:, 0]]) + STD * RNG.standard_normal((N, 2))
WEIGHTS = np.array([0.0, 3.0, 2.0] + 4 * [1.0, 3.0, 2.0])
COPIES = np.repeat(np.arange(N), WEIGHTS.astype(int))
NEW = RNG.uniform(-1.0, 1.0, (7, 2))
PRIOR = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5), 2)
CORRELATED = np.array([[0.04, 0.01], [0.01, 0.02]])
BY_INPUT = bnn.HeteroscedasticNoise(
    [[-2.0, -1.0], [0.5, 0.3], [0.1, 0.2]], [[1.0, 0.4], [0.4, 1.0]]
)
BRIEF = pytest.mark.filterwarnings("ignore::UserWarning")  # so brief a training does not arrive


@pytest.mark.parametrize(("noise", "further"), [(None, 0.0), (0.2, 0.04)])
def test_a_posterior_is_that_of_a_process_with_this_diagonal(noise, further):
    model = bnn.GPRegressor(PRIOR, noise=noise).fit(X, Y, noise_std=STD)
    moments = np.array(model.predict(NEW, return_std=True))
    evidence = 0.0
    for j in range(2):
        reference = GaussianProcessRegressor(
            RBF(0.5), alpha=STD[:, j] ** 2 + further, optimizer=None
        )
        expected = reference.fit(X, Y[:, j]).predict(NEW, return_std=True)
        np.testing.assert_allclose(moments[:, :, j], expected, atol=1e-12)
        evidence += reference.log_marginal_likelihood_value_
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-12)


@pytest.mark.parametrize("noise", [0.1, CORRELATED, BY_INPUT], ids=["std", "matrix", "by input"])
def test_a_row_of_weight_m_is_as_m_equal_rows(noise):
    weighted = bnn.GPRegressor(PRIOR, noise=noise).fit(X, Y, sample_weight=WEIGHTS)
    repeated = bnn.GPRegressor(PRIOR, noise=noise).fit(X[COPIES], Y[COPIES])
    pairs = zip(*(m.predict(NEW, return_cov=True) for m in (weighted, repeated)), strict=True)
    for by_entry, expected in pairs:
        np.testing.assert_allclose(by_entry, expected, atol=1e-9)
    assert weighted.elppd(X, Y) == pytest.approx(repeated.elppd(X, Y), abs=1e-7)


@BRIEF
def test_a_row_of_weight_zero_is_left_out_of_scaling_and_training():
    once = {"noise": 0.3, "random_state": 0}
    brief = bnn.TrainingSettings(epochs=2)
    settings = bnn.Pretraining(4, 20, training=brief)
    networks = bnn.pretrain(PRIOR, X, settings=settings, random_state=0)
    loose = bnn.FunctionAnchoring(n_points=5, tol=100.0)
    far, weights = 100.0 * np.ones((1, 2)), np.append(np.ones(N), 0.0)
    for train, arguments in (
        (bnn.train_vanilla, {"n_members": 2, "training": brief}),
        (bnn.train_anchored, {"pretrained": networks, "training": brief}),
        (bnn.train_function_anchored, {"pretrained": networks, "anchoring": loose}),
    ):
        data = {"X": np.vstack([X, far]), "y": np.vstack([Y, far]), "sample_weight": weights}
        with_far_row = train(**data, **arguments, **once)
        expected = train(X=X, y=Y, sample_weight=np.ones(N), **arguments, **once)
        np.testing.assert_array_equal(with_far_row.weights, expected.weights)


@BRIEF
def test_the_optimum_of_anchored_members_is_that_of_equal_rows():
    """The data term is a sum over rows, of which M equal ones count M times."""
    networks = bnn.pretrain(
        PRIOR, X, network=bnn.Architecture((4,)), settings=bnn.Pretraining(4, 20), random_state=0
    )
    options = {
        "noise": 0.3,
        "random_state": 0,
        "anchoring": bnn.Anchoring("isotropic", optimiser="gauss_newton", resampling="none"),
    }
    weighted = bnn.train_anchored(networks, X, Y, sample_weight=WEIGHTS, **options)
    repeated = bnn.train_anchored(networks, X[COPIES], Y[COPIES], **options)
    np.testing.assert_allclose(weighted.sample(NEW), repeated.sample(NEW), atol=1e-4)
    point = weighted.weights + 0.1
    of_weighted, expected = data_gradient(weighted, point), data_gradient(repeated, point)
    np.testing.assert_allclose(of_weighted, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_the_gradient_of_the_evidence_beside_known_noise():
    basis = RNG.standard_normal((N, 2))
    relative = RNG.uniform(0.5, 2.0, N)
    variances = RNG.uniform(0.01, 0.1, N)
    form = NoiseForm(variances, relative, basis)
    density = FamilyDensity(Family((bnn.Matern52,)), 0.5 + 0.5 * X, Y[:, 0], form)
    eta = density.centre + 0.1 * RNG.standard_normal(len(density.centre))
    steps = 1e-5 * np.eye(len(eta))
    differences = [(density(eta + h)[0] - density(eta - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(density(eta)[1], differences, rtol=1e-6, atol=1e-5)
    noise = relative * density.unit_variances(eta) + variances
    np.testing.assert_allclose(density.variances(eta), noise)
    under_known = density.with_noise(NoiseForm.of_variances(noise))
    assert density.log_evidence(eta) == pytest.approx(under_known.log_evidence(eta[:3]))


def data_of_two_scatters(n=120, further=0.2):
    """Known deviations of 0.02 or 0.6, and a further part for which nothing is known."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.0, 1.0, (n, 1))
    std = rng.choice([0.02, 0.6], n)
    scatter = np.sqrt(std**2 + further**2) * rng.standard_normal(n)
    return points, np.sin(3.0 * points[:, 0]) + scatter, std


@pytest.mark.slow
def test_the_further_part_and_the_unit_of_weights_are_estimated():
    points, values, std = data_of_two_scatters()
    model = bnn.GPRegressor(noise="constant").fit(points, values, noise_std=std)
    assert np.sqrt(model.noise_[0, 0]) == pytest.approx(0.2, rel=0.25)
    weights = 0.09 / (std**2 + 0.04)  # of variances 0.09 / w
    weighted = bnn.GPRegressor().fit(points, values, sample_weight=weights)
    level = np.sqrt(bnn.noise.covariance_at(weighted.noise_, points)[..., 0, 0])
    assert np.median(level) == pytest.approx(0.3, rel=0.2)
    truth = np.sin(3.0 * points[:, 0])
    plain = bnn.GPRegressor().fit(points, values)
    errors = [bnn.metrics.rmse(truth, m.predict(points)) for m in (plain, model, weighted)]
    assert max(errors[1:]) < 0.7 * errors[0]


@pytest.mark.usefixtures("one_family")
def test_the_scale_of_the_weights_changes_no_posterior():
    models = [bnn.GPRegressor().fit(X, Y[:, 0], sample_weight=c * WEIGHTS) for c in (1.0, 7.0)]
    one, seven = (m.predict(NEW, return_std=True) for m in models)
    np.testing.assert_allclose(one, seven, rtol=1e-6)
    one, seven = (bnn.noise.covariance_at(m.noise_, NEW) for m in models)
    np.testing.assert_allclose(7.0 * one, seven, rtol=1e-6)


@pytest.mark.usefixtures("one_family")
def test_of_many_data_all_have_their_noise(monkeypatch):
    monkeypatch.setattr("bnn.gp.evidence.output_data.SEARCHED", 40)
    points, values, std = data_of_two_scatters(100, 0.0)
    model = bnn.GPRegressor().fit(points, values, noise_std=std)
    again = bnn.GPRegressor(model.prior_).fit(points, values, noise_std=std)
    np.testing.assert_allclose(*(m.predict(points) for m in (model, again)), atol=1e-9)


def test_metadata_reaches_fit_through_a_pipeline():
    points, values, std = data_of_two_scatters(60, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        model = bnn.GPRegressor(prior).set_fit_request(noise_std=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model)
        params = {"noise_std": std, "sample_weight": np.ones(60)}
        fitted = pipeline.fit(points, values, **params)[-1]
        np.testing.assert_array_equal(fitted.data_noise_.std[:, 0], std)
        done = cross_validate(pipeline, points, values, cv=3, params=params, return_estimator=True)
        for fold, estimator in enumerate(done["estimator"]):
            expected = np.delete(std, 20 * fold + np.arange(20))
            np.testing.assert_array_equal(estimator[-1].data_noise_.std[:, 0], expected)


def test_the_noise_of_new_data_is_not_known(tmp_path):
    model = bnn.GPRegressor(PRIOR).fit(X, Y, noise_std=STD)
    ensemble = small(bnn.VanillaEnsemble, noise=None).fit(X, Y, noise_std=STD)
    for ask in (model.predict, ensemble.predict):
        with pytest.raises(ValueError, match="add its variance"):
            ask(NEW, return_std=True, include_noise=True)
    for export, fitted in product((bnn.export.to_c, bnn.export.to_onnx), (model, ensemble)):
        with pytest.raises(ValueError, match="add its variance"):
            export(fitted, tmp_path / "file", include_noise=True)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="add its variance"):
        model.elppd(X, Y)
    with pytest.raises(ValueError, match="add its variance"):
        bnn.select_runs(model, NEW, 1)
    assert "noise, apart from noise_std" in model.summary()
    with pytest.raises(ValueError, match="noise_std = None: must be given"):
        model.fit(X, Y, keep_prior=True)
    more = model.fit(X[::-1], Y[::-1], keep_prior=True, noise_std=STD[::-1])
    expected = bnn.GPRegressor(PRIOR).fit(X, Y, noise_std=STD).predict(NEW)
    np.testing.assert_allclose(more.predict(NEW), expected, atol=1e-12)


@BRIEF
@pytest.mark.parametrize("kind", [bnn.GPRegressor, bnn.AnchoredEnsemble])
def test_a_file_holds_the_noise_of_the_data(kind, tmp_path):
    model = small(kind, PRIOR, noise=None).fit(X, Y, noise_std=STD, sample_weight=WEIGHTS)
    model.save(tmp_path / "model.npz")
    again = bnn.load(tmp_path / "model.npz")
    loaded, expected = (m.predict(NEW, return_std=True) for m in (again, model))
    np.testing.assert_array_equal(loaded, expected)


@pytest.mark.parametrize("noise", ["student_t", bnn.StudentNoise(0.1)])
def test_heavy_tails_beside_known_noise_are_refused(noise):
    for prior in (None, PRIOR):
        with pytest.raises(ValueError, match="heavy tails cannot be estimated if noise_std"):
            bnn.GPRegressor(prior, noise=noise).fit(X, Y, noise_std=STD)


def test_scores_take_weights_and_no_deviations():
    curves = Y @ RNG.standard_normal((2, 6))
    model = bnn.PCARegressor(bnn.GPRegressor(PRIOR, noise=0.1))
    weighted = model.fit(X, curves, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(weighted.estimator_.data_noise_.weights, WEIGHTS[1:])
    with pytest.raises(ValueError, match="noise_std: must be None"):
        model.fit(X, curves, noise_std=np.ones(N))


# Ways to give no noise for one output, and for two
ZEROS_OF_ONE = [0.0, [0.0], np.zeros(1), [[0.0]], np.zeros((1, 1)), np.zeros((1, 1), dtype=int)]
ZEROS_OF_TWO = [0.0, [0.0, 0.0], np.zeros((2, 2))]
WITH_A_SEARCH = [0.0, np.zeros((1, 1), dtype=int)]  # fewer, as a search takes longer
ONE = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
OPEN = bnn.GaussianProcessPrior(0.0, bnn.RBF(None, None))


def fitted_prior(noise):
    """Return a model whose prior was estimated under this noise."""
    prior = bnn.evidence.fit_prior(X, Y[:, 0], noise, estimate="map", restarts=0)
    return bnn.GPRegressor(prior, noise=noise)


@pytest.mark.filterwarnings("error")
@pytest.mark.usefixtures("one_family", "few_draws")
@pytest.mark.parametrize(
    ("kind", "zeros"),
    [
        (lambda noise: bnn.GPRegressor(noise=noise), WITH_A_SEARCH),
        (lambda noise: bnn.GPRegressor(ONE, noise=noise), ZEROS_OF_ONE),
        (lambda noise: bnn.GPRegressor(OPEN, noise=noise), WITH_A_SEARCH),
        (lambda noise: bnn.GPRegressor(mean=lambda x: x[:, 0], noise=noise), WITH_A_SEARCH),
        (fitted_prior, WITH_A_SEARCH),
    ],
    ids=["default", "prior", "open prior", "mean", "fit_prior"],
)
def test_zero_noise_is_no_noise_however_it_is_given(kind, zeros):
    """The process goes through its data, new data have no noise, and all ways agree."""
    first, *others = (kind(zero).fit(X, Y[:, 0]) for zero in zeros)
    np.testing.assert_allclose(first.predict(X), Y[:, 0], atol=1e-7)
    expected = first.predict(NEW, return_std=True)
    with_noise = first.predict(NEW, return_std=True, include_noise=True)
    np.testing.assert_allclose(with_noise, expected, rtol=1e-9)
    for model in others:
        np.testing.assert_array_equal(model.predict(NEW, return_std=True), expected)


@pytest.mark.parametrize("zero", ZEROS_OF_TWO, ids=str)
def test_outputs_without_noise_agree_also_beside_one_with_noise(zero):
    model = bnn.GPRegressor(PRIOR, noise=zero).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-9)
    expected = bnn.GPRegressor(PRIOR, noise=[0.0, 0.1]).fit(X, Y).predict(NEW, return_cov=True)
    partly_noisy = bnn.GPRegressor(PRIOR, noise=np.diag([0.0, 0.01])).fit(X, Y)
    for moment, wanted in zip(partly_noisy.predict(NEW, return_cov=True), expected, strict=True):
        np.testing.assert_allclose(moment, wanted, atol=1e-12)


@BRIEF
@pytest.mark.parametrize("zero", ZEROS_OF_TWO, ids=str)
@pytest.mark.parametrize("kind", [bnn.GPRegressor, bnn.AnchoredEnsemble])
def test_zero_beside_known_noise_is_no_further_noise(kind, zero):
    models = [small(kind, PRIOR, noise=noise).fit(X, Y, noise_std=STD) for noise in (None, zero)]
    np.testing.assert_array_equal(*(m.predict(NEW, return_std=True) for m in models))
    with pytest.raises(ValueError, match="add its variance"):
        models[1].predict(NEW, return_std=True, include_noise=True)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [None, np.ones(N)], ids=["", "weights"])
@pytest.mark.parametrize("zero", ZEROS_OF_ONE, ids=repr)
@pytest.mark.parametrize(
    "kind", [bnn.AnchoredEnsemble, bnn.FunctionAnchoredEnsemble, bnn.VanillaEnsemble]
)
def test_ensembles_need_noise(kind, zero, weights):
    prior = () if kind is bnn.VanillaEnsemble else (ONE,)
    with pytest.raises(ValueError, match=r"^noise.*must be (> 0|positive definite)"):
        small(kind, *prior, noise=zero).fit(X, Y[:, 0], sample_weight=weights)


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((3, 3)), np.zeros((1, 2))], ids=str)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["default", "prior"])
@pytest.mark.parametrize("std", [None, STD], ids=["", "noise_std"])
def test_zeros_of_another_shape_are_refused(wrong, prior, std):
    with pytest.raises(ValueError, match=r"^noise has (3 entries|shape)"):
        bnn.GPRegressor(prior, noise=wrong).fit(X, Y, noise_std=std)
