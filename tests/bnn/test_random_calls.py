"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import warnings
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bnn
from tests.bnn.calls import CALLS
from tests.wrong_arguments import WRONG as WRONG_OF_ANY
from tests.wrong_arguments import complaint as complaint_about

TENSOR = torch.ones((8, 2))
WRONG = [*WRONG_OF_ANY, stats.norm, bnn.RBF(), bnn.RBF, TENSOR, TENSOR.clone().requires_grad_()]
# What messages call an argument, beside its name: scikit-learn's and relations between two.
ALSO = {
    "X": "y|[Aa]rray|inputs?|data|features|coefficients",
    "y": "X|[Aa]rray|outputs?|data|noise",
    "coefficients": "correlation|squares|noise",
    "function": "realisation of the prior|prior|mean|argument",
    "high": "bounds",
    "low": "bounds",
    "mean": "means",
    "n_features": "inputs",
    "n_outputs": "prior|outputs|kernel",
    "n_weights": "weights",
    "other": "factor",
    "parameters": "prior|parameters?",
    "points": "X|inputs?|features",
    "prior": "outputs|inputs",
    "random_state": "Seed",
    "squares": "noise",
    "std": "shapes",
}
INFINITE = {"lengthscale", "reach"}  # parameters that leave an input out, or have no end


def complaint(name, argument, value):
    """Return what is wrong with the answer to a call; None where it works or names the argument."""
    call = CALLS[name]
    changed = call.arguments | {argument: value}
    also = ALSO.get(argument, argument)
    return complaint_about(call.run, changed, argument, also, bnn.DivergenceError)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", CALLS)
def test_the_call_without_wrong_arguments_works(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ensembles trained for one epoch have not arrived
        CALLS[name].run()


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, call in CALLS.items()
        if any(isinstance(each, np.ndarray) for each in call.arguments.values())
    ],
)
def test_numbers_that_are_not_finite_do_not_pass(name):
    """Calls with wrong values may work; with one such number in an array none may."""
    call = CALLS[name]
    for (argument, array), value in product(call.arguments.items(), [np.nan, np.inf]):
        if argument in INFINITE and value == np.inf:
            continue
        if isinstance(array, np.ndarray) and array.dtype.kind == "f":
            wrong = array.copy()
            wrong[(-1,) * array.ndim] = value
            words = rf"\b({argument}|{ALSO.get(argument, argument)})\b"
            with pytest.raises(ValueError, match=words):
                call.run(**{argument: wrong})


# An array of numbers → the same with an entry that is no real number.
NOT_REAL = {
    "masked entries": lambda array: np.ma.masked_array(
        array, np.arange(array.size).reshape(array.shape) == 0
    ),
    "Complex": lambda array: array + 0j,
    "Complex data": lambda array: with_object(array, 1j),
    "True or False": lambda array: array > 0.0,
    "not True": lambda array: with_object(array, True),
    "durations": lambda array: (1e3 * array).astype("m8[s]"),
    "not durations": lambda array: with_object(array, np.timedelta64(1, "s")),
    "dates": lambda array: (1e3 * array).astype("M8[s]"),
}


def with_object(array, entry):
    changed = array.astype(object)
    changed.flat[0] = entry
    return changed


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize("words", NOT_REAL)
def test_what_is_no_real_number_does_not_pass(words):
    """NumPy would take the real part, a number of some unit, 1 or 0, or what the mask hides."""
    passed = []
    for name, call in CALLS.items():
        for argument, array in call.arguments.items():
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                try:
                    call.run(**{argument: NOT_REAL[words](array)})
                    passed.append((name, argument, "nothing is said"))
                except ValueError as error:
                    if words not in str(error):
                        passed.append((name, argument, str(error)))
    assert not passed


ARGUMENTS = [(name, argument) for name, call in CALLS.items() for argument in call.arguments]


@pytest.mark.slow
@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.sampled_from(ARGUMENTS), st.sampled_from(range(len(WRONG))))
def test_a_random_wrong_argument_is_named(call, number):
    assert complaint(*call, WRONG[number]) is None


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_named(name):
    for argument in CALLS[name].arguments:
        for value in WRONG:
            assert complaint(name, argument, value) is None, (argument, value)
