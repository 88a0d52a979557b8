"""Results with open parameters of kernels do not depend on the units of X and y."""

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import bnn
from bnn.gp.units import units_of
from tests.bnn.gp.test_open_parameters import Bump

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(4.0, 10.0, (14, 1)), axis=0)
Y = 1.0 + 0.8 / X[:, 0] ** 2 + 0.01 * RNG.standard_normal(14)
NEW = np.array([[3.0], [5.5], [8.1]])


@dataclass(repr=False)
class BendingAndShear(bnn.Kernel):
    """The kernel of the guide."""

    bending: float = 1.0
    shear: float = 1.0

    def _evaluate(self, A, B):
        return self.bending + self.shear * A**-2 @ (B**-2).T

    def diag(self, X):
        return self.bending + self.shear * X[:, 0] ** -4


@dataclass(repr=False)
class ScaledLines(bnn.Kernel):
    """A factor times lines: several units of its parameters are possible."""

    factor: float = 1.0
    offset: float = 1.0
    slope: float = 1.0

    def _evaluate(self, A, B):
        return self.factor * (self.offset + self.slope * A @ B.T)

    def diag(self, X):
        return self.factor * (self.offset + self.slope * np.sum(X**2, axis=1))


@dataclass(repr=False)
class Algebraic(bnn.Kernel):
    """A standard deviation, a length and a number in one formula."""

    deviation: float = 3.0
    length: float = 0.2
    power: float = 1.5

    def _evaluate(self, A, B):
        q = np.sum((A[:, None] - B[None]) ** 2, axis=-1) / self.length**2
        return self.deviation**2 * (1.0 + q / self.power) ** -self.power

    def diag(self, X):
        return np.full(len(X), self.deviation**2)


@dataclass(repr=False)
class Fractional(bnn.Kernel):
    """Fractional Brownian motion, in which the unit of the variance depends on the exponent."""

    size: float = 1.0
    hurst: float = 0.5

    def _evaluate(self, A, B):
        powers = [np.abs(Z) ** (2.0 * self.hurst) for Z in (A, B.T, A - B.T)]
        return 0.5 * self.size * (powers[0] + powers[1] - powers[2])

    def diag(self, X):
        return self.size * np.abs(X[:, 0]) ** (2.0 * self.hurst)


@dataclass(repr=False)
class Levels(bnn.Kernel):
    """The product of exp(-1 / l_i) over the inputs in which points differ."""

    lengths: tuple = (1.0, 1.0)

    def _evaluate(self, A, B):
        return np.exp(-((A[:, None] != B[None]) @ (1.0 / np.array(self.lengths))))

    def diag(self, X):
        return np.ones(len(X))


CUSTOM = {
    "guide": BendingAndShear(None, None) + bnn.RBF(None, None),
    "several units": ScaledLines(None, None, None),
    "algebraic": Algebraic(None, None, None),
    "stationary": Bump(None, None, None),
    "an exponent that is set": Fractional(None, 0.3),
}
BUILT_IN = {
    "RBF": bnn.RBF(None, None),
    "Matern12": bnn.Matern12(None, None),
    "Matern32": bnn.Matern32(None, None),
    "Matern52": bnn.Matern52(None, None),
    "RationalQuadratic": bnn.RationalQuadratic(None, None, None),
    "Periodic": bnn.Periodic(None, None, None),
    "Linear": bnn.Linear(None, None),
    "product": bnn.RBF(None, None) * bnn.Linear(None, None),
    "number of a product": 2.0 * bnn.RBF(None, None) * bnn.RBF(1.0, None),
    "power": (bnn.RBF(None, None) + bnn.Linear(None, None)) ** 2,
}


def warped(unit):
    return bnn.Warped(bnn.RBF(None, None), (3.0 * unit,), (8.0 * unit,), (1.0,))


def predicted(kernel, of_x, of_y):
    prior = bnn.GaussianProcessPrior(0.0, kernel)
    model = bnn.GPRegressor(prior, noise=0.01 * of_y).fit(of_x * X, of_y * Y)
    return np.array(model.predict(of_x * NEW, return_std=True)) / of_y


