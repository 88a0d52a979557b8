"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import functools
import inspect
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone

import bnn
from bnn import evidence, metrics
from bnn.estimators.members import data_gradient
from bnn.priors.samplers import latin_hypercube
from bnn.training.loop import train
from bnn.weight_priors import layer_statistics
from tests.wrong_arguments import WRONG as WRONG_OF_ANY
from tests.wrong_arguments import arguments
from tests.wrong_arguments import complaint as complaint_about

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (8, 2))
Y = np.column_stack([X[:, 0] + 0.1 * RNG.standard_normal(8), RNG.standard_normal(8)])
ONCE = bnn.TrainingSettings(epochs=1)
PRIOR = bnn.GaussianProcessPrior(n_outputs=2)
EXACT = bnn.ExactPosterior(PRIOR, noise=0.1).fit(X, Y)
COMPONENTS = bnn.PrincipalComponents(np.zeros(2), np.eye(2), np.eye(2))
UNIT = bnn.BoundsScaler(-np.ones(2), np.ones(2))
NETWORK = bnn.MLP((2, 3, 2), "silu")
D = NETWORK.n_weights
SMALL = {"network": bnn.Architecture((3,)), "n_members": 3, "noise": 0.1, "training": ONCE}
# What a parameter of this name gets, unless a call says otherwise.
VALUES = {
    "A": X,
    "B": X,
    "X": X,
    "X_new": X,
    "Y": X,
    "alpha": 1.0,
    "anchoring": bnn.Anchoring(),
    "architecture": NETWORK,
    "at": X,
    "candidates": X,
    "coefficient_variance": 1.0,
    "covariance": np.eye(2),
    "directions": np.eye(D)[:, :3],
    "estimator": bnn.ExactPosterior(PRIOR, noise=0.1),
    "features": (0, 1),
    "groups": np.arange(8),
    "init": "he",
    "iterations": 1,
    "lengthscale": (1.0, 2.0),
    "mean": Y + 0.1,
    "mean_features": (0,),
    "members_at_once": 2,
    "model": EXACT,
    "n": 2,
    "n_features": 2,
    "n_inputs": 2,
    "n_members": 3,
    "n_networks": 4,
    "n_outputs": 2,
    "n_samples": 2,
    "n_weights": D,
    "network": bnn.Architecture((3,), "silu"),
    "noise": 0.1,
    "output": 0,
    "output_ranges": (1.0, 2.0),
    "pending": X[:1],
    "per_output": True,
    "points": 5,
    "pretraining": bnn.Pretraining(4, 10, training=ONCE),
    "prior": PRIOR,
    "random_state": 0,
    "realisations": 20,
    "region": X,
    "regulariser": "factorised",
    "resampling": "none",
    "restarts": 0,
    "return_cov": False,
    "return_std": True,
    "rng": None,
    "samples": Y + RNG.standard_normal((5, 8, 2)),
    "scaling": bnn.Scaling((-1.0, 1.0), "data"),
    "scores": Y,
    "settings": bnn.Pretraining(4, 10, training=ONCE),
    "singular_values": np.ones(3),
    "std": np.ones((8, 2)),
    "total": True,
    "training": ONCE,
    "values": X,
    "variance": 1.0,
    "weights": np.ones((2, D)),
    "y": Y,
}
FIT = {"X": X, "y": Y, "X_new": X, "return_std": True, "return_cov": False, "total": True}
FORM = {"intercept": True, "coefficient_variance": 1.0, "mean_features": (0,)}
VALID = object()  # networks pre-trained or trained once, when they are needed


def of(function, /, **own):
    """Return a function and values of all its parameters: its own, by their names, or defaults."""
    return function, arguments(function, VALUES) | own


def trained(kind, /, **own):
    """Return a call of an estimator: its parameters, data to fit, and points to predict."""

    def call(X, y, X_new, return_std, return_cov, total, **parameters):
        model = kind(**parameters).fit(X, y)
        model.predict(X_new, return_std, return_cov, total)
        model.sample(X_new)

    return call, FIT | of(kind, **own)[1]


def kernel(kind, /, **own):
    return lambda **parameters: kind(**parameters)(X, X[:3]), of(kind, **own)[1]


def asked(kind, /, **own):
    """Return a call of what is then evaluated at points."""
    return lambda at, **fields: kind(**fields)(at), {"at": X} | of(kind, **own)[1]


