"""The example of the README and of the guide runs as printed and does what their text says."""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import bnn
from tests.bnn.closed_forms import importance_weighted

ROOT = Path(bnn.__file__).parents[1]


def section(heading):
    """Of the guide."""
    text = (ROOT / "docs" / "bnn.md").read_text(encoding="utf-8")
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def example(documented):
    """Names of the doctest of a class, which runs."""
    examples = doctest.DocTestParser().get_examples(documented.__doc__)
    names = {}
    exec(compile("".join(e.source for e in examples), documented.__name__, "exec"), names)
    return names


def test_networks_of_your_own_give_what_they_give_in_pytorch():
    names = example(bnn.Pretrained)
    X = np.linspace(0.0, 2.0, 5)[:, None]
    values = names["networks"].sample(X)
    seen = torch.tensor(X - 1.0).float()
    expected = [net(seen).detach().numpy() for net in names["custom"]]
    np.testing.assert_allclose(values, expected, atol=1e-5)
    fitted = names["model"].fit(X, np.sin(X[:, 0]))
    assert fitted.sample(X).shape[0] == len(names["custom"])


ROUGH = (lambda X: np.sin(6.0 * X[:, 0] * X[:, 1]) + np.sin(5.0 * X[:, 2]), 1.4)
SMOOTH = (lambda X: np.sin(3.0 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "ratio"), [ROUGH, SMOOTH], ids=["rough", "smooth"])
def test_networks_are_near_the_posterior_at_inputs_that_are_given(function, ratio):
    """Beyond the data, in six inputs; with -s prints how far means are with points of the box."""
    text = section("Predict with networks far from the data")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (150, 6))
    y = function(X) + 0.05 * rng.standard_normal(150)
    beyond = np.abs(X[:, 0]) < 0.4
    names = {"bnn": bnn, "np": np, "X": X[~beyond], "y": y[~beyond], "X_new": X[beyond]}
    exec(compile(code, "docs/bnn.md", "exec"), names)
    data = names["X"], names["y"]
    exact = bnn.GPRegressor(names["prior"], noise=names["noise"]).fit(*data)
    mean, std = exact.predict(X[beyond], return_std=True)
    box = bnn.FunctionAnchoredEnsemble(names["prior"], noise=names["noise"], random_state=0)
    near, far = (
        np.sqrt(np.mean(((model.predict(X[beyond]) - mean) / std) ** 2))
        for model in (names["near"], box.fit(*data))
    )
    print(f"means are off by {near:.2f}, and by {far:.2f} with points of the box")
    # No further than 95 % of the means of 30 draws of the exact posterior, about 1 / √30
    draws = exact.sample(X[beyond], n_samples=30_000, random_state=0)[:, :, 0]
    off = draws.reshape(1000, 30, -1).mean(axis=1) - mean
    assert near < np.quantile(np.sqrt(np.mean((off / std) ** 2, axis=1)), 0.95)
    assert far < 0.7
    assert far > ratio * near


@pytest.mark.slow
def test_example(tmp_path, monkeypatch):
    """What the example leads to is near the exact posterior, which importance weights give.

    With -s the comparison of the README is printed.
    """
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    text = (ROOT / "bnn" / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "bnn/README.md", "exec"), names)
    X_new = names["X_new"]
    truth = names["timoshenko"](X_new)
    plt.close("all")
    data = names["prior"], names["X"], names["y"], 0.01
    published = bnn.AnchoredEnsemble(names["prior"], noise=0.01, random_state=0)
    published.pretrain(np.linspace(1.5, 10.0, 200)[:, None])
    vanilla = bnn.VanillaEnsemble(noise=0.01, random_state=0)
    ensembles = {
        "in function space": names["model"],
        "published": published.fit(*data[1:3]),
        "vanilla": vanilla.fit(*data[1:3]),
    }
    mean, std, size = importance_weighted(*data, X_new)
    assert size > 500
    mean, std = mean[:, 0], std[:, 0]
    predictions = {name: ensemble.predict(X_new, True) for name, ensemble in ensembles.items()}
    rmse = {}
    width = {}
    shift = {}
    for name, (m, s) in {"exact": (mean, std), **predictions}.items():
        rmse[name] = bnn.metrics.rmse(truth, m)
        inside = bnn.metrics.coverage(truth, m, s)
        width[name] = np.mean(s / std)
        shift[name] = np.sqrt(np.mean(((m - mean) / std) ** 2))
        print(f"{name}: {rmse[name]:.4f} {inside:.2f} {width[name]:.2f} {shift[name]:.2f}")
    assert width["in function space"] == pytest.approx(1.0, abs=0.2)
    assert shift["in function space"] < 0.3
    assert rmse["in function space"] < 0.7 * rmse["published"] < 0.7 * rmse["vanilla"]
    assert width["published"] > 2.0


@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore::bnn.HyperpriorWarning")  # twenty rows are few
def test_the_recipe_for_angles_makes_0_and_360_degrees_one_input():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 360.0, 20), rng.uniform(size=20)])
    y = np.cos(np.radians(X[:, 0])) + X[:, 1] + 0.05 * rng.standard_normal(20)
    kernel = example(bnn.Periodic)["prior"].kernel
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(y.mean(), kernel)).fit(X, y)
    new = [[0.0, 0.5], [360.0, 0.5], [-360.0, 0.5]]
    for values in model.predict(new, return_std=True):
        np.testing.assert_allclose(values, values[0], rtol=1e-8)
