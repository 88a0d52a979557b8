"""What the estimators say of data that are not finite: where they are, and how many."""

import re

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
    "anchored": small(bnn.AnchoredEnsemble, PRIOR),
    "in function space": small(bnn.FunctionAnchoredEnsemble, PRIOR),
    "components": bnn.PCARegressor(bnn.GPRegressor(noise=0.1)),
}
ANY = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
BRIEF = pytest.mark.filterwarnings("ignore::UserWarning")  # so brief a training does not arrive
FINITE = "must be finite, not NaN or infinite"


def spoilt(values, value=np.nan):
    """Data with such a number in row 3, column 1, and another two in row 7."""
    wrong = values.copy()
    wrong[3, 1] = value
    wrong[7] = value
    return wrong


@ANY
@BRIEF
def test_the_first_entry_that_is_not_finite_is_named_and_all_are_counted(model):
    """In fits and predictions, by its column in a table."""
    for value in (np.nan, -np.inf, 1e200):
        number = re.escape(str(value))
        count = "; 3 entries are not, in 2 of 12 rows$"
        with pytest.raises(ValueError, match=rf"^X\[3, 1\] = {number}: {FINITE}.*{count}"):
            model.fit(spoilt(X, value), Y)
        with pytest.raises(ValueError, match=rf"^y\[7\] = {number}: {FINITE}[^;]*$"):
            model.fit(X, spoilt(Y, value)[:, 0])
    model.fit(FRAME, Y)
    wrong = FRAME.copy()
    wrong.iloc[[2, 5], 1] = np.nan
    words = r"^X\[2, 1\] \(row 2, column 'E_f_GPa'\) = nan: .*; 2 entries are not, in 2 of 12 rows$"
    for call in (model.predict, model.sample):
        with pytest.raises(ValueError, match=words):
            call(wrong)


@pytest.mark.parametrize(("kind", "entry"), [("Float64", pd.NA), (object, None), (object, "n/a")])
def test_what_is_no_number_in_a_table_is_told_by_row_and_column(kind, entry):
    wrong = FRAME.astype(kind)
    wrong.iloc[4, 0] = entry
    words = r"\[4, 0\] \(row 4, column 'vf'\) = ('n/a': must be a number$|nan)"
    model = MODELS["exact"]
    for call in (
        lambda: model.fit(wrong, Y),
        lambda: model.fit(X, wrong),
        lambda: model.fit(FRAME, Y).predict(wrong),
        lambda: bnn.evidence.fit_noise(FRAME.mask(FRAME.vf == FRAME.vf[4]), Y),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_dates_and_tables_without_columns_are_refused():
    with pytest.raises(ValueError, match=r"^X = .*: must be numbers, not dates"):
        MODELS["exact"].fit(FRAME.assign(vf=pd.Timestamp("2024-01-01")), Y)
    with pytest.raises(ValueError, match=r"^X has no columns$"):
        MODELS["exact"].fit(FRAME[[]], Y)
