"""What the estimators say of data that are not finite: where they are, and how many."""

import numpy as np
import pandas as pd
import pytest

import bnn
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (12, 2))
Y = np.column_stack([X[:, 0], X[:, 1] ** 2])
FRAME = pd.DataFrame(X, columns=["vf", "E_f_GPa"])
PRIOR = bnn.GaussianProcessPrior(n_outputs=2)
MODELS = {
    "exact": bnn.GPRegressor(PRIOR, noise=0.1),
    "vanilla": small(bnn.VanillaEnsemble),
    "components": bnn.PCARegressor(small(bnn.VanillaEnsemble)),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")  # so brief a training does not arrive
def test_the_first_entry_that_is_not_finite_is_named_and_all_are_counted(model):
    """In fits and predictions, by its column in a table."""
    for value in (np.nan, -np.inf, 1e200):
        wrong = X.copy()
        wrong[3, 1] = value
        wrong[7] = value
        with pytest.raises(ValueError, match=r"^X\[3, 1\] .*; 3 entries are not, in 2 of 12 rows$"):
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
    model = MODELS["exact"]
    for call in (
        lambda: model.fit(wrong, Y),
        lambda: model.fit(X, wrong),
        lambda: model.fit(FRAME, Y).predict(wrong),
    ):
        with pytest.raises(ValueError, match=r"\[4, 0\] \(row 4, column 'vf'\)"):
            call()
    with pytest.raises(ValueError, match=r"^X has no columns"):
        model.fit(FRAME[[]], Y)


@pytest.mark.usefixtures("one_family")
def test_an_input_that_leaves_its_only_value_warns(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=12), np.full(12, 3.0)])
    with pytest.warns(bnn.ConstantInputWarning, match="input 1 is constant in the data"):
        model = bnn.GPRegressor(noise=0.1).fit(X, X[:, 0])
    model.save(tmp_path / "model.npz")
    for each in (model, bnn.load(tmp_path / "model.npz")):
        each.predict(X)
        with pytest.warns(bnn.ConstantInputWarning, match="input 1 of X differs from 3, its only"):
            each.predict(X + np.array([0.0, 1.0]), return_std=True)
