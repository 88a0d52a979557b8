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

import bnn
from bnn import evidence, metrics
from bnn.estimators.members import data_gradient
from bnn.priors.samplers import latin_hypercube
from bnn.training.loop import train
from bnn.weight_priors import layer_statistics
from tests.wrong_arguments import WRONG as WRONG_OF_ANY
from tests.wrong_arguments import complaint as complaint_about

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (8, 2))
Y = np.column_stack([X[:, 0] + 0.1 * RNG.standard_normal(8), RNG.standard_normal(8)])
DATA = {"X": X, "y": Y}
ONCE = bnn.TrainingSettings(epochs=1)
NETWORKS = {"n_members": 3, "network": bnn.Architecture((3,), "silu"), "noise": 0.1}
NETWORKS |= {"scaling": bnn.Scaling((-1.0, 1.0), "data"), "device": "cpu", "random_state": 0}
EPOCHS = {"epochs": 1, "batch_size": 8, "learning_rate": 0.01, "bias_correction": True}
EPOCHS |= {"members_at_once": 2, "progress": False}
BRIEFLY = bnn.Pretraining(4, 10, training=ONCE)
PRIOR = {"prior": bnn.GaussianProcessPrior(n_outputs=2)}
FIT = {**DATA, "X_new": X, "return_std": True, "return_cov": False, "total": True}
PRETRAINED = {**PRIOR, "pretraining": BRIEFLY}
KERNEL = {"variance": 1.0, "lengthscale": (1.0, 2.0)}
MOMENTS = {"y": Y, "mean": Y + 0.1, "std": np.ones((8, 2)), "noise": 0.1, "per_output": True}
SAMPLES = {"y": Y, "samples": Y + RNG.standard_normal((5, 8, 2))}
SEARCH = {"restarts": 0, "random_state": 0, "intercept": True, "coefficient_variance": 1.0}
SEARCH |= {"mean_features": (0,)}
MODEL = {"mean": lambda X: X}
VALID = object()  # networks pre-trained or trained once, when they are needed
EXACT = bnn.ExactPosterior(PRIOR["prior"], noise=0.1).fit(X, Y)
COMPONENTS = bnn.PrincipalComponents(np.zeros(2), np.eye(2), np.eye(2))
UNIT = bnn.BoundsScaler(-np.ones(2), np.ones(2))
NETWORK = bnn.MLP((2, 3, 2), "silu")
D = NETWORK.n_weights
DENSITY = {"mean": np.zeros(D), "n": 2, "weights": np.ones((2, D))}
SMALL = {"network": bnn.Architecture((3,)), "n_members": 3, "noise": 0.1, "training": ONCE}
SMALL |= {"random_state": 0}


def trained(kind):
    """Return a call of an estimator: its parameters, data to fit, and points to predict."""

    def call(X, y, X_new, return_std, return_cov, total, **parameters):
        model = kind(**parameters).fit(X, y)
        model.predict(X_new, return_std, return_cov, total)
        model.sample(X_new)

    return call


def kernel(kind):
    return lambda **parameters: kind(**parameters)(X, X[:3])


def sampled(kind):
    """Return a call of a prior, which is then asked for realisations."""

    def call(at=X, n_samples=2, random_state=0, **fields):
        return kind(**fields).sample(at, n_samples, random_state)

    return call


def density(kind):
    """Return a call of a weight prior, which is then asked for networks and densities."""

    def call(n, weights, **parameters):
        made = kind(**parameters)
        made.sample(n, 0)
        made.log_prob(weights)

    return call


@functools.cache
def trained_once():
    network = bnn.Architecture((3,), "silu")
    return bnn.train_vanilla(**DATA, noise=0.1, n_members=3, network=network, training=ONCE)


@functools.cache
def pretrained_once():
    network = bnn.Architecture((3,))
    settings = bnn.Pretraining(4, training=ONCE)
    return bnn.pretrain(**PRIOR, X=X, network=network, settings=settings, random_state=0)


def pretrained_of(function):
    """Return a call of a function of pre-trained networks."""
    return lambda pretrained, **given: function(
        pretrained_once() if pretrained is VALID else pretrained, **given
    )


