"""What was built or fitted stays as it is when arrays given or returned are overwritten."""

import copy
import inspect

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import evidence
from tests.bnn.calls import CALLS, NETWORK, PRIOR, UNIT, WEIGHTS, Call, X, Y, answers

K = len(WEIGHTS)
BOUNDS = np.array([[-1.0, 1.0], [-2.0, 2.0]])
NOISE = np.array([0.1, 0.2])
NETWORKS = {
    "start": WEIGHTS,
    "weights": WEIGHTS,
    "inputs": X,
    "targets": np.random.default_rng(0).random((K, 8, 2)),
    "losses": np.zeros((1, K)),
    "epochs": np.ones(K, dtype=int),
    "numbers": np.arange(K),
    "architecture": NETWORK,
    "input_scaler": UNIT,
    "output_scaler": UNIT,
}
MEMBERS = {
    "anchors": WEIGHTS,
    "penalties": np.zeros(K),
    "bounds": BOUNDS.T,
    "noise_covariance": np.eye(2),
}
SEED = np.random.SeedSequence(0)
PRETRAINED = {"prior": PRIOR, "prior_seed": SEED, "inputs_given": True}
CASES = {name: call for name, call in CALLS.items() if inspect.isclass(call.function)} | {
    "Members": Call(bnn.Members, NETWORKS | MEMBERS),
    "Pretrained": Call(bnn.Pretrained, NETWORKS | PRETRAINED),
    "PriorCheck": CALLS["check_prior"],
    "Sensitivity": CALLS["sensitivity"],
    "pretrain": CALLS["pretrain"],
    "Scaling": Call(bnn.Scaling, {"inputs": BOUNDS, "outputs": BOUNDS}),
    "Anchoring": Call(bnn.Anchoring, {"anchors": WEIGHTS, "start": WEIGHTS}),
    "GaussianProcessPrior": Call(
        lambda length_scale, low, features: bnn.GaussianProcessPrior(
            0.5, sk.RBF(length_scale), 2, features=features, bounds=(low, None)
        ),
        {"length_scale": np.array([0.5, 0.7]), "low": np.zeros(2), "features": np.array([1, 0])},
    ),
    "SamplerPrior": Call(
        lambda slopes: bnn.SamplerPrior(lambda X, slopes: X * slopes, {"slopes": slopes}),
        {"slopes": np.ones(2)},
    ),
    "GPRegressor of tensors": Call(
        bnn.GPRegressor,
        {"X": torch.as_tensor(X), "y": torch.as_tensor(Y), "noise": torch.as_tensor(NOISE)},
    ),
    "evidence.fit_prior": CALLS["evidence.fit_prior"],
    "evidence.fit_prior around a model": Call(
        lambda model: evidence.fit_prior(
            X, Y, NOISE, mean=lambda X: model[: len(X)], estimate="map", restarts=0
        ),
        {"model": np.column_stack([np.arange(8.0), np.cos(np.arange(8.0))])},
    ),
}
WITHOUT_ARRAYS = {
    "Architecture",
    "Convergence",
    "FunctionAnchoring",
    "FunctionPrior",
    "IsotropicGaussian",
    "Kernel",
    "MLP",
    "Pretraining",
    "RandomMean",
    "TrainingSettings",
}


def arrays_of(call):
    kinds = np.ndarray | torch.Tensor
    return {name: each for name, each in call.arguments.items() if isinstance(each, kinds)}


def test_all_other_public_classes_are_given_arrays():
    assert {name for name, call in CASES.items() if not arrays_of(call)} == WITHOUT_ARRAYS


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize("name", sorted(CASES.keys() - WITHOUT_ARRAYS))
def test_overwritten_arrays_change_nothing(name):
    call = CASES[name]
    given = copy.deepcopy(arrays_of(call))
    made = call.make(**given)
    returned = answers(made)
    expected = copy.deepcopy(returned)
    assert expected
    for array in given.values():
        array[...] = 1
    np.testing.assert_equal(answers(made), expected)
    for array in returned:
        if array.flags.writeable:
            array[...] = 1
    np.testing.assert_equal(answers(made), expected)
