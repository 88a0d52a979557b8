"""Ensembles in C against the same in Python."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from bnn.export.ensemble import ACTIVATIONS_IN_C
from bnn.networks.activations import ACTIVATIONS
from tests.bnn.export.conftest import agree, agrees_with_python, call
from tests.bnn.two_inputs import NEW, NOISES, ensemble


@pytest.mark.parametrize(
    ("activation", "hidden"), [*((name, (7, 5)) for name in ACTIVATIONS), ("tanh", ())]
)
def test_moments_gradients_and_members_are_those_of_python(compiled, activation, hidden):
    model = ensemble(activation, hidden)
    library = compiled(model)
    agrees_with_python(call(library, NEW, 2), model, NEW)
    values = np.empty((5, len(NEW), 2))
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (NEW, values))
    assert library.surrogate_members(len(NEW), *pointers) == 0
    agree(values, model.sample(NEW))
    assert ACTIVATIONS_IN_C.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_total_deviation_and_its_gradient_are_those_of_python(compiled, noise):
    model = ensemble("silu")
    model.members_ = replace(model.members_, noise_covariance=noise)
    agrees_with_python(call(compiled(model, include_noise=True), NEW, 2), model, NEW, True)


def test_values_beyond_the_bounds_of_the_prior_do_not_change_with_the_input(compiled):
    model = ensemble("silu")
    low, high = np.quantile(model.sample(NEW), [0.2, 0.8], axis=(0, 1))
    model.members_ = replace(model.members_, bounds=np.stack([low, high]))
    agrees_with_python(call(compiled(model, name="plate"), NEW, 2, "plate"), model, NEW)
    assert np.any(model.sample(NEW) == low)
    assert np.any(model.sample(NEW) == high)


def test_a_file_that_would_be_too_large_is_refused_with_the_members_that_fit(compiled, tmp_path):
    model = ensemble("tanh", n_members=30, hidden=(20, 20, 20, 20))
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
