"""What was built or fitted stays as it is when arrays given or returned are overwritten."""

import copy
import inspect

import numpy as np
import pandas as pd
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


def test_data_frames_are_kept_as_arrays_which_files_can_store(tmp_path):
    slopes, weights = pd.Series([1.0, 2.0]), pd.Series([0.5, 0.5])
    prior = bnn.GaussianProcessPrior(bnn.LinearMean(slopes), bnn.RBF(1.0, 0.5))
    mixture = bnn.MixturePrior([prior, prior], weights)
    model = bnn.GPRegressor(mixture, noise=0.1).fit(X, Y)
    expected = model.predict(X)
    slopes.iloc[0] = weights.iloc[0] = 9.0
    np.testing.assert_array_equal(model.predict(X), expected)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(bnn.load(tmp_path / "model.npz").predict(X), expected)
    bounds = pd.DataFrame([[0.0, 1.0], [10.0, 30.0]])
    assert type(bnn.Scaling(inputs=bounds).inputs) is np.ndarray


def test_a_function_of_the_user_cannot_change_the_data():
    def mean(X):
        X *= 2.0
        return X[:, 0]

    prior = bnn.GaussianProcessPrior(mean, bnn.RBF(1.0, 0.5))
    with pytest.raises(ValueError, match="read-only"):
        bnn.GPRegressor(prior, noise=0.1).fit(X, Y[:, 0])