def sampled(kind, /, **own):
    """Return a call of a prior, which is then asked for realisations."""

    def call(at, n_samples, random_state, **fields):
        return kind(**fields).sample(at, n_samples, random_state)

    return call, {"at": X, "n_samples": 2, "random_state": 0} | of(kind, **own)[1]


def density(kind, /, **own):
    """Return a call of a weight prior, which is then asked for networks and densities."""

    def call(n, weights, **parameters):
        made = kind(**parameters)
        made.sample(n, 0)
        made.log_prob(weights)

    return call, {"n": 2, "weights": np.ones((2, D))} | of(kind, **own)[1]


@functools.cache
def trained_once():
    network = bnn.Architecture((3,), "silu")
    return bnn.train_vanilla(X, Y, noise=0.1, n_members=3, network=network, training=ONCE)


@functools.cache
def pretrained_once():
    network = bnn.Architecture((3,))
    settings = bnn.Pretraining(4, training=ONCE)
    return bnn.pretrain(PRIOR, X, network=network, settings=settings, random_state=0)


def pretrained_of(function, /, **own):
    """Return a call of a function of pre-trained networks."""

    def call(pretrained, **given):
        return function(pretrained_once() if pretrained is VALID else pretrained, **given)

    return call, of(function, pretrained=VALID, **own)[1]


def data_gradient_of(members, weights):
    return data_gradient(trained_once() if members is VALID else members, weights)


def sample_prior(X):
    ensemble = bnn.AnchoredEnsemble(pretrained_once(), **SMALL)
    return ensemble.fit(FIT["X"], FIT["y"]).sample_prior(X)