@functools.cache
def predicted_in_usual_units(name):
    return predicted(kernel_of(name, 1.0), 1.0, 1.0)


def kernel_of(name, unit):
    """The kernel of this name; one that bends its inputs has its points in their unit."""
    return warped(unit) if name == "Warped" else (CUSTOM | BUILT_IN)[name]


FAST = [("guide", 1e9, 1e-6), ("algebraic", 1e-6, 1e9)]
UNITS = [(1e9, 1e-6), (1e-6, 1e9)]  # of x and of y, which no product and no ratio cancels
CASES = [(name, *units) for name in (*CUSTOM, *BUILT_IN, "Warped") for units in UNITS]


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("name", "of_x", "of_y"),
    [pytest.param(*case, marks=[] if case in FAST else pytest.mark.slow) for case in CASES],
)
def test_predictions_do_not_depend_on_units(name, of_x, of_y):
    """Means agree within a tenth of a standard deviation; only the ends of searches differ."""
    wanted = predicted_in_usual_units(name)
    prediction = predicted(kernel_of(name, of_x), of_x, of_y)
    assert np.all(np.abs(prediction[0] - wanted[0]) < 0.1 * wanted[1])
    np.testing.assert_allclose(prediction[1], wanted[1], rtol=0.1)


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (BendingAndShear(None, None), {"bending": (2.0, 0.0), "shear": (2.0, 4.0)}),
        (ScaledLines(1.0, None, None), {"offset": (2.0, 0.0), "slope": (2.0, -2.0)}),
        (
            Algebraic(None, None, None),
            {"deviation": (1.0, 0.0), "length": (0.0, 1.0), "power": (0.0, 0.0)},
        ),
        (Fractional(None, 0.3), {"size": (2.0, -0.6)}),
    ],
    ids=["terms", "factor that is set", "deviation", "exponent that is set"],
)
def test_units_follow_from_the_formula(kernel, wanted):
    """Exponents of the units of y and x, for any unit of x."""
    for unit in (1.0, 1e9, 1e-9):
        units = units_of(kernel, unit * X)
        exponents = {name: (u.output, u.inputs[0]) for (name, _), u in units.items()}
        assert exponents == {k: pytest.approx(v, abs=1e-6) for k, v in wanted.items()}


@pytest.mark.parametrize("period", [2, 3, 5, 6, 20])
@pytest.mark.parametrize("rows", [6, 81])
def test_units_follow_whatever_the_order_of_levels(rows, period):
    """Also if rows at equal distances, such as 0, 5, 10, 15 and 20, have the same level."""
    numbers = np.arange(rows)
    levels = numbers % period == 0
    units = units_of(Levels((None, None)), np.column_stack([numbers, levels]))
    assert list(units) == [("lengths", 0), ("lengths", 1)]


def test_a_kernel_whose_units_do_not_follow_needs_quantities():
    prior = bnn.GaussianProcessPrior(0.0, Fractional(None, None))
    message = r"hurst = None of the kernel Fractional: .* add quantities = {'hurst': kind}"
    with pytest.raises(ValueError, match=message):
        bnn.GPRegressor(prior, noise=0.01).fit(X, Y)
    with pytest.raises(ValueError, match=r"quantities\['size'\] of Wrong = 'mass': must be one of"):
        type("Wrong", (Fractional,), {"quantities": {"size": "mass"}})


@pytest.mark.usefixtures("few_draws")
def test_an_estimate_far_from_its_median_is_reported():
    """A length of 1e-4 in a class whose default is in other units, and no warning otherwise."""

    @dataclass(repr=False)
    class Fixed(Algebraic):
        quantities: ClassVar = {"length": "number"}

    prior = bnn.GaussianProcessPrior(1.0, Fixed(None, None, 1.5))
    with pytest.warns(bnn.HyperpriorWarning, match="length of the kernel Fixed") as caught:
        bnn.GPRegressor(prior, noise=0.01).fit(1e-4 * X, np.sin(2.0 * X[:, 0]))
    assert len(caught) == 1
    assert caught[0].filename == __file__
