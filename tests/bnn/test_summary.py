"""The table of a fitted estimator says its length scales, components and noise."""

import re

import numpy as np
import pandas as pd
from sklearn.gaussian_process import kernels as sk

import bnn

RNG = np.random.default_rng(0)
X = np.vstack([[0.0, 100.0], [2.0, 500.0], RNG.uniform([0.0, 100.0], [2.0, 500.0], (10, 2))])
Y = np.column_stack([np.linspace(0.0, 4.0, 12), np.linspace(-1.0, 1.0, 12)])


def rows(text):
    """Entries by the title of their row; titles may have single spaces."""
    lines = [re.split(r" {2,}", line) for line in text.splitlines()[1:]]
    return {title: entries for title, *entries in lines}


def test_length_scales_are_relative_to_the_range_of_each_input():
    first = bnn.RBF(1.0, (0.5, 100.0)) + bnn.Linear()
    second = bnn.Matern52(1.0, 4.0) * sk.RBF(1.0) + bnn.Matern52(1.0, 8.0)
    prior = bnn.GaussianProcessPrior(0.0, [first, second], 2, active_dims=[[0, 1], [0]])
    frame = pd.DataFrame(X, columns=["vf", "E_f"])
    text = bnn.GPRegressor(prior, noise=[0.1, 0.5]).fit(frame, Y).summary()
    assert rows(text) == {
        "": ["y0", "y1"],
        "length scale / range of vf, RBF": ["0.25", "0.5"],
        "length scale / range of E_f, RBF": ["0.25", "–"],
        "length scale / range of vf, Matern52": ["–", "2"],
        "length scale / range of vf, Matern52 2": ["–", "4"],
        "noise, constant": ["0.1", "0.5"],
        "noise / range": ["0.025", "0.25"],
    }


def test_inputs_come_in_the_order_of_the_data():
    """Whatever their order in active_dims."""
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, (2.0, 1.0)), active_dims=[1, 0])
    values = rows(bnn.GPRegressor(prior, noise=0.1).fit(X, Y[:, 0]).summary())
    assert [title for title in values if title.startswith("length")] == [
        "length scale / range of x0, RBF",
        "length scale / range of x1, RBF",
    ]


def test_a_component_without_weight_has_no_effect():
    components = [bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, L)) for L in (np.inf, 2.0)]
    model = bnn.GPRegressor(bnn.MixturePrior(components, [0.5, 0.5]), noise=1e-3)
    text = model.fit(X[:, :1], 100.0 * Y[:, 0]).summary()
    assert model.posterior_.shares[0, 0] == 0.0
    assert rows(text)["length scale / range of x0, RBF"] == ["1"]


def test_components_count_by_their_posterior_weights():
    """Weights p, 1 - p: 1 / (p² + (1 - p)²) count, and length scales are geometric means."""
    components = [bnn.GaussianProcessPrior(0.0, bnn.RBF(4.0, L)) for L in (0.01, 0.02)]
    model = bnn.GPRegressor(bnn.MixturePrior(components, [0.5, 0.5]), noise=0.1)
    values = rows(model.fit(X[:, :1], Y[:, 0]).summary())
    p = model.posterior_.shares[0, 0]
    assert 0.01 < p < 0.99
    assert values["effective components"] == [f"{1.0 / (p**2 + (1.0 - p) ** 2):.1f}"]
    assert values["largest weight"] == [f"{max(p, 1.0 - p):.2g}"]
    assert values["length scale / range of x0, RBF"] == [f"{0.01 * 0.5**p:.3g}"]