ANCHORED = bnn.AnchoredEnsemble(PRIOR, pretraining=VALUES["pretraining"], **SMALL)
CALLS = {
    "VanillaEnsemble": trained(bnn.VanillaEnsemble),
    "AnchoredEnsemble": trained(bnn.AnchoredEnsemble),
    "FunctionAnchoredEnsemble": trained(
        bnn.FunctionAnchoredEnsemble,
        anchoring=bnn.FunctionAnchoring(5, 0.01, iterations=1, realisations=20),
    ),
    "ExactPosterior": trained(bnn.ExactPosterior),
    "ComponentRegressor": trained(bnn.ComponentRegressor),
    "ExactPosterior.elppd": of(EXACT.elppd),
    "ExactPosterior.joint_moments": of(EXACT.joint_moments),
    "ExactPosterior.sample": of(EXACT.sample),
    "PrincipalComponents": of(
        bnn.PrincipalComponents, mean=np.zeros(2), vectors=np.eye(2), residual=np.eye(2)
    ),
    "PrincipalComponents.fit": of(bnn.PrincipalComponents.fit),
    "PrincipalComponents.transform": of(COMPONENTS.transform),
    "PrincipalComponents.inverse_transform": of(COMPONENTS.inverse_transform),
    "choose": of(bnn.choose),
    "pretrain": of(bnn.pretrain, nugget=0.01),
    "anchor": pretrained_of(bnn.anchor),
    "anchor_functions": pretrained_of(
        bnn.anchor_functions, anchoring=bnn.FunctionAnchoring(5, iterations=1)
    ),
    "AnchoredEnsemble.pretrain": of(
        lambda X, n_features: clone(ANCHORED).pretrain(X, n_features=n_features)
    ),
    "AnchoredEnsemble.sample_prior": of(sample_prior),
    "Pretrained": of(lambda X: pretrained_once().sample(X)),
    "Pretrained.select": of(lambda members: pretrained_once().select(members), members=[0, 1]),
    "Pretrained.weight_prior": of(lambda regulariser: pretrained_once().weight_prior(regulariser)),
    "Members": of(lambda X: trained_once().sample(X)),
    "data_gradient": of(data_gradient_of, members=VALID, weights=np.ones((3, D))),
    "train": of(
        train,
        weights=np.ones((3, D), dtype=np.float32),
        y=np.stack([Y] * 3),
        settings=ONCE,
        seeds=np.arange(3, dtype=np.uint32),
    ),
    "train_vanilla": of(bnn.train_vanilla),
    "TrainingSettings": of(bnn.TrainingSettings, epochs=1),
    "Convergence": of(bnn.Convergence),
    "fit_prior": of(evidence.fit_prior, mean=lambda X: X, estimate="maximum"),
    "fit_noise": of(evidence.fit_noise, **FORM, mean=lambda X: X),
    "fit_heteroscedastic_noise": of(evidence.fit_heteroscedastic_noise, **FORM),
    "lengthscales": of(evidence.lengthscales, prior=bnn.GaussianProcessPrior()),
    "check_prior": of(bnn.check_prior),
    "GaussianProcessPrior": sampled(
        bnn.GaussianProcessPrior, mean=0.0, kernel=bnn.RBF(), bounds=(-1.0, 1.0)
    ),
    "MixturePrior": sampled(
        bnn.MixturePrior, components=[bnn.GaussianProcessPrior()] * 2, weights=[0.5, 0.5]
    ),
    "SamplerPrior": sampled(
        bnn.SamplerPrior, function=lambda X, *_, **__: X, parameters={"a": stats.norm(0.0, 1.0)}
    ),
    "TablePrior": sampled(
        bnn.TablePrior, points=X, values=np.ones((3, 8, 2)), interpolation="nearest"
    ),
    "RandomMean": of(
        lambda function: bnn.GaussianProcessPrior(bnn.RandomMean(function)).sample(X, 2, 0),
        function=lambda X, _: X[:, 0],
    ),
    "LinearMean": asked(bnn.LinearMean, coefficients=np.ones((2, 2)), intercept=1.0),
    "GaussianProcessPrior.covariance": of(PRIOR.covariance),
    "GaussianProcessPrior.covariances": of(PRIOR.covariances),
    "GaussianProcessPrior.mean_values": of(PRIOR.mean_values),
    "latin_hypercube": of(latin_hypercube),
    "FunctionAnchoring": of(bnn.FunctionAnchoring, nugget=0.01),
    "Anchoring": of(bnn.Anchoring),
    "Pretraining": of(bnn.Pretraining),
    "Scaling": of(bnn.Scaling, inputs=(-1.0, 1.0)),
    "Architecture": of(bnn.Architecture),
    "Architecture.mlp": of(bnn.Architecture((3,)).mlp),
    "HeteroscedasticNoise": asked(
        bnn.HeteroscedasticNoise, coefficients=np.zeros((4, 2)), correlation=np.eye(2), squares=(0,)
    ),
    "HeteroscedasticNoise.from_replicates": of(
        bnn.HeteroscedasticNoise.from_replicates,
        X=X.repeat(2, axis=0),
        y=RNG.standard_normal((16, 2)),
        groups=np.arange(8).repeat(2),
        squares=(0,),
    ),
    "StudentNoise": (
        lambda **fields: metrics.elppd(Y, VALUES["samples"], noise=bnn.StudentNoise(**fields)),
        {"noise": 0.1, "freedom": 4.0},
    ),
    "FactorisedGaussian": density(bnn.FactorisedGaussian, mean=np.zeros(D), variance=np.ones(D)),
    "FactorisedGeneralisedNormal": density(
        bnn.FactorisedGeneralisedNormal, mean=np.zeros(D), alpha=np.ones(D), beta=np.ones(D)
    ),
    "IsotropicGaussian": density(bnn.IsotropicGaussian),
    "LowRankGaussian": density(bnn.LowRankGaussian, mean=np.zeros(D)),
    "ProbabilisticPCA": density(
        bnn.ProbabilisticPCA, mean=np.zeros(D), deviations=np.ones(3), noise_variance=1.0
    ),
    "LowRankGaussian.fit": of(bnn.LowRankGaussian.fit, weights=RNG.standard_normal((4, D))),
    "layer_statistics": of(layer_statistics, weights=RNG.standard_normal((4, D))),
    "MLP.initial_weights": of(NETWORK.initial_weights),
    "MLP": of(bnn.MLP, widths=(2, 3, 1)),
    "BoundsScaler": of(bnn.BoundsScaler, low=[0.0, 1.0], high=[1.0, 2.0]),
    "BoundsScaler.fit": of(bnn.BoundsScaler.fit),
    "BoundsScaler.transform": of(UNIT.transform),
    "BoundsScaler.inverse_transform": of(UNIT.inverse_transform),
    "BoundsScaler.transform_covariance": of(UNIT.transform_covariance),
    "RBF": kernel(bnn.RBF),
    "Matern12": kernel(bnn.Matern12),
    "Matern32": kernel(bnn.Matern32),
    "Matern52": kernel(bnn.Matern52),
    "RationalQuadratic": kernel(bnn.RationalQuadratic),
    "Periodic": kernel(bnn.Periodic),
    "Linear": kernel(bnn.Linear, offset=1.0, origin=(0.0, 1.0)),
    "RBF.__call__": (bnn.RBF(), {"X": X, "Y": X}),
    "RBF.diag": of(bnn.RBF().diag),
    "Linear.diag": of(bnn.Linear().diag),
    "factor": of(lambda factor: factor * bnn.RBF(), factor=2.0),
    "rmse": of(metrics.rmse),
    "miscalibration_area": of(metrics.miscalibration_area),
    "elppd": of(metrics.elppd),
    "elppd_gaussian": of(metrics.elppd_gaussian),
    "calibration_curve": of(metrics.calibration_curve),
    "crps": of(metrics.crps),
    "crps_gaussian": of(metrics.crps_gaussian),
    "coverage": of(metrics.coverage),
}
TENSOR = torch.ones((8, 2))
WRONG = [*WRONG_OF_ANY, stats.norm, bnn.RBF(), bnn.RBF, TENSOR, TENSOR.clone().requires_grad_()]
# What messages call an argument, beside its name: scikit-learn's and relations between two.
ALSO = {
    "X": "y|[Aa]rray|inputs?|data",
    "y": "X|[Aa]rray|outputs?|data",
    "X_new": "X|[Aa]rray",
    "at": "X|features|coefficients",
    "coefficients": "correlation|squares|noise",
    "function": "realisation of the prior|prior|mean|argument",
    "high": "bounds",
    "low": "bounds",
    "mean": "means",
    "n_features": "inputs",
    "n_outputs": "prior|outputs|kernel",
    "n_weights": "weights",
    "parameters": "prior|parameters?",
    "points": "X|inputs?|features",
    "prior": "outputs|inputs",
    "random_state": "Seed",
    "squares": "noise",
    "std": "shapes",
}


