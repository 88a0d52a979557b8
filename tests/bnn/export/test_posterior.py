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
from bnn.export import to_c
from tests.bnn.export.conftest import call

ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(0)
X = RNG.uniform([-1.0, 200.0], [1.0, 400.0], (9, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]), 1000.0 + X[:, 1] * X[:, 0]])
NEW = RNG.uniform([-1.5, 150.0], [1.5, 450.0], (3, 2))
MEAN = bnn.LinearMean([[0.5, 0.01], [100.0, 0.0]], [0.0, 1000.0])
WIDE = bnn.Linear((150.0, 0.015), 50.0, (0.1, 300.0))
STATIONARY = [
    bnn.RBF(1.5, (0.8, 90.0)),
    bnn.Matern12(1.5, (0.8, 90.0)),
    bnn.Matern32(2.0, (0.8, 90.0)),
    bnn.Matern52(1.5, (0.8, 90.0)),
    bnn.RationalQuadratic(1.5, (0.8, 90.0), 0.7),
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


def covariance(kernel, a, b):
    """k(a, b) in the precision of mpmath."""
    if isinstance(kernel, sk.Sum):
        return covariance(kernel.k1, a, b) + covariance(kernel.k2, a, b)
    if isinstance(kernel, bnn.Linear):
        terms = zip(kernel.variance, kernel.origin, a, b, strict=True)
        return kernel.offset + sum(v * (p - o) * (q - o) for v, o, p, q in terms)
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


def agrees_with_the_textbook(found, components, shares, noise):
    with mpmath.workdps(40):
        for j in range(2):
            functions = textbook([c.kernels[j] for c in components], shares[:, j], MEAN, noise, j)
            for f, values, gradients in zip(functions, found[:2], found[2:], strict=True):
                for i, x in enumerate(NEW.tolist()):
                    exact = [mpmath.diff(f, x, (1, 0)), mpmath.diff(f, x, (0, 1))]
                    np.testing.assert_allclose(values[i, j], float(f(*x)), rtol=1e-12)
                    exact = np.array(exact, dtype=float)
                    scale = np.abs(exact) + np.abs(gradients[:, j]).max(axis=0)
                    assert np.all(np.abs(gradients[i, j] - exact) < 1e-12 * scale)


@pytest.mark.parametrize("kernel", [*STATIONARY, WIDE], ids=lambda k: type(k).__name__)
def test_every_kernel_is_that_of_the_textbook_and_of_python(compiled, kernel):
    prior = bnn.GaussianProcessPrior(MEAN, [kernel, 1e4 * kernel], 2)
    model = bnn.ExactPosterior(prior, noise=[0.3, 20.0]).fit(X, Y)
    found = call(compiled(model), NEW, 2)
    for values, wanted in zip(found[:2], model.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-12 if kernel is not WIDE else 1e-10)
    variances = np.tile([0.09, 400.0], (len(X), 1))
    agrees_with_the_textbook(found, [prior], np.ones((1, 2)), variances)


def test_a_mixture_with_a_wide_trend_is_the_textbook_s_though_python_rounds(compiled):
    """A trend ten times as wide as the data: in Python rounding takes four digits more."""
    priors = [
        bnn.GaussianProcessPrior(MEAN, [k + WIDE, 1e4 * k + 1e5 * WIDE], 2) for k in STATIONARY[:2]
    ]
    noise = bnn.HeteroscedasticNoise(np.array([[-1.0, 3.0], [0.2, 0.1], [0.001, 0.0]]))
    mixture = bnn.MixturePrior(priors, [[0.3, 0.6], [0.7, 0.4]])
    model = bnn.ExactPosterior(mixture, noise=noise).fit(X, Y)
    found = call(compiled(model), NEW, 2)
    for values, wanted in zip(found[:2], model.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-8)
    variances = np.einsum("njj->nj", noise(X))
    agrees_with_the_textbook(found, priors, model.posterior_.weights, variances)


@pytest.mark.parametrize("estimate", ["average", "maximum"])
def test_the_prior_by_evidence_of_a_hundred_cells_fits(compiled, tmp_path, estimate):
    """The mixture of fit_prior, or one prior; five outputs, and noise with heavy tails."""
    table = fe_data.load_table(ROOT / "fe_data/datasets/train_uniform.csv")
    X = table.inputs
    y = table.outputs
    noise = 0.05 * y.std(axis=0)
    prior = bnn.evidence.fit_prior(X, y, noise, restarts=0, estimate=estimate)
    model = bnn.ExactPosterior(prior, noise=bnn.StudentNoise(noise, 5.0)).fit(X, y)
    library = compiled(model)
    points = X[:50] * 1.05
    found = call(library, points, 5)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (points, *found)]
    start = time.process_time()
    size = (tmp_path / "model.c").stat().st_size
    library.surrogate(len(points), *pointers)
    seconds = time.process_time() - start
    print(f"{estimate}: {size} bytes, {seconds / 50 * 1e6:.0f} µs a point with gradients")
    assert size < 100_000
    wanted = model.predict(points, return_std=True)
    for values, expected in zip(found[:2], wanted, strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-7)