TO_DATA = {**DATA, "noise": 0.1, "n_members": 3, "device": "cpu", "random_state": 0}
CALLS = {
    "VanillaEnsemble": (
        trained(bnn.VanillaEnsemble),
        {**FIT, **NETWORKS, "training": ONCE, "resampling": "none"},
    ),
    "AnchoredEnsemble": (
        trained(bnn.AnchoredEnsemble),
        {**FIT, **NETWORKS, **PRETRAINED, "training": ONCE, "anchoring": bnn.Anchoring()},
    ),
    "FunctionAnchoredEnsemble": (
        trained(bnn.FunctionAnchoredEnsemble),
        {**FIT, **NETWORKS, **PRETRAINED,
         "anchoring": bnn.FunctionAnchoring(5, 0.01, iterations=1, realisations=20)},
    ),
    "ExactPosterior": (trained(bnn.ExactPosterior), {**FIT, "prior": PRIOR["prior"], "noise": 0.1}),
    "ComponentRegressor": (
        trained(bnn.ComponentRegressor),
        {**FIT, "estimator": bnn.ExactPosterior(PRIOR["prior"], noise=0.1), "components": None},
    ),
    "ExactPosterior.elppd": (EXACT.elppd, {"X": X, "y": Y}),
    "ExactPosterior.joint_moments": (EXACT.joint_moments, {"X": X}),
    "ExactPosterior.sample": (EXACT.sample, {"X": X, "n_samples": 2, "random_state": 0}),
    "PrincipalComponents": (
        bnn.PrincipalComponents,
        {"mean": np.zeros(2), "vectors": np.eye(2), "residual": np.eye(2)},
    ),
    "PrincipalComponents.fit": (bnn.PrincipalComponents.fit, {"y": Y, "explained": 0.5}),
    "PrincipalComponents.transform": (COMPONENTS.transform, {"y": Y}),
    "PrincipalComponents.inverse_transform": (COMPONENTS.inverse_transform, {"scores": Y}),
    "choose": (
        bnn.choose,
        {"model": EXACT, "candidates": X, "n": 2, "region": X, "pending": X[:1],
         "replicates": False, "output_ranges": (1.0, 2.0), "random_state": 0},
    ),
    "pretrain": (
        bnn.pretrain,
        {**{k: v for k, v in NETWORKS.items() if k not in ("n_members", "noise")}, **PRIOR,
         "X": X, "n_features": 2, "n_outputs": 2, "settings": BRIEFLY, "nugget": 0.01},
    ),
    "anchor": (
        pretrained_of(bnn.anchor),
        {**TO_DATA, "pretrained": VALID, "training": ONCE, "anchoring": bnn.Anchoring()},
    ),
    "anchor_functions": (
        pretrained_of(bnn.anchor_functions),
        {**TO_DATA, "pretrained": VALID, "anchoring": bnn.FunctionAnchoring(5, iterations=1)},
    ),
    "AnchoredEnsemble.pretrain": (
        lambda **given: bnn.AnchoredEnsemble(**PRETRAINED, **SMALL).pretrain(**given),
        {"X": X, "n_features": 2},
    ),
    "AnchoredEnsemble.sample_prior": (
        lambda X: bnn.AnchoredEnsemble(pretrained_once(), **SMALL).fit(*DATA.values())
        .sample_prior(X),
        {"X": X},
    ),
    "Pretrained": (lambda X: pretrained_once().sample(X), {"X": X}),
    "Pretrained.select": (lambda members: pretrained_once().select(members), {"members": [0, 1]}),
    "Pretrained.weight_prior": (
        lambda regulariser: pretrained_once().weight_prior(regulariser),
        {"regulariser": "factorised"},
    ),
    "Members": (lambda X: trained_once().sample(X), {"X": X}),
    "data_gradient": (
        lambda members, weights: data_gradient(
            trained_once() if members is VALID else members, weights
        ),
        {"members": VALID, "weights": np.ones((3, NETWORK.n_weights))},
    ),
    "train": (
        train,
        {"architecture": NETWORK, "weights": np.ones((3, NETWORK.n_weights), dtype=np.float32),
         "X": X, "y": np.stack([Y] * 3), "settings": ONCE, "device": "cpu",
         "seeds": np.arange(3, dtype=np.uint32), "objective": None, "progress": None},
    ),
    "train_vanilla": (
        bnn.train_vanilla, {**DATA, **NETWORKS, "resampling": "none", "training": ONCE}
    ),
    "TrainingSettings": (
        bnn.TrainingSettings,
        {**EPOCHS, "beta1": 0.9, "beta2": 0.9, "epsilon": 1e-7, "convergence": None},
    ),
    "Convergence": (
        bnn.Convergence, {"residual_variance": 0.1, "improvement": 0.1, "window": 5}
    ),
    "fit_prior": (
        evidence.fit_prior, {**DATA, **SEARCH, **MODEL, "noise": 0.1, "estimate": "maximum"}
    ),
    "fit_noise": (evidence.fit_noise, {**DATA, **SEARCH, **MODEL}),
    "fit_heteroscedastic_noise": (
        evidence.fit_heteroscedastic_noise,
        {**DATA, **SEARCH, "squares": (), "slope_deviation": 1.0},
    ),
    "lengthscales": (evidence.lengthscales, {"prior": bnn.GaussianProcessPrior()}),
    "check_prior": (
        bnn.check_prior,
        {**DATA, "prior": PRIOR["prior"], "noise": 0.1, "realisations": 20, "random_state": 0},
    ),
    "GaussianProcessPrior": (
        sampled(bnn.GaussianProcessPrior),
        {"mean": 0.0, "kernel": bnn.RBF(), "n_outputs": 2, "features": (0, 1),
         "bounds": (-1.0, 1.0), "at": X, "n_samples": 2, "random_state": 0},
    ),
    "MixturePrior": (
        sampled(bnn.MixturePrior),
        {"components": [bnn.GaussianProcessPrior()] * 2, "weights": [0.5, 0.5]},
    ),
    "SamplerPrior": (
        sampled(bnn.SamplerPrior),
        {"function": lambda X, *_, **__: X, "parameters": {"a": stats.norm(0.0, 1.0)}, "at": X,
         "n_samples": 2, "random_state": 0},
    ),
    "TablePrior": (
        sampled(bnn.TablePrior),
        {"points": X, "values": np.ones((3, 8, 2)), "interpolation": "nearest"},
    ),
    "RandomMean": (
        lambda function: bnn.GaussianProcessPrior(bnn.RandomMean(function)).sample(X, 2, 0),
        {"function": lambda X, _: X[:, 0]},
    ),
    "LinearMean": (
        lambda at, **fields: bnn.LinearMean(**fields)(at),
        {"coefficients": np.ones((2, 2)), "intercept": 1.0, "at": X},
    ),
    "GaussianProcessPrior.covariance": (
        PRIOR["prior"].covariance, {"A": X, "B": X, "output": 0}
    ),
    "GaussianProcessPrior.covariances": (PRIOR["prior"].covariances, {"A": X, "B": X}),
    "GaussianProcessPrior.mean_values": (PRIOR["prior"].mean_values, {"X": X, "rng": None}),
    "latin_hypercube": (
        latin_hypercube, {"n": 5, "n_features": 2, "random_state": 0, "bound": 2.0}
    ),
    "FunctionAnchoring": (
        bnn.FunctionAnchoring,
        {"points": 5, "nugget": 0.01, "tolerance": 0.5, "iterations": 1, "realisations": 20,
         "centred": True, "progress": False},
    ),
    "Anchoring": (
        bnn.Anchoring,
        {"regulariser": "factorised", "anchors": "pretrained", "start": "anchors",
         "optimiser": "adam", "resampling": "none"},
    ),
    "Pretraining": (
        bnn.Pretraining,
        {"n_networks": 4, "n_points": 10, "range_factor": 1.0, "perturbation": 0.01,
         "training": ONCE},
    ),
    "Scaling": (bnn.Scaling, {"inputs": (-1.0, 1.0), "outputs": "data"}),
    "Architecture": (
        bnn.Architecture, {"hidden": (3,), "activation": "silu", "init": "glorot"}
    ),
    "Architecture.mlp": (bnn.Architecture((3,)).mlp, {"n_inputs": 2, "n_outputs": 1}),
    "HeteroscedasticNoise": (
        lambda at, **fields: bnn.HeteroscedasticNoise(**fields)(at),
        {"coefficients": np.zeros((4, 2)), "correlation": np.eye(2), "squares": (0,), "at": X},
    ),
    "HeteroscedasticNoise.from_replicates": (
        bnn.HeteroscedasticNoise.from_replicates,
        {"X": X.repeat(2, axis=0), "y": RNG.standard_normal((16, 2)),
         "groups": np.arange(8).repeat(2), "squares": (0,), "slope_deviation": 1.0},
    ),
    "StudentNoise": (
        lambda **fields: metrics.elppd(**SAMPLES, noise=bnn.StudentNoise(**fields)),
        {"noise": 0.1, "freedom": 4.0},
    ),
    "FactorisedGaussian": (density(bnn.FactorisedGaussian), {**DENSITY, "variance": np.ones(D)}),
    "FactorisedGeneralisedNormal": (
        density(bnn.FactorisedGeneralisedNormal),
        {**DENSITY, "alpha": np.ones(D), "beta": np.ones(D)},
    ),
    "IsotropicGaussian": (
        density(bnn.IsotropicGaussian),
        {"variance": 1.0, "n_weights": D, "n": 2, "weights": np.ones((2, D))},
    ),
    "LowRankGaussian": (
        density(bnn.LowRankGaussian),
        {**DENSITY, "singular_values": np.ones(3), "directions": np.eye(D)[:, :3],
         "n_networks": 4},
    ),
    "ProbabilisticPCA": (
        density(bnn.ProbabilisticPCA),
        {**DENSITY, "deviations": np.ones(3), "directions": np.eye(D)[:, :3],
         "noise_variance": 1.0},
    ),
    "LowRankGaussian.fit": (
        bnn.LowRankGaussian.fit,
        {"weights": RNG.standard_normal((4, D)), "architecture": NETWORK},
    ),
    "layer_statistics": (
        layer_statistics,
        {"weights": RNG.standard_normal((4, D)), "architecture": NETWORK},
    ),
    "MLP.initial_weights": (
        NETWORK.initial_weights, {"n": 2, "random_state": 0, "init": "he"}
    ),
    "MLP": (bnn.MLP, {"widths": (2, 3, 1), "activation": "silu"}),
    "BoundsScaler": (bnn.BoundsScaler, {"low": [0.0, 1.0], "high": [1.0, 2.0]}),
    "BoundsScaler.fit": (bnn.BoundsScaler.fit, {"values": X}),
    "BoundsScaler.transform": (UNIT.transform, {"values": X}),
    "BoundsScaler.inverse_transform": (UNIT.inverse_transform, {"values": X}),
    "BoundsScaler.transform_covariance": (UNIT.transform_covariance, {"covariance": np.eye(2)}),
    "RBF": (kernel(bnn.RBF), KERNEL),
    "Matern12": (kernel(bnn.Matern12), KERNEL),
    "Matern52": (kernel(bnn.Matern52), KERNEL),
    "RBF.__call__": (bnn.RBF(), {"X": X, "Y": X}),
    "RBF.diag": (bnn.RBF().diag, {"X": X}),
    "Linear.diag": (bnn.Linear().diag, {"X": X}),
    "Matern32": (kernel(bnn.Matern32), KERNEL),
    "RationalQuadratic": (kernel(bnn.RationalQuadratic), {**KERNEL, "alpha": 1.0}),
    "Periodic": (kernel(bnn.Periodic), {**KERNEL, "period": 1.0}),
    "Linear": (kernel(bnn.Linear), {"variance": 1.0, "offset": 1.0, "origin": (0.0, 1.0)}),
    "factor": (lambda factor: factor * bnn.RBF(), {"factor": 2.0}),
    "rmse": (metrics.rmse, {"y": Y, "mean": Y, "per_output": True}),
    "miscalibration_area": (metrics.miscalibration_area, MOMENTS),
    "elppd": (metrics.elppd, {**SAMPLES, "noise": 0.1, "density": "mixture"}),
    "elppd_gaussian": (
        metrics.elppd_gaussian, {k: v for k, v in MOMENTS.items() if k != "per_output"}
    ),
    "calibration_curve": (
        metrics.calibration_curve, {k: v for k, v in MOMENTS.items() if k != "per_output"}
    ),
    "crps": (metrics.crps, {**SAMPLES, "per_output": True}),
    "crps_gaussian": (metrics.crps_gaussian, MOMENTS),
    "coverage": (metrics.coverage, {**MOMENTS, "level": 0.9}),
}  # fmt: skip
TENSOR = torch.ones((8, 2))
WRONG = [*WRONG_OF_ANY, stats.norm, bnn.RBF(), bnn.RBF, TENSOR, TENSOR.clone().requires_grad_()]
# What messages call an argument, beside its name: scikit-learn's and relations between two.
ALSO = {
    "X": "y|[Aa]rray|inputs?|data", "y": "X|[Aa]rray|outputs?|data", "X_new": "X|[Aa]rray",
    "n_outputs": "prior|outputs|kernel", "n_features": "inputs", "prior": "outputs|inputs",
    "points": "X|inputs?|features", "std": "shapes",
    "function": "realisation of the prior|prior|mean|argument",
    "random_state": "Seed", "parameters": "prior|parameters?", "at": "X|features|coefficients",
    "n_pretrained": "n_members", "low": "bounds", "high": "bounds", "n_weights": "weights",
    "coefficients": "correlation|squares|noise", "squares": "noise", "mean": "means",
}  # fmt: skip


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