def complaint(name, argument, value):
    """Return what is wrong with the answer to a call; None where it works or names the argument."""
    function, valid = CALLS[name]
    given = valid | {argument: value}
    also = ALSO.get(argument, argument)
    return complaint_about(function, given, argument, also, bnn.DivergenceError)


# Results and warnings, and what is called in the tests of its own.
ELSEWHERE = {"PriorCheck", "load"}


def test_every_public_callable_is_called_wrongly():
    """Submodules have theirs too; those of files and pictures are asked in tests of their own."""
    public = {name: vars(bnn).get(name) for name in bnn.__all__}
    public |= {name: getattr(evidence, name) for name in vars(evidence) if name.startswith("fit_")}
    public |= {
        name: value
        for name, value in vars(metrics).items()
        if inspect.isfunction(value)
        and value.__module__ == metrics.__name__
        and not name.startswith("_")
    }
    called = {
        name
        for name, value in public.items()
        if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception))
    }
    assert called - CALLS.keys() == ELSEWHERE


ARGUMENTS = [(name, argument) for name, (_, valid) in CALLS.items() for argument in valid]


@pytest.mark.parametrize("name", CALLS)
def test_the_call_without_wrong_arguments_works(name):
    function, valid = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ensembles trained for one epoch have not arrived
        function(**valid)


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_that_are_not_finite_do_not_pass(name, value):
    """Calls with wrong values may work; with one such number in an array none may."""
    function, valid = CALLS[name]
    for argument, array in valid.items():
        if isinstance(array, np.ndarray) and array.dtype.kind == "f":
            wrong = array.copy()
            wrong[(-1,) * array.ndim] = value
            with pytest.raises(
                ValueError, match=rf"\b({argument}|{ALSO.get(argument, argument)})\b"
            ):
                function(**valid | {argument: wrong})


@settings(max_examples=1000, derandomize=True, deadline=None, database=None)
@given(st.sampled_from(ARGUMENTS), st.sampled_from(range(len(WRONG))))
def test_a_random_wrong_argument_is_named(call, number):
    assert complaint(*call, WRONG[number]) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_named(name):
    for argument in CALLS[name][1]:
        for value in WRONG:
            assert complaint(name, argument, value) is None, (argument, value)
