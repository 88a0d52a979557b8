"""Wrong arguments of all that is public are refused by name, before anything is trained."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bnn
from bnn import GaussianProcessPrior
from tests.bnn.calls import CALLS, EXACT, MEMBERS, PRETRAINED, VALUES, Call, parts
from tests.bnn.small import small
from tests.wrong_arguments import WRONG as WRONG_OF_ANY
from tests.wrong_arguments import arguments, complaint

TENSOR = torch.ones((8, 2))
WRONG = [*WRONG_OF_ANY, stats.norm, bnn.RBF(), bnn.RBF, TENSOR, TENSOR.clone().requires_grad_()]
# What messages call an argument, beside its name: scikit-learn's and relations between two.
ALSO = {
    "X": "y|[Aa]rray|inputs?|data|points|features|coefficients",
    "y": "X|[Aa]rray|outputs?|data|groups|noise",
    "coefficients": "bounds|correlation|squares|noise",
    "function": "realisation of the prior|prior|mean|argument",
    "groups": "y",
    "high": "bounds",
    "low": "bounds",
    "max_bytes": "members",
    "mean": "means",
    "n_features": "inputs",
    "n_outputs": "prior|outputs|kernel|noise",
    "n_weights": "weights",
    "noise_covariance": "noise",
    "other": "factor",
    "parameters": "prior|parameters?",
    "points": "X|inputs?|features",
    "prior": "outputs|inputs",
    "random_state": "Seed",
    "squares": "noise",
    "std": "shapes",
}
# Calls that take NaN in y for what is missing: a row, or here all rows, without any may not pass.
MISSING = ("GPRegressor", "VanillaEnsemble", "AnchoredEnsemble", "FunctionAnchoredEnsemble")
MISSING += ("GPRegressor.elppd", *(f"metrics.{name}" for name in bnn.metrics.__dict__))
INFINITE = {"lengthscale", "reach", "ends"}  # parameters that leave an input out, or have no end
# Searches that take minutes with all wrong values
LONG = {"AnchoredEnsemble", "FunctionAnchoredEnsemble", "train_function_anchored"}
LONG |= {"HeteroscedasticNoise.from_replicates"}
BRIEF = pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived


def passed(call, argument, value, *allowed):
    """What is wrong with the answer to a wrong value; None where it works or names the argument."""
    changed = call.arguments | {argument: value}
    also = ALSO.get(argument, argument)
    return complaint(call.run, changed, argument, also, bnn.DivergenceError, *allowed)


def is_long(name):
    return name in LONG or name.startswith("evidence.fit")


@BRIEF
@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if is_long(n) else n for n in CALLS]
)
def test_every_wrong_argument_is_named(name):
    call = CALLS[name]
    call.run()
    for argument, value in product(call.arguments, WRONG):
        assert passed(call, argument, value) is None, (argument, value)


def of(function, **values):
    return function, arguments(function, VALUES | values)


def saved(folder):
    EXACT.save(folder / "saved.npz")
    return folder / "saved.npz"


# Functions of files, and networks that are made of their parts.
FILES = {
    "Members": lambda _: (bnn.Members, parts(MEMBERS)),
    "Pretrained": lambda _: (bnn.Pretrained, parts(PRETRAINED)),
    "load": lambda folder: (bnn.load, {"path": saved(folder)}),
    "save": lambda folder: (EXACT.save, {"path": folder / "model.npz"}),
    "to_c": lambda folder: of(bnn.export.to_c, path=folder / "model.c"),
    "replicates": lambda _: of(bnn.noise.replicate_covariance, groups=np.arange(8) // 2),
}


@BRIEF
@pytest.mark.parametrize("name", FILES)
def test_every_wrong_argument_of_files_and_parts_is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)  # texts are names of files there
    call = Call(*FILES[name](tmp_path))
    call.run()
    for argument, value in product(call.arguments, WRONG_OF_ANY):
        of_files = (FileNotFoundError, FileExistsError, IsADirectoryError)
        fault = passed(call, argument, value, *of_files)
        assert fault is None or (argument == "path" and value in ("", "a", "cpufoo")), fault


def arrays(call):
    return {
        argument: value
        for argument, value in call.arguments.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }


@BRIEF
@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if arrays(call)])
def test_numbers_that_are_not_finite_do_not_pass(name):
    """Calls with wrong values may work; with one such number in an array none may."""
    for (argument, array), value in product(arrays(CALLS[name]).items(), [np.nan, np.inf]):
        if argument in INFINITE and value == np.inf:
            continue
        wrong = array.copy()
        whole = argument == "y" and name in MISSING and np.isnan(value)
        wrong[... if whole else (-1,) * array.ndim] = value
        with pytest.raises(ValueError, match=rf"\b({argument}|{ALSO.get(argument, argument)})\b"):
            CALLS[name].run(**{argument: wrong})


def with_object(array, entry):
    changed = array.astype(object)
    changed.flat[0] = entry
    return changed


# An array of numbers → the same with an entry that is no real number.
NOT_REAL = {
    "masked entries": lambda array: np.ma.masked_array(
        array, np.arange(array.size).reshape(array.shape) == 0
    ),
    "Complex": lambda array: array + 0j,
    "Complex data": lambda array: with_object(array, 1j),
    "True or False": lambda array: array > 0.0,
    "not durations": lambda array: with_object(array, np.timedelta64(1, "s")),
    "dates": lambda array: (1e3 * array).astype("M8[s]"),
}


@BRIEF
@pytest.mark.parametrize("words", NOT_REAL)
def test_what_is_no_real_number_does_not_pass(words):
    """NumPy would take the real part, a number of some unit, 1 or 0, or what the mask hides."""
    for call in CALLS.values():
        for argument, array in arrays(call).items():
            with pytest.raises(ValueError, match=words):
                call.run(**{argument: NOT_REAL[words](array)})


RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (12, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(12)
TWO = np.c_[Y, -Y]
ROUNDED = np.add(X, [0.0, 1e7, 0.0]).astype(np.float32)
SKEW = np.array([[1.0, 2.0], [2.0, 1.0]])
FULL = 0.1 * SKEW + np.eye(2)
RANDOM = bnn.RandomMean(lambda X, rng: rng.normal() * X[:, 0])
DEEP = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(40)))
ONE = GaussianProcessPrior()
PAIR = GaussianProcessPrior(0.0, [bnn.RBF(0.7, 0.5), bnn.RBF(0.3, 1.0)], 2)


def fit(X=X, y=Y, *, prior=ONE, **changed):
    return small(bnn.AnchoredEnsemble, prior, **changed).fit(X, y)


def exact(prior, X=X, y=Y, noise=0.1):
    return bnn.GPRegressor(prior, noise=noise).fit(X, y)


@BRIEF
@pytest.mark.parametrize(
    ("call", "message"),
    [
        # Arguments that contradict each other
        (lambda: fit(n_members=5), "n_members = 5: must be <= pretraining"),
        (lambda: fit(device="cuda:99"), "device = 'cuda:99'"),
        (lambda: fit(y=TWO, noise=SKEW), "eigenvalue -1, must be positive"),
        (lambda: fit(noise=1e-30), "noise: .* too small for single"),
        (
            lambda: exact(bnn.MixturePrior([GaussianProcessPrior(RANDOM)] * 2, [0.5, 0.5])),
            "is random",
        ),
        (lambda: fit(prior=[DEEP] * 9), "prior = 9 Sequentials"),
        (lambda: fit(prior=PAIR), "3 inputs and 1 outputs, the prior has 3 and 2"),
        (lambda: fit(prior=bnn.SamplerPrior(lambda X, _: np.nan * X)), "finite in realisation 0"),
        (lambda: fit(pd.DataFrame(ROUNDED)), "X: column 1 has the range .* but float32 resolves"),
        (lambda: bnn.Anchoring("none", "sampled"), "anchors = 'sampled': needs a regulariser"),
        (
            lambda: exact(GaussianProcessPrior(RANDOM)),
            "mean is random, .* FunctionAnchoredEnsemble",
        ),
        (
            lambda: bnn.metrics.elppd([0.0], [[[0.0]], [[0.0]]], noise=None),
            "noise = None: must be numbers",
        ),
        # What would take more memory than there is
        (lambda: GaussianProcessPrior().sample(np.zeros((20_000, 1)), 1), "at most 10000 rows"),
        (
            lambda: bnn.GPRegressor().fit(np.arange(20_000.0)[:, None], np.arange(20_000.0)),
            "X has 20000 rows.*variational process of GPyTorch.*with conformal intervals",
        ),
        (lambda: exact(PAIR, y=TWO).sample(np.zeros((10_001, 3))), "covariance has 10001 rows"),
        (lambda: exact(PAIR, y=TWO, noise=FULL).sample(np.zeros((5001, 3))), "has 10002 rows"),
        (lambda: fit(network__hidden=(10**5, 10**5)), r"widths = .*: \d+ weights, must be at most"),
    ],
)
def test_what_no_single_argument_says_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("model", [bnn.GPRegressor(), small(bnn.AnchoredEnsemble)])
def test_ranges_whose_squares_are_zero_are_refused(model):
    for data in ((X, 1e-77 * Y), (1e-300 * X, Y)):
        with pytest.raises(ValueError, match=r"[Xy]: column 0 has the range .*: use another unit"):
            clone(model).fit(*data)


FRAME = pd.DataFrame({"load": [1.0, 2.0, 3.0], "tested": pd.date_range("2020-01-01", periods=3)})
MESSAGES = {
    "a column of dates": ((FRAME, [0.0, 1.0, 0.5]), {}, "X: column 'tested': .*not dates"),
    "noise of each row": (
        ([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5]),
        {"noise": [0.1, 0.1, 0.2]},
        r"noise has 3 entries: must be a number, or have one per output, 1; for each row give fit",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_name_the_column_or_the_argument(name):
    data, parameters, message = MESSAGES[name]
    with pytest.raises(ValueError, match=message):
        bnn.GPRegressor(**parameters).fit(*data)


PRIOR = GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
FIXED = {
    "prior__kernel": bnn.GPRegressor(PRIOR, noise=0.1),
    "prior__mean": bnn.FunctionAnchoredEnsemble(PRIOR, noise=0.1),
    "noise__df": bnn.GPRegressor(PRIOR, noise=bnn.StudentNoise(0.1)),
    "mean__kernel": bnn.GPRegressor(),
    "estimator__prior__kernel": bnn.PCARegressor(bnn.GPRegressor(PRIOR, noise=0.1)),
    "mean__noise": bnn.GPRegressor(mean=bnn.GPRegressor(PRIOR, noise=0.1).fit(X, Y)),
}


@pytest.mark.parametrize("name", FIXED)
def test_entries_of_parameters_that_are_fixed_are_named(name):
    """A search is told to vary the whole parameter, which works."""
    name_in_model = name.removeprefix("estimator__")
    whole = name_in_model.partition("__")[0]
    search = GridSearchCV(FIXED[name], {name: [bnn.RBF()]}, cv=2, error_score="raise")
    message = f"{name_in_model}: {whole} has no entries that can be set: give whole values of"
    with pytest.raises(ValueError, match=message):
        search.fit(X, Y)


def test_a_clone_changes_no_fitted_model_that_it_shares():
    mean = FIXED["mean__noise"].mean
    model = clone(FIXED["mean__noise"])
    assert [name for name in model.get_params() if name.startswith("mean")] == ["mean"]
    with pytest.raises(ValueError, match="mean__noise: mean has no entries"):
        model.set_params(mean__noise=7.0)
    assert mean.noise == 0.1


def test_a_search_varies_whole_priors():
    priors = [PRIOR, GaussianProcessPrior(0.0, bnn.RBF(1.0, 2.0))]
    search = GridSearchCV(bnn.GPRegressor(noise=0.1), {"prior": priors}, cv=2)
    assert search.fit(X, Y).best_params_["prior"] in priors


LONG_TEXT = "x" * 100_000
CUT = {
    "option": lambda: bnn.Architecture((3,), LONG_TEXT),
    "count": lambda: bnn.Pretraining(LONG_TEXT),
    "seed": lambda: PRIOR.sample(X[:, :1], 2, LONG_TEXT),
    "noise": lambda: bnn.GPRegressor(noise=LONG_TEXT).fit(X, Y),
    "convergence": lambda: bnn.TrainingSettings(convergence=LONG_TEXT),
    "prior with noise": lambda: bnn.evidence.fit_prior(X, Y, LONG_TEXT),
}


@pytest.mark.parametrize("name", CUT)
def test_long_texts_are_cut_out_of_messages(name):
    with pytest.raises((ValueError, TypeError), match="xxx") as caught:
        CUT[name]()
    assert len(str(caught.value)) < 1_000


CURVES = bnn.PCARegressor(
    bnn.GPRegressor(PRIOR, noise=bnn.StudentNoise(0.1)), bnn.PrincipalComponents.fit(np.eye(3))
)
SCALED = make_pipeline(StandardScaler(), bnn.GPRegressor(PRIOR, noise=0.1))
QUOTED = {
    "candidates": lambda: bnn.select_runs(CURVES, X, 1),
    "other library": lambda: bnn.interop.botorch_model(CURVES),
    "not fitted": lambda: bnn.GPRegressor(mean=CURVES.estimator).fit(X, Y),
    "not callable": lambda: bnn.GPRegressor(mean=CURVES).fit(X, Y),
    "mean and prior": lambda: bnn.GPRegressor(PRIOR, mean=CURVES).fit(X, Y),
    "pipeline": lambda: bnn.PCARegressor(SCALED).fit(X, Y),
}


@pytest.mark.parametrize("name", QUOTED)
def test_messages_that_quote_an_estimator_have_one_line(name):
    assert "\n" in repr(CURVES)
    assert "\n" in repr(SCALED)
    with pytest.raises((ValueError, TypeError), match=r" = .*: must be ") as caught:
        QUOTED[name]()
    assert "\n" not in str(caught.value)
