"""Exact posteriors in C against Python, whose moments and gradients have tests of their own."""

from pathlib import Path

import numpy as np
import pytest

import bnn
import fe_data
from tests.bnn.export.conftest import agrees_with_python, call
from tests.bnn.two_inputs import BENT, ENDING, NEW, NOISES, SMOOTH, STATIONARY, WIDE, L, X, Y, prior

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "kernel", [*STATIONARY, WIDE, ENDING, BENT], ids=lambda k: type(k).__name__
)
def test_every_kernel_is_that_of_python(compiled, kernel):
    # Variances and noise of these lines are large: condition numbers are below 3e3.
    noise = np.array([0.3, 20.0]) * (3.0 if kernel in (WIDE, BENT) else 1.0)
    model = bnn.GPRegressor(prior(kernel, 1e4 * kernel), noise=noise).fit(X[:9], Y[:9])
    agrees_with_python(call(compiled(model), NEW, 2), model, NEW)


@pytest.mark.slow
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
        results = call(compiled(model, include_noise=total, name=name), points, 3, name)
        agrees_with_python(results, model, points, total, 1e-9)


def test_noise_that_is_known_for_each_datum(compiled):
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.5, L)), noise=0.2)
    about_data = {"noise_std": np.linspace(0.1, 0.5, 14), "sample_weight": np.arange(1.0, 15.0)}
    results = call(compiled(model.fit(X, Y[:, 0], **about_data), include_noise=True), NEW, 1)
    agrees_with_python(results, model, NEW, True, 1e-9)


@pytest.mark.slow
def test_the_default_is_that_of_python_and_fits(compiled, tmp_path):
    """A mixture of sums, warped or not, with the noise that was found."""
    table = fe_data.load_table(ROOT / "fe_data/datasets/train_uniform.csv")
    model = bnn.GPRegressor().fit(table.inputs[:30], table.outputs[:30, 0])
    kernels = [kernel for component in model.prior_.components for kernel in component.kernels]
    assert any(isinstance(kernel, bnn.Warped) for kernel in kernels)
    points = table.inputs[:50] * 1.05
    results = call(compiled(model, include_noise=True), points, 1)
    agrees_with_python(results, model, points, True, 1e-8)
    assert (tmp_path / "model.c").stat().st_size < 100_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["constant", "by input", "within", "heavy tails"])
def test_the_total_deviation_and_its_gradient_are_those_of_python(compiled, kind):
    noise = NOISES.get(kind, bnn.StudentNoise([0.1, 5.0], 4.0))
    model = bnn.GPRegressor(prior(SMOOTH, 1e3 * SMOOTH), noise=noise).fit(X, Y)
    results = call(compiled(model, include_noise=True), NEW, 2)
    agrees_with_python(results, model, NEW, True, 1e-9)
