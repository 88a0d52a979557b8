"""Kernels and priors of one's own: the page about them runs, and what it says of them holds."""

import re
from pathlib import Path

import numpy as np
import pytest

import bnn
from bnn.storage import values
from tests.bnn.calls import OwnKernel, OwnPrior

ROOT = Path(bnn.__file__).parents[1]
PAGE = (ROOT / "docs" / "custom_priors.md").read_text(encoding="utf-8")
CODES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 1.5, (12, 1))
Y = 2.0 * X[:, 0] + 0.1 * RNG.standard_normal(12)
PROCESS = bnn.GaussianProcessPrior(0.0, OwnKernel())


def test_the_page_prints_what_stands_there_and_its_prior_agrees_with_the_data(capsys):
    names = {}
    exec(compile(CODES[0], "docs/custom_priors.md", "exec"), names)
    (printed,) = re.findall(r"```\n(own: .*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == printed
    exec(compile(CODES[1], "docs/custom_priors.md", "exec"), names)
    assert names["p_value"] > 0.05
    prior = names["prior"]
    there = prior.sample(np.array([[2.0], [3.0]]), 30, 0)
    elsewhere = prior.sample(np.array([[5.0], [3.0], [2.0]]), 30, 0)
    np.testing.assert_array_equal(elsewhere[:, [2, 1]], there)


@pytest.mark.slow
def test_the_networks_of_the_page_know_the_truth(capsys):
    names = {}
    for code in CODES:
        exec(compile(code, "docs/custom_priors.md", "exec"), names)
    assert "networks: " in capsys.readouterr().out
    truth = 1.0 + 0.8 / 1.5**2
    assert abs(names["mean"][0] - truth) < 2.0 * names["std"][0] < 0.2


def test_a_posterior_with_an_own_kernel_is_that_of_its_closed_form():
    """Lines through the origin: Bayesian regression of one slope of variance one."""
    model = bnn.GPRegressor(PROCESS, noise=0.1).fit(X, Y)
    precision = 1.0 + X[:, 0] @ X[:, 0] / 0.01
    slope = X[:, 0] @ Y / 0.01 / precision
    mean, std = model.predict([[3.0]], return_std=True)
    np.testing.assert_allclose(mean, 3.0 * slope, rtol=1e-8)
    np.testing.assert_allclose(std, 3.0 / np.sqrt(precision), rtol=1e-6)


def lines_with(**methods):
    """A prior whose kernel is that of lines through the origin, but for some methods."""
    return bnn.GaussianProcessPrior(0.0, type("Lines", (OwnKernel,), methods)())


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"_evaluate": lambda *own: own[1][:, 0]}, r"Lines returned shape \(\d+,\) for k\(A, B\)"),
        ({"_evaluate": lambda _, A, B: A @ (B**2).T}, r"diag\(X\) is not the diagonal of"),
        ({"_evaluate": lambda _, A, B: np.tril(A @ B.T)}, r"k\(X, X\) is not symmetric"),
    ],
)
def test_a_kernel_that_contradicts_itself_is_named(methods, message):
    prior = lines_with(**methods)
    with pytest.raises(ValueError, match=message):
        bnn.GPRegressor(prior, noise=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        prior.sample(X, 2, 0)


def test_a_file_of_an_own_kernel_needs_its_class(tmp_path, monkeypatch):
    model = bnn.GPRegressor(PROCESS, noise=0.1).fit(X, Y)
    assert len(bnn.select_runs(model, X, 2)[0]) == 2
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(bnn.load(tmp_path / "model.npz").predict(X), model.predict(X))
    with pytest.raises(ValueError, match="must be a GaussianProcessPrior or a mixture"):
        bnn.GPRegressor(OwnPrior(), noise=0.1).fit(X, Y)
    monkeypatch.delitem(values.KINDS, values._name(OwnKernel))
    with pytest.raises(ValueError, match=r"import .*OwnKernel from a module before loading"):
        bnn.load(tmp_path / "model.npz")
