"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bnn
from bnn import evidence, metrics
from tests.wrong_arguments import HUGE
from tests.wrong_arguments import WRONG as WRONG_OF_ANY
from tests.wrong_arguments import complaint as complaint_about

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (8, 2))
Y = np.column_stack([X[:, 0] + 0.1 * RNG.standard_normal(8), RNG.standard_normal(8)])
DATA = {"X": X, "y": Y}
NETWORKS = {"n_members": 3, "hidden": (3,), "noise": 0.1, "init": "glorot", "random_state": 0}
NETWORKS |= {"activation": "silu", "input_bounds": (-1.0, 1.0), "output_bounds": "data"}
NETWORKS |= {"device": "cpu", "progress": False}
EPOCHS = {"epochs": 1, "batch_size": 8, "learning_rate": 0.01, "bias_correction": True}
EPOCHS |= {"members_at_once": 2}
PRIOR = {"prior": bnn.GaussianProcessPrior(n_outputs=2), "n_pretrained": 4, "prior_points": 10}
PRIOR |= {"prior_range": 1.0, "perturbation": 0.01}
FIT = {**DATA, "X_new": X, "return_std": True, "return_cov": False, "total": True}
PRETRAINED = {**PRIOR, "pretrain_epochs": 1, "convergence": None}
KERNEL = {"variance": 1.0, "lengthscale": (1.0, 2.0)}
MOMENTS = {"y": Y, "mean": Y + 0.1, "std": np.ones((8, 2)), "noise": 0.1, "per_output": True}
SAMPLES = {"y": Y, "samples": Y + RNG.standard_normal((5, 8, 2))}
SEARCH = {"restarts": 0, "random_state": 0, "intercept": True, "coefficient_variance": 1.0}
SEARCH |= {"mean_features": (0,)}
MODEL = {"mean": lambda X: X}
VALID = object()  # networks pre-trained once, when they are needed


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


@functools.cache
def pretrained_once():
    return bnn.pretrain(bnn.GaussianProcessPrior(n_outputs=2), X, hidden=(3,), n_pretrained=4,
                        settings=bnn.TrainingSettings(epochs=1), random_state=0)  # fmt: skip


def pretrained_of(function):
    """Return a call of a function of pre-trained networks."""
    return lambda pretrained, **given: function(
        pretrained_once() if pretrained is VALID else pretrained, **given
    )


