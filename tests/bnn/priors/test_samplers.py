"""Priors made of samplers and tables have the moments that they claim."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import bnn
from bnn import SamplerPrior, TablePrior
from bnn.priors.samplers import draw_realisations, truncated_normal_hypercube
from bnn.storage.values import NotStored
from tests.bnn.calls import CALLS, X, Y, kinds_of
from tests.bnn.small import small

X1 = np.linspace(-1.0, 1.0, 9)[:, None]
WRONG = SimpleNamespace(sample=lambda *_: np.zeros((2, 3, 1)))


def test_low_fidelity_model_with_random_parameters():
    """y = a x with a ~ N(3, 0.5²) and a fixed offset."""
    prior = SamplerPrior(
        lambda X, slope, offset: slope * X[:, 0] + offset,
        {"slope": stats.norm(3.0, 0.5), "offset": 1.0},
    )
    values = prior.sample(X1, 4000, 0)
    assert values.shape == (4000, 9, 1)
    assert values[:, -1, 0].mean() == pytest.approx(4.0, abs=5 * 0.5 / np.sqrt(4000))
    assert values[:, -1, 0].std() == pytest.approx(0.5, rel=5 / np.sqrt(8000))
    sampler = SamplerPrior(lambda X, rng: rng.normal(3.0, 0.5) * X[:, 0])
    assert sampler.sample(X1, 500, 0)[:, -1, 0].std() == pytest.approx(0.5, rel=5 / np.sqrt(1000))


def test_table_prior():
    """Rows come out unrepeated while they last; interpolation is exact for linear tables."""
    values = np.arange(5.0)[:, None] * X1[:, 0]
    table = TablePrior(X1, values, "linear")
    drawn = table.sample(X1, 5, 0)[:, -1, 0]
    assert np.array_equal(np.sort(drawn), np.arange(5.0))
    np.testing.assert_allclose(
        np.sort(table.sample(np.array([[0.13]]), 5, 0).ravel()), 0.13 * np.arange(5.0)
    )
    X2 = np.array([[x, y] for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)])
    twice = np.tile(X2 @ [1.0, 2.0], (2, 1))
    plane = TablePrior(X2, twice, "linear")
    inside = np.array([[0.3, -0.2]])
    outside = np.array([[1.2, 1.1]])
    assert plane.sample(inside, 1, 0).item() == pytest.approx(-0.1)
    assert plane.sample(outside, 1, 0).item() == pytest.approx(3.0)
    nearest = TablePrior(X2, twice, "nearest")
    assert nearest.sample(np.array([[0.9, 0.1]]), 1, 0).item() == pytest.approx(1.0)


def test_a_table_without_interpolation_has_values_at_its_points_in_any_order():
    values = np.arange(1.0, 6.0)[:, None] * X1[:, 0]
    drawn = TablePrior(X1, values).sample(X1[[4, 2, 2, 7]], 5, 0)[:, :, 0]
    np.testing.assert_array_equal(np.sort(drawn[:, -1] / X1[7]), np.arange(1.0, 6.0))
    np.testing.assert_array_equal(drawn, np.outer(drawn[:, -1] / X1[7], X1[[4, 2, 2, 7]]))


@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
@pytest.mark.parametrize("units", [(1.0, 1e-3), (1e-3, 1e9), (1e9, 1.0)])
def test_a_table_does_not_depend_on_the_units_of_its_inputs(interpolation, units):
    """Nor on an input that does not vary between its points."""
    rng = np.random.default_rng(0)
    points = rng.uniform((0.1, 300.0), (0.4, 310.0), (12, 2))
    values = rng.normal(size=(3, 12))
    new = rng.uniform((0.0, 295.0), (0.5, 315.0), (30, 2))  # a part of them outside

    def at(points, new):
        return TablePrior(points, values, interpolation).sample(new, 3, 0)

    expected = at(points, new)
    np.testing.assert_allclose(at(points * units, new * units), expected, rtol=1e-6)
    np.testing.assert_array_equal(at(points * units, points * units), at(points, points))
    fixed = [np.insert(array * units, 1, 7e5, axis=1) for array in (points, new)]
    np.testing.assert_array_equal(at(*fixed), at(points * units, new * units))
    one = [np.column_stack([array[:, 0], 0.0 * array[:, 1] + 300.0]) for array in (points, new)]
    np.testing.assert_array_equal(at(*one), at(points[:, :1], new[:, :1]))
    assert np.isfinite(at(np.full((12, 2), 300.0), new)).all()


def test_a_truncated_normal_hypercube_fills_every_stratum():
    """Each of n equiprobable strata of the truncated normal holds one point, in every input."""
    points = truncated_normal_hypercube(200, 3, 0)
    assert np.abs(points).max() <= 2.0
    for column in points.T:
        strata = np.floor(200 * stats.truncnorm.cdf(column, -2, 2)).astype(int)
        assert len(np.unique(strata)) == 200


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TablePrior(X1, np.zeros((2, 4))), "values have 4 points: must be 9"),
        (lambda: TablePrior(X1, np.zeros((2, 9))).sample(X1 + 1, 1), "differs from the table"),
        (
            lambda: TablePrior(X1 * [1.0, 2.0], np.zeros((2, 9)), "linear"),
            "2 inputs vary, but fill only 1 dimensions",
        ),
        (
            lambda: SamplerPrior(lambda *_: 1.0).sample(X1, 2),
            "prior is the number 1.0",
        ),
        (lambda: SamplerPrior(lambda X, _: X.fill(2.0)).sample(X1, 2), "read-only"),
        (lambda: draw_realisations(WRONG, X1, 2), r"the prior returned shape \(2, 3, 1\)"),
    ],
)
def test_tables_and_realisations_are_checked(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.filterwarnings("ignore")  # ensembles trained for two epochs have not arrived
@pytest.mark.parametrize("name", kinds_of(bnn.FunctionPrior))
def test_a_public_prior_draws_the_same_functions_again_and_is_saved(name, tmp_path):
    """Of every prior that is exported, by the parameters of `calls`; a file holds no function."""
    call = CALLS[name]
    prior = call.make()
    drawn = prior.sample(X, 4, 0)
    assert np.isfinite(drawn).all()
    np.testing.assert_array_equal(prior.sample(X, 4, 0), drawn)
    if not isinstance(prior, bnn.GaussianProcessPrior | bnn.MixturePrior):
        # The root of a covariance depends on the points; others draw before the points count.
        for points in (X[:3], X[::-1]):
            rows = [X.tolist().index(x) for x in points.tolist()]
            np.testing.assert_allclose(prior.sample(points, 4, 0), drawn[:, rows], rtol=1e-12)
    model = small(bnn.AnchoredEnsemble, prior).fit(X, Y[:, : drawn.shape[2]])
    model.save(tmp_path / "model.bnn")
    again = bnn.load(tmp_path / "model.bnn").prior
    holds_function = any(inspect.isfunction(value) for value in call.arguments.values())
    assert (again == NotStored(name)) == holds_function
    if not holds_function:
        np.testing.assert_array_equal(again.sample(X, 4, 0), drawn)
        assert not np.array_equal(again.sample(X, 4, 1), drawn)
