"""Fits: what they say of data that are not finite, and what they keep of earlier ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bnn
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (24, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.05 * RNG.normal(size=(24, 2))
NEW = RNG.uniform(-1.0, 1.0, (5, 2))
FRAME = pd.DataFrame(X, columns=["vf", "E_f_GPa"])
EXACT = bnn.GPRegressor(bnn.GaussianProcessPrior(n_outputs=2), noise=0.1)
VANILLA = small(bnn.VanillaEnsemble)
BRIEF = pytest.mark.filterwarnings("ignore::UserWarning")  # so brief a training does not arrive


@pytest.mark.parametrize(
    "model", [EXACT, VANILLA, bnn.PCARegressor(VANILLA)], ids=["exact", "vanilla", "components"]
)
@BRIEF
def test_the_first_entry_that_is_not_finite_is_named_and_all_are_counted(model):
    """In fits and predictions, by its column in a table."""
    for value in (np.nan, -np.inf, 1e200):
        wrong = X.copy()
        wrong[3, 1] = value
        wrong[7] = value
        with pytest.raises(ValueError, match=r"^X\[3, 1\] .*; 3 entries are not, in 2 of 24 rows$"):
            model.fit(wrong, Y)
        with pytest.raises(ValueError, match=r"^y\[7\] "):
            model.fit(X, wrong[:, 0])
    model.fit(FRAME, Y)
    table = FRAME.copy()
    table.iloc[[2, 5], 1] = np.nan
    for call in (model.predict, model.sample):
        with pytest.raises(ValueError, match=r"^X\[2, 1\] \(row 2, column 'E_f_GPa'\) = nan"):
            call(table)


@pytest.mark.parametrize(("kind", "entry"), [("Float64", pd.NA), (object, None), (object, "n/a")])
def test_what_is_no_number_in_a_table_is_told_by_row_and_column(kind, entry):
    wrong = FRAME.astype(kind)
    wrong.iloc[4, 0] = entry
    model = EXACT
    for call in (
        lambda: model.fit(wrong, Y),
        lambda: model.fit(X, wrong),
        lambda: model.fit(FRAME, Y).predict(wrong),
    ):
        with pytest.raises(ValueError, match=r"\[4, 0\] \(row 4, column 'vf'\)"):
            call()
    with pytest.raises(ValueError, match=r"^X has no columns"):
        model.fit(FRAME[[]], Y)


# With their outputs: a search over families takes a second for each, and one case has two.
FITTED = {
    "exact": (bnn.GPRegressor(), Y),
    "vanilla": (small(bnn.VanillaEnsemble, noise=None), Y),
    "in function space": (small(bnn.FunctionAnchoredEnsemble, noise=None), Y[:, :1]),
    "components": (bnn.PCARegressor(bnn.GPRegressor(noise="constant")), Y),
}
ANY = pytest.mark.parametrize(("model", "y"), FITTED.values(), ids=FITTED)


def parameters(model):
    """An estimator with the prior and the noise that another one found."""
    if isinstance(model, bnn.PCARegressor):
        return bnn.PCARegressor(parameters(model.estimator_), model.components_)
    changes = {"noise": model.noise_}
    if "prior" in model.get_params():
        changes["prior"] = getattr(model, "pretrained_", None) or model.prior_
    return clone(model).set_params(**changes)


@pytest.mark.slow
@pytest.mark.usefixtures("one_family")
@ANY
@BRIEF
def test_kept_is_as_given(model, y):
    """Of the first half of the data, then of all."""
    fitted = clone(model).fit(X[:12], y[:12])
    expected = parameters(fitted).fit(X, y).predict(NEW, return_std=True, include_noise=True)
    again = fitted.fit(X, y, keep_prior=True).predict(NEW, return_std=True, include_noise=True)
    for ours, theirs in zip(again, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    fresh = clone(model).fit(X, y).predict(NEW, return_std=True, include_noise=True)[1]
    assert np.any(np.abs(again[1] - fresh) > 1e-4)


@pytest.mark.usefixtures("one_family")
def test_nothing_is_kept_where_nothing_was_fitted():
    with pytest.raises(NotFittedError):
        bnn.GPRegressor().fit(X, Y, keep_prior=True)
    with pytest.raises(ValueError, match="keep_prior = 3: must be True or False"):
        bnn.GPRegressor().fit(X, Y, keep_prior=3)
    with pytest.raises(ValueError, match="X has 1 features, but GPRegressor is expecting 2"):
        bnn.GPRegressor(noise=0.1).fit(X, Y).fit(X[:, :1], Y, keep_prior=True)


@pytest.mark.slow
@pytest.mark.usefixtures("one_family")
@ANY
@BRIEF
def test_a_fit_remembers_nothing_of_an_earlier_one(model, y):
    """Prior, noise, components, bounds and networks are those of the new data alone."""
    used = clone(model).fit(1.5 * X[12:], 100.0 + 7.0 * y[12:]).fit(X[:12], y[:12])
    fresh = clone(model).fit(X[:12], y[:12])
    np.testing.assert_array_equal(used.predict(NEW), fresh.predict(NEW))


@BRIEF
def test_a_search_over_nested_parameters_finds_the_longer_training():
    model = small(bnn.VanillaEnsemble, network__hidden=(16,), training__learning_rate=0.02)
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {"vanillaensemble__training__epochs": [1, 100]}
    search = GridSearchCV(pipeline, grid, cv=KFold(3)).fit(X, Y)
    assert search.best_params_ == {"vanillaensemble__training__epochs": 100}
    assert search.best_score_ > 0.0
    assert model.get_params()["training__epochs"] == 2  # the model itself is left alone
