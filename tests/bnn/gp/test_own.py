"""Kernels and priors of one's own: the page about them runs, and what it says of them holds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

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


@pytest.mark.slow
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


@pytest.mark.parametrize("values", [np.float64(1.0), 1], ids=["read-only", "integers"])
def test_a_kernel_may_return_any_array_of_numbers(values):
    """The posterior of a constant of variance one, also where runs are selected."""
    methods = {
        "_evaluate": lambda _, A, B: np.broadcast_to(values, (len(A), len(B))),
        "diag": lambda _, X: np.broadcast_to(values, len(X)),
    }
    kernel = type("Constant", (OwnKernel,), methods)()
    model = bnn.GPRegressor(process_of(kernel), noise=0.1).fit(X, Y)
    variance = 0.01 / (0.01 + len(X))
    np.testing.assert_allclose(model.posterior_.between(X, X), variance, rtol=1e-9)
    _, variances = bnn.select_runs(model, X, 1, region=X, output_ranges=[2.0])
    np.testing.assert_allclose(variances, [variance, 0.01 / (0.01 + len(X) + 1)], rtol=1e-9)


def lines_with(**methods):
    """A prior whose kernel is that of lines through the origin, but for some methods."""
    return bnn.GaussianProcessPrior(0.0, type("Lines", (OwnKernel,), methods)())


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"_evaluate": lambda *arguments: arguments[1][:, 0]},
            r"Lines returned shape \(\d+,\) for k\(A, B\)",
        ),
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


@dataclass(repr=False)
class LogKernel(bnn.Kernel):
    """Lines in log x, which are defined for x > 0 only."""

    a: float = 1.0

    def _evaluate(self, A, B):
        with np.errstate(all="ignore"):
            return 1.0 + self.a * np.log(A) @ np.log(B).T

    def diag(self, X):
        with np.errstate(all="ignore"):
            return 1.0 + self.a * np.sum(np.log(X) ** 2, axis=1)

    def gradient(self, a, b):
        with np.errstate(all="ignore"):
            values = 1.0 + self.a * np.sum(np.log(a) * np.log(b), axis=-1)
            return values, self.a * np.log(b) / a


@dataclass(repr=False)
class ListedKernel(LogKernel):
    """The same, with the kind of its parameter."""

    quantities: ClassVar[Mapping[str, str]] = {"a": "number"}


@dataclass(repr=False)
class RaisingKernel(LogKernel):
    """A kernel whose class checks its inputs."""

    def _evaluate(self, A, B):
        if min(A.min(), B.min()) <= 0.0:
            raise ValueError("x must be > 0")
        return super()._evaluate(A, B)


def log_mean(X):
    """The logarithm, which is defined for x > 0 only."""
    with np.errstate(all="ignore"):
        return np.log(X[:, 0])


def process_of(kernel):
    return bnn.GaussianProcessPrior(0.0, kernel)


OF_LOG = r"^the kernel LogKernel is not finite at X = \[0\.0\]$"


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (process_of(LogKernel(None)), OF_LOG),
        (process_of(ListedKernel(None)), OF_LOG.replace("LogK", "ListedK")),
        (process_of(RaisingKernel(None)), "^x must be > 0$"),
        (process_of(LogKernel(1.0)), OF_LOG),
        (process_of(bnn.RBF(1.0, 0.5) + 2.0 * LogKernel(1.0)), OF_LOG),
        (process_of(bnn.RBF(None, 0.5) * LogKernel(1.0)), OF_LOG),
        (process_of(LogKernel(1.0) ** 2), OF_LOG),
        (bnn.MixturePrior([PROCESS, process_of(LogKernel(1.0))], [0.5, 0.5]), OF_LOG),
        (bnn.GaussianProcessPrior(log_mean), r"^mean\(X\) is not finite at X = \[0\.0\]$"),
    ],
)
def test_a_prior_that_is_not_finite_at_a_datum_is_named_with_the_datum(prior, message):
    points = np.linspace(1.0, 0.0, 8)[:, None]
    with pytest.raises(ValueError, match=message):
        bnn.GPRegressor(prior, noise=0.1).fit(points, points[:, 0])


ELSEWHERE = np.array([[0.5], [-0.5], [0.2]])


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.predict(ELSEWHERE),
        lambda model: model.predict(ELSEWHERE, return_std=True),
        lambda model: model.predict_gradient(ELSEWHERE),
        lambda model: model.elppd(ELSEWHERE, np.zeros(3)),
        lambda model: model.sample(ELSEWHERE),
        lambda model: model.joint_moments(ELSEWHERE),
        lambda model: bnn.select_runs(model, ELSEWHERE, 2),
        lambda model: bnn.select_runs(model, X, 2, region=ELSEWHERE),
        lambda model: model.prior_.sample(ELSEWHERE, 2, 0),
        lambda model: model.prior_.variances(ELSEWHERE),
    ],
)
def test_a_kernel_that_is_not_finite_at_a_new_point_is_named_with_the_point(call):
    model = bnn.GPRegressor(process_of(LogKernel(1.0)), noise=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"the kernel LogKernel is not finite at X = \[-0\.5\]$"):
        call(model)


def test_a_mean_that_is_not_finite_at_a_new_point_is_named_with_the_point():
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(log_mean), noise=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"^mean\(X\) is not finite at X = \[-0\.5\]$"):
        model.predict(ELSEWHERE)


class Rough(bnn.Stationary):
    """φ = exp(-r^1.5), whose dφ/dq is infinite at q = 0."""

    def _correlation(self, q, derivative):
        value = np.exp(-(q**0.75))
        return value, -0.75 * q**-0.25 * value if derivative else None


class Undefined(bnn.Stationary):
    """A kernel whose dφ/dq is wrong far away."""

    def _correlation(self, q, derivative):
        value = np.exp(-q)
        return value, np.where(q > 0.5, np.nan, -value) if derivative else None


@pytest.mark.usefixtures("few_draws")
def test_an_infinite_derivative_at_the_distance_zero_has_no_effect():
    """The derivatives are those of k = exp(-|x - x'|^1.5 / L^1.5), by differences."""
    points = np.linspace(0.0, 1.0, 6)[:, None]
    kernel = Rough(2.0, 0.7)
    step = 1e-5
    change = Rough(2.0, 0.7 + step)(points) - Rough(2.0, 0.7 - step)(points)
    derivative = kernel.parameter_gradient(points, "lengthscale", None)
    np.testing.assert_allclose(derivative, change / (2.0 * step), atol=1e-8)
    model = bnn.GPRegressor(process_of(kernel), noise=0.1).fit(points, np.sin(3.0 * points[:, 0]))
    moved = [model.predict(points + sign * 1e-7) for sign in (1.0, -1.0)]
    slopes = model.predict_gradient(points)[0][:, 0]
    np.testing.assert_allclose(slopes, (moved[0] - moved[1]) / 2e-7, atol=1e-4)
    fitted = bnn.GPRegressor(process_of(Rough(None, None)), noise=0.1).fit(X, Y)
    assert np.isfinite(fitted.predict(X, return_std=True)).all()


@pytest.mark.parametrize("kernel", [Undefined(1.0, None), Undefined(1.0, 1.0)])
def test_a_derivative_that_is_not_finite_elsewhere_is_named(kernel):
    message = r"^dφ/dq of the kernel Undefined is not finite where φ = 0\.\d+$"
    with pytest.raises(ValueError, match=message):
        bnn.GPRegressor(process_of(kernel), noise=0.1).fit(X, Y).predict_gradient(X)


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
