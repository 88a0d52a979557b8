"""Exact posteriors in C against Python, whose moments and gradients have tests of their own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bnn
import fe_data
from tests.bnn.calls import OwnStationary, kinds_of
from tests.bnn.export.conftest import agrees_with_python, call

ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(0)
X = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (9, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]), 1000.0 + X[:, 1] * X[:, 0]])
NEW = RNG.uniform([-1.5, 150.0], [1.5, 450.0], (3, 2))
MEAN = bnn.LinearMean([[0.5, 0.01], [100.0, 0.0]], [0.0, 1000.0])
WIDE = bnn.Linear((150.0, 0.015), 50.0, (0.1, 300.0))
ENDING = bnn.Linear((1.5, 0.01), 2.0, (0.1, 300.0), (0.7, 60.0))
STATIONARY = [
    kind(1.5, (0.8, 90.0))
    for kind in (getattr(bnn, name) for name in kinds_of(bnn.Stationary))
    if kind.c_code
]
USERS = OwnStationary(1.5, (0.8, 90.0))


@pytest.mark.parametrize(
    "kernel", [*STATIONARY, WIDE, ENDING, USERS], ids=lambda k: type(k).__name__
)
def test_every_kernel_is_that_of_python(compiled, kernel):
    prior = bnn.GaussianProcessPrior(MEAN, [kernel, 1e4 * kernel], 2)
    model = bnn.GPRegressor(prior, noise=[0.3, 20.0]).fit(X, Y)
    found = call(compiled(model), NEW, 2)
    agrees_with_python(found, model, NEW, False, 1e-10 if kernel is WIDE else 1e-12)


@pytest.mark.parametrize(("n_in", "mixed"), [(1, False), (4, True)])
def test_warped_kernels_of_some_inputs_are_those_of_python(compiled, n_in, mixed):
    """With noise by input; warps next to zero, and an input that the kernels do not see."""
    rng = np.random.default_rng(1)
    data = rng.uniform(-2.0, 5.0, (25, n_in + 1))
    low = data.min(axis=0)[:n_in]
    width = np.ptp(data, axis=0)[:n_in]
    y = np.sin(data[:, :1] * [1.0, 2.0, 0.5]) + 0.1 * rng.normal(size=(25, 3))

    def kernel(parts):
        warps = np.append(0.0, rng.normal(size=n_in - 1)) if n_in > 1 else [2.0]
        mixing = 0.5 * rng.normal(size=(n_in, n_in)) if mixed else None
        return bnn.Warped(parts, low, width, warps, mixing)

    trend = bnn.Linear(1.0, 2.0, 0.5)
    smooth = bnn.Matern52(1.0, tuple(rng.uniform(0.3, 1.0, n_in)))
    kernels = [kernel(smooth + bnn.Matern32(0.2, 0.1) + trend), kernel(smooth), smooth + trend]
    features = [*range(n_in)]
    priors = [
        bnn.GaussianProcessPrior(0.1, order, 3, features) for order in (kernels, kernels[::-1])
    ]
    slopes = 0.05 * rng.normal(size=(n_in + 1, 3))
    noise = bnn.HeteroscedasticNoise(np.vstack([[-1.0, -2.0, -1.0], slopes]))
    model = bnn.GPRegressor(bnn.MixturePrior(priors, [0.4, 0.6]), noise=noise).fit(data, y)
    inside = rng.uniform(-1.0, 4.0, (3, n_in + 1))
    points = np.vstack([inside, data.min(axis=0), data.max(axis=0), data[:2] + 5.0, inside - 9.0])
    for total in (False, True):
        name = f"with_total_{total}"
        found = call(compiled(model, include_noise=total, name=name), points, 3, name)
        agrees_with_python(found, model, points, total, 1e-9)


def test_noise_that_is_known_for_each_datum(compiled):
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.5, (0.8, 90.0)))
    model = bnn.GPRegressor(prior, noise=0.2)
    model.fit(X, Y[:, 0], noise_std=np.linspace(0.1, 0.5, 9), sample_weight=np.arange(1.0, 10.0))
    found = call(compiled(model, include_noise=True), NEW, 1)
    agrees_with_python(found, model, NEW, True, 1e-9)


def test_the_default_is_that_of_python_and_fits(compiled, tmp_path):
    """A mixture of sums, warped or not, with the noise that was found."""
    table = fe_data.load_table(ROOT / "fe_data/datasets/train_uniform.csv")
    model = bnn.GPRegressor().fit(table.inputs[:30], table.outputs[:30, 0])
    kernels = [kernel for each in model.prior_.components for kernel in each.kernels]
    assert any(isinstance(kernel, bnn.Warped) for kernel in kernels)
    points = table.inputs[:50] * 1.05
    found = call(compiled(model, include_noise=True), points, 1)
    agrees_with_python(found, model, points, True, 1e-8)
    assert (tmp_path / "model.c").stat().st_size < 100_000


@pytest.mark.parametrize("kind", ["constant", "by input", "within", "heavy tails"])
def test_the_total_deviation_and_its_gradient_are_those_of_python(compiled, kind):
    by_input = bnn.HeteroscedasticNoise([[-3.0, 1.0], [0.3, 0.1], [0.002, 0.003]])
    within = replace(by_input, bounds=([-0.6, 260.0], [0.5, 330.0]))
    noises = {"constant": [0.1, 5.0], "by input": by_input, "within": within}
    noise = noises.get(kind) or bnn.StudentNoise([0.1, 5.0], 4.0)
    prior = bnn.GaussianProcessPrior(MEAN, [bnn.RBF(1.5, (0.8, 90.0)), bnn.Matern52(1e3, 200.0)], 2)
    model = bnn.GPRegressor(prior, noise=noise).fit(X, Y)
    found = call(compiled(model, include_noise=True), NEW, 2)
    agrees_with_python(found, model, NEW, True, 1e-9)