ONCE = bnn.TrainingSettings(epochs=1)
TO_DATA = {**DATA, "noise": 0.1, "n_members": 3, "device": "cpu", "random_state": 0}
CALLS = {
    "VanillaEnsemble": (
        trained(bnn.VanillaEnsemble),
        {**FIT, **NETWORKS, **EPOCHS, "resampling": "none"},
    ),
    "AnchoredEnsemble": (
        trained(bnn.AnchoredEnsemble),
        {**FIT, **NETWORKS, **EPOCHS, **PRETRAINED, "resampling": "none",
         "regulariser": "factorised", "anchors": "pretrained", "optimiser": "adam"},
    ),
    "FunctionAnchoredEnsemble": (
        trained(bnn.FunctionAnchoredEnsemble),
        {**FIT, **NETWORKS, **PRETRAINED, "points": 5, "nugget": 0.01, "tolerance": 0.5,
         "iterations": 1, "realisations": 20, "centred": True},
    ),
    "ExactPosterior": (trained(bnn.ExactPosterior), {**FIT, "prior": PRIOR["prior"], "noise": 0.1}),
    "ComponentRegressor": (
        trained(bnn.ComponentRegressor),
        {**FIT, "estimator": bnn.ExactPosterior(PRIOR["prior"], noise=0.1), "components": None},
    ),
    "PrincipalComponents": (bnn.PrincipalComponents.fit, {"y": Y, "explained": 0.5}),
    "pretrain": (
        bnn.pretrain,
        {**{k: v for k, v in NETWORKS.items() if k not in ("n_members", "noise")}, **PRIOR,
         "X": X, "n_features": 2, "n_outputs": 2, "settings": ONCE, "nugget": 0.01},
    ),
    "anchor": (
        pretrained_of(bnn.anchor),
        {**TO_DATA, "pretrained": VALID, "regulariser": "factorised", "anchors": "pretrained",
         "start": "anchors", "optimiser": "adam", "resampling": "none", "settings": ONCE},
    ),
    "anchor_functions": (
        pretrained_of(bnn.anchor_functions),
        {**TO_DATA, "pretrained": VALID, "settings": bnn.FunctionAnchoring(5, iterations=1)},
    ),
    "train_vanilla": (
        bnn.train_vanilla, {**DATA, **NETWORKS, "resampling": "none", "settings": ONCE}
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
        lambda **fields: bnn.LinearMean(**fields)(X),
        {"coefficients": np.ones((2, 2)), "intercept": 1.0},
    ),
    "latin_hypercube": (
        bnn.latin_hypercube, {"n": 5, "n_features": 2, "random_state": 0, "bound": 2.0}
    ),
    "Architecture": (bnn.Architecture, {"widths": (2, 3, 1), "activation": "silu"}),
    "BoundsScaler": (bnn.BoundsScaler, {"low": [0.0, 1.0], "high": [1.0, 2.0]}),
    "RBF": (kernel(bnn.RBF), KERNEL),
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
    "crps": (metrics.crps, {**SAMPLES, "per_output": True}),
    "crps_gaussian": (metrics.crps_gaussian, MOMENTS),
    "coverage": (metrics.coverage, {**MOMENTS, "level": 0.9}),
}  # fmt: skip
COUNTS = {"n_members", "n_pretrained", "prior_points", "epochs", "pretrain_epochs", "points",
          "iterations", "realisations", "restarts", "n_samples", "n", "n_features", "n_outputs",
          "widths", "batch_size", "members_at_once", "window"}  # fmt: skip
WRONG = [*WRONG_OF_ANY, stats.norm, bnn.RBF(), bnn.RBF]
# What messages call an argument, beside its name: scikit-learn's and relations between two.
ALSO = {
    "X": "y|[Aa]rray|inputs?|data", "y": "X|[Aa]rray|outputs?|data", "X_new": "X|[Aa]rray",
    "n_outputs": "prior|outputs|kernel", "n_features": "inputs", "prior": "outputs|inputs",
    "points": "X|inputs?|features", "std": "shapes",
    "function": "realisation of the prior|prior|mean|argument",
    "random_state": "Seed", "parameters": "prior|parameters?", "at": "X|features",
    "n_pretrained": "n_members", "low": "bounds", "high": "bounds",
}  # fmt: skip


def complaint(name, argument, value):
    """Return what is wrong with the answer to a call; None where it works or names the argument."""
    function, valid = CALLS[name]
    given, also = valid | {argument: value}, ALSO.get(argument, argument)
    return complaint_about(function, given, argument, also, bnn.DivergenceError)


ARGUMENTS = [(name, argument) for name, (_, valid) in CALLS.items() for argument in valid]


@pytest.mark.parametrize("name", CALLS)
def test_the_call_without_wrong_arguments_works(name):
    function, valid = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ensembles trained for one epoch have not arrived
        function(**valid)


@settings(max_examples=1000, derandomize=True, deadline=None, database=None)
@given(st.sampled_from(ARGUMENTS), st.sampled_from(range(len(WRONG))))
def test_a_random_wrong_argument_is_named(call, number):
    value = WRONG[number]
    if value is HUGE and call[1] in COUNTS:
        return
    assert complaint(*call, value) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_named(name):
    for argument in CALLS[name][1]:
        for value in WRONG:
            if not (value is HUGE and argument in COUNTS):
                assert complaint(name, argument, value) is None, (argument, value)
