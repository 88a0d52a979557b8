"""What is refused before a C file is written."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import bnn
from bnn.export import to_c

X = np.linspace(-1.0, 1.0, 9)[:, None]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "2d"}, "name = '2d': must be a name in C"),
        ({"name": "f(x)"}, "must be a name in C"),
        ({"members": 3}, "members = 3: a GPRegressor has none"),
        ({"max_bytes": 0}, "max_bytes = 0: must be an integer >= 1"),
        ({"max_bytes": 900}, r"more than max_bytes = 900: take fewer data or a larger max_bytes"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, words):
    model = bnn.GPRegressor().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=words):
        to_c(model, tmp_path / "model.c", **options)
    assert not (tmp_path / "model.c").exists()


def test_other_models_and_such_without_data_are_refused(tmp_path):
    with pytest.raises(
        TypeError, match="model is an instance of LinearRegression: must be a GPRegressor"
    ):
        to_c(LinearRegression(), tmp_path / "model.c")
    with pytest.raises(NotFittedError):
        to_c(bnn.GPRegressor(), tmp_path / "model.c")
