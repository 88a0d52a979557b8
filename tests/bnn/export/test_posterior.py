"""Exact posteriors in C against the textbook's formula in 40 digits, and against Python."""

import ctypes
import time
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import bnn
import fe_data
from tests.bnn.calls import OwnStationary
from tests.bnn.export.conftest import call

ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(0)
X = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (9, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]), 1000.0 + X[:, 1] * X[:, 0]])
NEW = RNG.uniform([-1.5, 150.0], [1.5, 450.0], (3, 2))
MEAN = bnn.LinearMean([[0.5, 0.01], [100.0, 0.0]], [0.0, 1000.0])
WIDE = bnn.Linear((150.0, 0.015), 50.0, (0.1, 300.0))
ENDING = bnn.Linear((1.5, 0.01), 2.0, (0.1, 300.0), (0.7, 60.0))
OWN = {bnn.RationalQuadratic: (0.7,)}
STATIONARY = [
    kind(1.5, (0.8, 90.0), *OWN.get(kind, ()))
    for kind in map(bnn.__dict__.get, bnn.__all__)
    if isinstance(kind, type) and issubclass(kind, bnn.Stationary) and kind.c_code
]
PHI = {
    bnn.RBF: lambda r, _: mpmath.exp(-(r**2) / 2),
    bnn.Matern12: lambda r, _: mpmath.exp(-r),
    bnn.Matern32: lambda r, _: (1 + mpmath.sqrt(3) * r) * mpmath.exp(-mpmath.sqrt(3) * r),
    bnn.Matern52: lambda r, _: (
        (1 + mpmath.sqrt(5) * r + 5 * r**2 / 3) * mpmath.exp(-mpmath.sqrt(5) * r)
    ),
    bnn.RationalQuadratic: lambda r, alpha: (1 + r**2 / (2 * alpha)) ** -alpha,
}


def test_a_kernel_of_a_user_with_code_in_c(compiled):
    prior = bnn.GaussianProcessPrior(0.0, OwnStationary(1.5, (0.8, 90.0)) + bnn.RBF(0.3, 1.0))
    model = bnn.GPRegressor(prior, noise=0.3).fit(X, Y[:, 0])
    found = call(compiled(model), NEW, 1)
    agrees_with_python(found, model, NEW, False, 1e-9)


def covariance(kernel, a, b):
    """k(a, b) in the precision of mpmath."""
    if isinstance(kernel, sk.Sum):
        return covariance(kernel.k1, a, b) + covariance(kernel.k2, a, b)
    if isinstance(kernel, bnn.Linear):
        reach = np.broadcast_to(kernel.reach, 2).tolist()
        near = [
            [max(-r, min(p - o, r)) for p, o, r in zip(x, kernel.origin, reach, strict=True)]
            for x in (a, b)
        ]
        terms = zip(kernel.variance, *near, strict=True)
        return kernel.offset + sum(v * p * q for v, p, q in terms)
    away = zip(a, b, kernel.lengthscale, strict=True)
    r = mpmath.sqrt(sum(((p - q) / mpmath.mpf(L)) ** 2 for p, q, L in away))
    return kernel.variance * PHI[type(kernel)](r, mpmath.mpf(getattr(kernel, "alpha", 1)))


def textbook(kernels, shares, mean, noise, j):
    """Functions x → mean and standard deviation of output j under a mixture of kernels."""
    data = mpmath.matrix(X)
    A = np.asarray(mean.coefficients)[j]
    a = mean.intercept[j]
    points = [[data[i, c] for c in range(2)] for i in range(len(X))]

    def prior(x):
        return sum(mpmath.mpf(s) * v for s, v in zip(A, x, strict=True)) + a

    inverses = [
        mpmath.matrix([[covariance(k, p, q) for q in points] for p in points])
        + mpmath.diag(noise[:, j].tolist())
        for k in kernels
    ]
    inverses = [mpmath.inverse(K) for K in inverses]
    residual = mpmath.matrix(
        [mpmath.mpf(v) - prior(p) for v, p in zip(Y[:, j], points, strict=True)]
    )

    def moments(*x):
        parts = []
        for kernel, inverse in zip(kernels, inverses, strict=True):
            k = mpmath.matrix([covariance(kernel, x, p) for p in points])
            w = inverse * k
            spread = covariance(kernel, x, x) - (w.T * k)[0]
            parts.append(((w.T * residual)[0], spread))
        m = sum(s * part[0] for s, part in zip(shares, parts, strict=True))
        pairs = zip(shares, parts, strict=True)
        return m + prior(x), mpmath.sqrt(sum(s * (v + (own - m) ** 2) for s, (own, v) in pairs))

    return (lambda *x: moments(*x)[0]), (lambda *x: moments(*x)[1])