def test_inputs_that_a_kernel_does_not_see_do_not_matter(compiled):
    kernel = bnn.RBF(1.0, 0.7) + bnn.Linear(1.0, 1.0)
    prior = bnn.GaussianProcessPrior(0.5, kernel, 2, features=[[0], [1]])
    scaled = (X - [0.0, 300.0]) / [1.0, 100.0]
    y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    model = bnn.ExactPosterior(prior, noise=0.3).fit(scaled, y)
    *moments, slopes, _ = call(compiled(model), scaled + 0.1, 2)
    for values, wanted in zip(moments, model.predict(scaled + 0.1, return_std=True), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-11)
    assert np.all(slopes[:, 0, 1] == 0.0)
    assert np.all(slopes[:, 1, 0] == 0.0)


PRIOR = bnn.GaussianProcessPrior(MEAN, STATIONARY[0], 2)


@pytest.mark.parametrize(
    ("prior", "noise", "words"),
    [
        (replace(PRIOR, kernel=sk.RBF()), 0.3, r"kernel RBF\(length_scale=1\).*must be one of RBF"),
        (replace(PRIOR, kernel=bnn.Periodic()), 0.3, "kernel Periodic.*must be one of RBF"),
        (replace(PRIOR, kernel=WIDE + WIDE), 0.3, "kernel Linear.*the sum of a Linear and one"),
        (replace(PRIOR, mean=lambda X: X), 0.3, "mean of the prior is a function: must be a num"),
        (PRIOR, [[0.3, 0.1], [0.1, 0.3]], "noise is correlated between outputs: no C file"),
    ],
)
def test_what_c_does_not_hold_is_refused_by_its_name(tmp_path, prior, noise, words):
    model = bnn.ExactPosterior(prior, noise=noise).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        to_c(model, tmp_path / "model.c")


@pytest.mark.parametrize("kind", ["constant", "by input", "heavy tails"])
def test_the_total_deviation_and_its_gradient_are_those_of_python(compiled, kind):
    by_input = bnn.HeteroscedasticNoise([[-3.0, 1.0], [0.3, 0.1], [0.002, 0.003]])
    noises = {"constant": [0.1, 5.0], "by input": by_input}
    noise = noises.get(kind) or bnn.StudentNoise([0.1, 5.0], 4.0)
    prior = bnn.GaussianProcessPrior(MEAN, [bnn.RBF(1.5, (0.8, 90.0)), bnn.Matern52(1e3, 200.0)], 2)
    model = bnn.ExactPosterior(prior, noise=noise).fit(X, Y)
    found = call(compiled(model, total=True), NEW, 2)
    wanted = [
        *model.predict(NEW, return_std=True, total=True),
        *model.predict_gradient(NEW, total=True),
    ]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
