"""Ensembles in C against the same in Python."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from bnn import HeteroscedasticNoise, VanillaEnsemble
from bnn.export.ensemble import ACTIVATIONS_IN_C
from bnn.networks.activations import ACTIVATIONS
from tests.bnn.export.conftest import agree, agrees_with_python, call
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (30, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]), 1000.0 + X[:, 1] * X[:, 0]])
NEW = RNG.uniform([-1.5, 150.0], [1.5, 450.0], (20, 2))


BY_INPUT = HeteroscedasticNoise([[-3.0, 1.0], [0.3, 0.1], [0.002, 0.003], [0.2, -0.1]], None, (0,))
WITHIN = replace(BY_INPUT, bounds=([-0.6, 260.0], [0.5, 330.0]))
STEEP = replace(BY_INPUT, coefficients=1e4 * BY_INPUT.coefficients)
NOISES = {"constant": np.diag([0.01, 25.0]), "by input": BY_INPUT, "within": WITHIN, "steep": STEEP}


def fitted(activation, hidden=(7, 5), n_members=5, noise=(0.1, 5.0)):
    changes = {"network__hidden": hidden, "network__activation": activation}
    return small(VanillaEnsemble, noise=noise, n_members=n_members, **changes).fit(X, Y)


@pytest.mark.parametrize(
    ("activation", "hidden"), [*((each, (7, 5)) for each in ACTIVATIONS), ("tanh", ())]
)
def test_moments_gradients_and_members_are_those_of_python(compiled, activation, hidden):
    model = fitted(activation, hidden)
    library = compiled(model)
    agrees_with_python(call(library, NEW, 2), model, NEW)
    values = np.empty((5, len(NEW), 2))
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (NEW, values))
    assert library.surrogate_members(len(NEW), *pointers) == 0
    agree(values, model.sample(NEW))
    assert ACTIVATIONS_IN_C.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_total_deviation_and_its_gradient_are_those_of_python(compiled, noise):
    model = fitted("silu")
    model.members_ = replace(model.members_, noise_covariance=noise)
    agrees_with_python(call(compiled(model, include_noise=True), NEW, 2), model, NEW, True)


def test_values_beyond_the_bounds_of_the_prior_do_not_change_with_the_input(compiled):
    model = fitted("silu")
    low, high = np.quantile(model.sample(NEW), [0.2, 0.8], axis=(0, 1))
    model.members_ = replace(model.members_, bounds=np.stack([low, high]))
    agrees_with_python(call(compiled(model, name="plate"), NEW, 2, "plate"), model, NEW)
    assert np.any(model.sample(NEW) == low)
    assert np.any(model.sample(NEW) == high)


def test_a_file_that_would_be_too_large_is_refused_with_the_members_that_fit(compiled, tmp_path):
    model = fitted("tanh", n_members=30, hidden=(20, 20, 20, 20))
    message = r"bytes, more than max_bytes = 100000.*members = \d+ or"
    with pytest.raises(ValueError, match=message) as refusal:
        compiled(model)
    assert not (tmp_path / "model.c").exists()
    fit = int(str(refusal.value).split("members = ")[1].split()[0])
    with pytest.raises(ValueError, match=f"members = {fit} or"):
        compiled(model, members=fit + 1)
    mean = call(compiled(model, members=fit), NEW, 2)[0]
    assert (tmp_path / "model.c").stat().st_size < 100_000
    agree(mean, model.sample(NEW)[:fit].mean(axis=0))