def agrees_with_the_textbook(found, components, shares, noise, points=NEW):
    with mpmath.workdps(40):
        for j in range(2):
            functions = textbook([c.kernels[j] for c in components], shares[:, j], MEAN, noise, j)
            for f, values, gradients in zip(functions, found[:2], found[2:], strict=True):
                for i, x in enumerate(points.tolist()):
                    exact = [mpmath.diff(f, x, (1, 0)), mpmath.diff(f, x, (0, 1))]
                    np.testing.assert_allclose(values[i, j], float(f(*x)), rtol=1e-12)
                    exact = np.array(exact, dtype=float)
                    scale = np.abs(exact) + np.abs(gradients[:, j]).max(axis=0)
                    assert np.all(np.abs(gradients[i, j] - exact) < 1e-12 * scale)


@pytest.mark.parametrize("kernel", [*STATIONARY, WIDE, ENDING], ids=lambda k: type(k).__name__)
def test_every_kernel_is_that_of_the_textbook_and_of_python(compiled, kernel):
    prior = bnn.GaussianProcessPrior(MEAN, [kernel, 1e4 * kernel], 2)
    model = bnn.GPRegressor(prior, noise=[0.3, 20.0]).fit(X, Y)
    found = call(compiled(model), NEW, 2)
    agrees_with_python(found, model, NEW, False, 1e-10 if kernel is WIDE else 1e-12)
    variances = np.tile([0.09, 400.0], (len(X), 1))
    agrees_with_the_textbook(found, [prior], np.ones((1, 2)), variances)


def test_a_mixture_with_a_wide_trend_is_the_textbook_s_though_python_rounds(compiled):
    """A trend ten times as wide as the data: in Python rounding takes four digits more."""
    priors = [
        bnn.GaussianProcessPrior(MEAN, [k + WIDE, 1e4 * k + 1e5 * WIDE], 2) for k in STATIONARY[:2]
    ]
    noise = bnn.HeteroscedasticNoise(np.array([[-1.0, 3.0], [0.2, 0.1], [0.001, 0.0]]))
    mixture = bnn.MixturePrior(priors, [[0.3, 0.6], [0.7, 0.4]])
    model = bnn.GPRegressor(mixture, noise=noise).fit(X, Y)
    found = call(compiled(model), NEW, 2)
    for values, wanted in zip(found[:2], model.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-8)
    variances = np.einsum("njj->nj", noise(X))
    agrees_with_the_textbook(found, priors, model.posterior_.weights, variances)


@pytest.mark.parametrize(("n_in", "mixed"), [(1, False), (4, False), (4, True)])
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


def agrees_with_python(found, model, points, total, tolerance):
    """Moments and gradients, relative to the largest of each output and input."""
    moments = model.predict(points, return_std=True, include_noise=total)
    for ours, theirs in zip(
        found, [*moments, *model.predict_gradient(points, include_noise=total)], strict=True
    ):
        wanted = theirs.reshape(ours.shape)
        scale = np.abs(wanted).max(axis=0)
        assert np.all(np.abs(ours - wanted) <= tolerance * scale)


@pytest.mark.usefixtures("few_draws")
def test_one_output_with_nothing_set_is_that_of_python(compiled):
    """Prior and noise by evidence.fit_kernel_average, the default of GPRegressor."""
    table = fe_data.load_table(ROOT / "fe_data/datasets/train_uniform.csv")
    model = bnn.GPRegressor().fit(table.inputs[:30], table.outputs[:30, 0])
    kernels = [each.kernels[0] for each in model.prior_.components]
    assert any(isinstance(kernel, bnn.Warped) for kernel in kernels)
    points = table.inputs[:50] * 1.1
    found = call(compiled(model, include_noise=True), points, 1)
    agrees_with_python(found, model, points, True, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("n_data", [50, 100])
def test_what_is_found_with_nothing_set_fits(compiled, tmp_path, n_data):
    """Five outputs; a mixture of sums, warped or not, and noise by input. Prints size and time."""
    table = fe_data.load_table(ROOT / "fe_data/datasets/train_uniform.csv")
    model = bnn.GPRegressor().fit(table.inputs[:n_data], table.outputs[:n_data])
    library = compiled(model)
    points = table.inputs[:50] * 1.05
    found = call(library, points, 5)
    size = (tmp_path / "model.c").stat().st_size
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (points, *found)]
    start = time.process_time()
    library.surrogate(len(points), *pointers)
    seconds = (time.process_time() - start) / len(points)
    print(f"{n_data} RVEs: {size} bytes, {seconds * 1e6:.0f} µs a point with gradients")
    assert size < 100_000
    agrees_with_python(found, model, points, False, 1e-8)


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
