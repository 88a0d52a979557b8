"""What was built or fitted stays as it is when arrays given or returned are overwritten."""

import copy
import inspect

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import kernels as sk

import bnn
from tests.bnn.calls import CALLS, MEMBERS, PRETRAINED, WEIGHTS, Call, X, Y, answers, parts

CASES = {name: call for name, call in CALLS.items() if inspect.isclass(call.function)} | {
    "Members": Call(bnn.Members, parts(MEMBERS)),
    "Pretrained": Call(bnn.Pretrained, parts(PRETRAINED)),
    "PriorCheck": CALLS["check_prior"],
    "Sensitivity": CALLS["sensitivity"],
    "pretrain": CALLS["pretrain"],
    "Anchoring": Call(bnn.Anchoring, {"anchors": WEIGHTS, "initial_weights": WEIGHTS}),
    "GaussianProcessPrior": Call(
        lambda length_scale, low, active_dims: bnn.GaussianProcessPrior(
            0.5, sk.RBF(length_scale), 2, active_dims=active_dims, bounds=(low, None)
        ),
        {"length_scale": np.array([0.5, 0.7]), "low": np.zeros(2), "active_dims": np.array([1, 0])},
    ),
    "SamplerPrior": Call(
        lambda slopes: bnn.SamplerPrior(lambda X, slopes: X * slopes, {"slopes": slopes}),
        {"slopes": np.ones(2)},
    ),
    "GPRegressor of tensors": Call(
        bnn.GPRegressor,
        {"X": torch.as_tensor(X), "y": torch.as_tensor(Y), "noise": torch.as_tensor([0.1, 0.2])},
    ),
    "evidence.fit_prior": CALLS["evidence.fit_prior"],
}


def arrays_of(call):
    kinds = np.ndarray | torch.Tensor
    return {name: value for name, value in call.arguments.items() if isinstance(value, kinds)}


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("name", [name for name, call in CASES.items() if arrays_of(call)])
def test_overwritten_arrays_change_nothing(name):
    call = CASES[name]
    arrays = copy.deepcopy(arrays_of(call))
    made = call.make(**arrays)
    returned = answers(made)
    expected = copy.deepcopy(returned)
    assert expected
    for array in arrays.values():
        array[...] = 1
    np.testing.assert_equal(answers(made), expected)
    for array in returned:
        if array.flags.writeable:
            array[...] = 1
    np.testing.assert_equal(answers(made), expected)
