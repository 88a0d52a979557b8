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
@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e200])
def test_fit_names_the_first_entry_that_is_not_finite_and_counts_all(model, value):
    number = re.escape(str(value))
    count = "; 3 entries are not, in 2 of 12 rows$"
    with pytest.raises(ValueError, match=rf"^X\[3, 1\] = {number}: {FINITE}.*{count}"):
        model.fit(spoilt(X, value), Y)
    with pytest.raises(ValueError, match=rf"^y\[3, 1\] = {number}: {FINITE}.*{count}"):
        model.fit(X, spoilt(Y, value))
    with pytest.raises(ValueError, match=rf"^y\[7\] = {number}: {FINITE}[^;]*$"):
        model.fit(X, spoilt(Y, value)[:, 0])


@ANY
@BRIEF
def test_predictions_name_the_entry_too_by_its_column_in_a_table(model):
    model.fit(FRAME, Y)
    wrong = FRAME.copy()
    wrong.iloc[[2, 5], 1] = np.nan
    words = r"^X\[2, 1\] \(row 2, column 'E_f_GPa'\) = nan: .*; 2 entries are not, in 2 of 12 rows$"
    for call in (model.predict, model.sample, lambda table: model.fit(table, Y)):
        with pytest.raises(ValueError, match=words):
            call(wrong)
    with pytest.raises(ValueError, match=words.replace("nan", "inf")):
        model.predict(wrong.fillna(np.inf))


@pytest.mark.parametrize("kind", ["Float64", object])
def test_missing_entries_of_other_tables_are_found(kind):
    wrong = FRAME.astype(kind)
    wrong.iloc[4, 0] = pd.NA if kind == "Float64" else None
    with pytest.raises(ValueError, match=r"^X\[4, 0\] \(row 4, column 'vf'\) = nan"):
        MODELS["exact"].fit(wrong, Y)
    with pytest.raises(ValueError, match=r"^y\[4, 0\] \(row 4, column 'vf'\) = nan"):
        MODELS["exact"].fit(X, wrong)


def test_what_is_no_number_is_told_by_row_and_column():
    wrong = FRAME.astype(object)
    wrong.iloc[4, 0] = "n/a"
    words = r"^X\[4, 0\] \(row 4, column 'vf'\) = 'n/a': must be a number$"
    with pytest.raises(ValueError, match=words):
        MODELS["exact"].fit(wrong, Y)
    with pytest.raises(ValueError, match=r"^X\[4, 0\] = 'n/a': must be a number$"):
        MODELS["exact"].fit(wrong.to_numpy(), Y)
    with pytest.raises(ValueError, match=words):
        MODELS["exact"].fit(FRAME, Y).predict(wrong)
    with pytest.raises(ValueError, match="feature names"):
        MODELS["exact"].predict(wrong.assign(more=1.0))
    dated = FRAME.assign(vf=pd.Timestamp("2024-01-01"))
    for table in (dated, dated[["vf"]]):  # the column alone has another type than the table
        with pytest.raises(ValueError, match=r"^X = .*: must be numbers, not dates"):
            MODELS["exact"].fit(table, Y)


def test_a_table_without_columns_is_refused_as_such():
    with pytest.raises(ValueError, match=r"^X has no columns$"):
        MODELS["exact"].fit(FRAME[[]], Y)


def test_functions_name_the_column_as_well():
    wrong = FRAME.mask(FRAME.vf == FRAME.vf[4])
    with pytest.raises(ValueError, match=r"^X\[4, 0\] \(row 4, column 'vf'\) = nan"):
        bnn.evidence.fit_noise(wrong, Y)
