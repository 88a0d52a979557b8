"""What is saved comes back, and nothing else does."""

import copy
import functools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import AnchoredEnsemble, FunctionAnchoredEnsemble, GPRegressor, VanillaEnsemble, load
from bnn.storage.values import NotStored, as_stored, plain, restored
from tests.bnn.small import small
from tests.damage import FUZZ, damaged, outcome
from tests.limits import UNUSUAL, limited

pytestmark = pytest.mark.usefixtures("one_family")
X = pd.DataFrame({"length [m]": 5.0 + np.linspace(-1.0, 1.0, 9)})
X_TEST = pd.DataFrame({"length [m]": 5.0 + np.linspace(-2.0, 2.0, 7)})
Y = np.sin(3.0 * X.to_numpy()[:, 0])
TWO = np.column_stack([Y, -Y])
GAPS = np.where(np.arange(18).reshape(9, 2) % 5 == 1, np.nan, TWO)
SPOILT = Y + 3.0 * (np.arange(9) == 4)  # with an outlier
VALUES = np.random.default_rng(0).standard_normal((30, 1)) * X.to_numpy()[:, 0]
MATRIX = np.array([[0.1, 0.05], [0.05, 0.2]])
BOUNDS = {"scaling__inputs": Bounds(4.0, 6.0), "scaling__outputs": [(-3.0, 3.0), (-5.0, 5.0)]}
PROCESS = bnn.GaussianProcessPrior(
    bnn.LinearMean([[0.5], [0.0]], 0.1),
    bnn.RBF(0.7, (0.5,)) + bnn.Linear(0.3, offset=0.1),
    2,
    bounds=(None, [5.0, 6.0]),
)
ONE = GPRegressor(bnn.GaussianProcessPrior(), noise=0.1)
KERNELS = [0.5 * sk.RBF([0.5]), bnn.Matern52(0.7) * sk.Matern(2.0, nu=1.5)]
FOREIGN = bnn.GaussianProcessPrior(0.0, KERNELS, 2)
BY_INPUT = bnn.HeteroscedasticNoise(
    [[-2.0, -1.0], [0.1, 0.0]], [[1.0, 0.3], [0.3, 1.0]], bounds=([4.5], [5.3])
)
BOUNDED_APART = bnn.HeteroscedasticNoise(
    BY_INPUT.coefficients, BY_INPUT.correlation, bounds=([[4.5, 4.7]], [[5.3, 5.1]])
)
CONVERGENCE = {"pretraining__training__convergence": bnn.Convergence(window=7)}
LONGER = {"pretraining__training__epochs": 200}
SEED = np.random.SeedSequence(3, spawn_key=(1, 2))
POINTS = bnn.TablePrior(X.to_numpy(), VALUES)
COMPONENTS = bnn.PrincipalComponents.fit(TWO)
SAVED = {
    "vanilla": (small(VanillaEnsemble, noise=MATRIX, **BOUNDS), TWO),
    "anchored": (small(AnchoredEnsemble, **CONVERGENCE), Y),
    "function space": (small(FunctionAnchoredEnsemble, PROCESS, random_state=SEED), TWO),
    "mixture": (small(FunctionAnchoredEnsemble), Y),
    "function space, points of a table": (small(FunctionAnchoredEnsemble, POINTS, **LONGER), Y),
    "exact": (GPRegressor(PROCESS, noise=[0.1, 0.2]), TWO),
    "exact, missing outputs": (GPRegressor(PROCESS, noise=MATRIX), GAPS),
    "exact, kernels of others": (GPRegressor(FOREIGN, noise=MATRIX), TWO),
    "exact, noise by input": (GPRegressor(PROCESS, noise=BY_INPUT), TWO),
    "exact, bounds of each output": (GPRegressor(PROCESS, noise=BOUNDED_APART), TWO),
    "exact, nothing set": (GPRegressor(), Y),
    "exact, heavy tails": (GPRegressor(noise="student_t"), SPOILT),
    "components": (bnn.PCARegressor(GPRegressor(noise=0.01), COMPONENTS), TWO),
    "components, networks": (bnn.PCARegressor(small(VanillaEnsemble), COMPONENTS), TWO),
}


def answers(model):
    """All that a model says at X_TEST."""
    predictions = [*model.predict(X_TEST, return_std=True, include_noise=True)]
    predictions += [
        *model.predict(X_TEST, return_std=True),
        *model.predict(X_TEST, return_cov=True),
    ]
    drawn = model.estimator_ if isinstance(model, bnn.PCARegressor) else model
    seeded = {"random_state": 1} if isinstance(drawn, GPRegressor) else {}
    predictions.append(model.sample(X_TEST, **seeded))
    predictions += [
        getattr(model, name)() for name in ("penalty", "log_evidence") if hasattr(model, name)
    ]
    if hasattr(model, "sample_prior"):
        predictions.append(model.sample_prior(X_TEST))
    return predictions


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_comes_back(name, tmp_path):
    """To the last bit, also after the same fit to other data; columns keep their names."""
    model, y = SAVED[name]
    model = clone(model).fit(X, y)
    expected = answers(model)
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    np.testing.assert_equal(answers(loaded), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(X_TEST.rename(columns={"length [m]": "height"}))
    if isinstance(model, GPRegressor):
        for regressor in (model, loaded):
            np.testing.assert_equal(answers(regressor.fit(X, y, keep_prior=True)), expected)
    if not isinstance(model, bnn.PCARegressor):  # its unfitted estimator is in no file
        np.testing.assert_equal(answers(loaded.fit(X, y + 0.1)), answers(model.fit(X, y + 0.1)))


def test_a_lost_prior_is_never_replaced_in_silence(small_anchored, line_data, tmp_path):
    """Pre-trained networks serve data after loading; to pre-train again needs the prior."""
    small_anchored.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz").fit(*line_data)
    assert loaded.prior == NotStored("GaussianProcessPrior")
    np.testing.assert_array_equal(
        loaded.predict([[0.5]]), small_anchored.fit(*line_data).predict([[0.5]])
    )
    message = "prior: a GaussianProcessPrior is not saved with a model"
    with pytest.raises(ValueError, match=message):
        small(FunctionAnchoredEnsemble, loaded.pretrained_).fit(*line_data)
    loaded.set_params(pretraining__training__batch_size=16)
    with pytest.raises(ValueError, match=message):
        loaded.fit(*line_data)
    loaded.set_params(prior=small_anchored.prior, pretraining__training__epochs=2).fit(*line_data)
    assert len(loaded.pretrained_.losses) == 2


def test_what_no_file_can_hold_is_refused(tmp_path):
    """An estimator before fit, a mean that is a function, and a low-fidelity model."""
    with pytest.raises(NotFittedError):
        AnchoredEnsemble().save(tmp_path / "exact.npz")
    model_mean = bnn.evidence.fit_prior(X, Y, 0.1, mean=lambda X: X[:, 0], restarts=0)
    for prior in (bnn.GaussianProcessPrior(lambda X: X[:, 0]), model_mean):
        with pytest.raises(TypeError, match=r"mean: a .* cannot be stored"):
            GPRegressor(prior).fit(X, Y).save(tmp_path / "exact.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y_": np.zeros((8, 1))}, r"y_ has shape \(8, 1\)"),
        ({"y_": np.full((9, 1), np.nan)}, "y_ has no value of output 0, only NaN"),
        ({"factors_": np.arange(9.0)}, "factors_ = 0.0 of row 0: must be > 0"),
        ({"estimator_": ONE.fit(X.to_numpy(), Y)}, "estimator_ predicts"),
    ],
)
def test_attributes_that_do_not_fit_each_other_are_refused(changed, message, tmp_path):
    if "estimator_" in changed:
        model = bnn.PCARegressor(GPRegressor()).fit(X, TWO)
    else:
        model = clone(ONE).fit(X, Y)
    for name, value in changed.items():
        setattr(model, name, value)
    model.save(tmp_path / "exact.npz")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "exact.npz")


def test_what_was_fitted_is_stored_not_what_was_set_afterwards(tmp_path):
    """Activation and regulariser of the networks, whatever the parameters say by now."""
    ensemble = small(AnchoredEnsemble).fit(X, Y)
    ensemble.set_params(network__activation="tanh", anchoring__regulariser="none")
    ensemble.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz")
    np.testing.assert_equal(answers(loaded), answers(ensemble))
    np.testing.assert_equal(answers(loaded.fit(X, Y)), answers(ensemble.fit(X, Y)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Content of the file of a small ensemble, and what it predicts."""
    path = tmp_path_factory.mktemp("whole") / "saved.npz"
    model = small(VanillaEnsemble).fit(X.to_numpy(), Y)
    model.save(path)
    return path.read_bytes(), model.predict(X.to_numpy())


@pytest.fixture
def saved(whole, tmp_path):
    """The file of a small ensemble."""
    path = tmp_path / "saved.npz"
    path.write_bytes(whole[0])
    return path


def test_what_is_no_saved_model_is_refused(saved, tmp_path):
    """A text, arrays of other programs, and what is no file."""
    saved.write_bytes(b"x,y\n1.0,2.0\n")
    with pytest.raises(ValueError, match=r"saved.npz: not a saved model, or damaged"):
        load(saved)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    for kind, make in UNUSUAL.items():  # nothing without an end, no pipe without a writer
        make(tmp_path / kind)
    for name in ("other.npz", "object.npy", *UNUSUAL):
        with limited(megabytes=10), pytest.raises(ValueError, match="not a saved model"):
            load(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "nothing.npz")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ONE.fit(X.to_numpy(), Y).save(tmp_path / "nowhere" / "saved.npz")


def rewrite(path, drop=(), header=None, **arrays):
    """Change arrays and the header, a function of it."""
    with np.load(path) as file:
        entries = {name: values for name, values in file.items() if name not in drop}
    if header is not None:
        content = json.loads(str(entries["header"]))
        entries["header"] = np.array(json.dumps(header(content) or content))
    np.savez(path, **{**entries, **arrays})


MEMBERS = "fitted.members_."


@pytest.mark.parametrize(
    ("drop", "arrays", "message"),
    [
        (["noise_covariance"], {}, f"array {MEMBERS}noise_covariance is missing"),
        ([], {"output_scaler.low": np.zeros((2, 3))}, r"bounds have shapes \(2, 3\) and \(1,\)"),
        ([], {"weights": np.full((3, 13), np.nan)}, "weights has values that are not finite"),
        ([], {"losses": np.array("text")}, f"{MEMBERS}losses has the type <U4, not real numbers"),
        ([], {"targets": np.zeros((3, 5, 2))}, r"targets has shape \(3, 5, 2\): must be"),
        ([], {"predict": np.zeros(3)}, f"unknown array '{MEMBERS}predict'"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(saved, drop, arrays, message):
    changed = {MEMBERS + name: values for name, values in arrays.items()}
    rewrite(saved, [MEMBERS + name for name in drop], **changed)
    with pytest.raises(ValueError, match=rf"damaged \({message}"):
        load(saved)


def test_a_small_file_cannot_ask_for_the_covariance_of_many_rows(tmp_path):
    """A file of 0.6 MB could ask for 12 GB: the rows take little, and their covariance does not."""
    path = tmp_path / "saved.npz"
    ONE.fit(X.to_numpy(), Y).save(path)
    rewrite(path, [], **{f"fitted.{name}": np.zeros((40_000, 1)) for name in ("X_", "y_")})
    assert path.stat().st_size < 1e6
    with limited(), pytest.raises(ValueError, match="X_ has 40000 rows, must be at most 10000"):
        load(path)


def test_a_packed_file_is_read_unless_it_unpacks_to_a_thousand_times_its_size(saved, whole):
    """Others may pack what `save` wrote; no array is unpacked of a file that is refused."""
    with np.load(saved) as file:
        content = dict(file)
    np.savez_compressed(saved, **content)
    np.testing.assert_array_equal(load(saved).predict(X.to_numpy()), whole[1])
    np.savez_compressed(saved, zeros=np.zeros(3_000_000), **content)
    message = r"bytes that unpack to 240\d+"
    with limited(megabytes=10), pytest.raises(ValueError, match=message):
        load(saved)


def test_a_file_of_another_format_says_which_bnn_wrote_it(saved):
    """The header comes first: arrays of another format are not read."""
    header = {"version": 99, "packages": {"bnn": "0.9.1"}}
    rewrite(saved, header=lambda h: h.update(header), zeros=np.zeros(5_000_000))
    message = "by bnn 0.9.1 in format version 99"
    with limited(megabytes=10), pytest.raises(ValueError, match=message):
        load(saved)


def predictions(path):
    """What a saved model predicts."""
    model = load(path)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Names of inputs in the header: scikit-learn warns of an array without.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model.predict(X.to_numpy())


@FUZZ
@given(st.data())
def test_damaged_bytes_are_refused_or_change_no_prediction(saved, whole, data):
    content, expected = whole
    saved.write_bytes(data.draw(damaged(content)))
    result = outcome(predictions, saved)
    if result is not None:
        np.testing.assert_array_equal(result, expected)


def entries(tree, keys=()):
    """Keys that lead to each entry of a tree of mappings."""
    for key, value in tree.items():
        yield (*keys, key)
        if isinstance(value, dict):
            yield from entries(value, (*keys, key))


PARAMETERS = ["model", "VanillaEnsemble", "parameters", "dict"]


@pytest.mark.slow
@pytest.mark.parametrize("other", ["missing", -1, {"a": 1}], ids=str)
def test_any_other_entry_of_the_header_is_refused_or_predicts_numbers(saved, other):
    """A parameter that is missing has its default."""
    with np.load(saved) as file:
        header = json.loads(str(file["header"]))
    for *keys, last in entries(header):
        changed = copy.deepcopy(header)
        place = functools.reduce(dict.__getitem__, keys, changed)
        if other == "missing":
            del place[last]
        else:
            place[last] = other
        rewrite(saved, header=lambda _, changed=changed: changed)
        result = outcome(predictions, saved)
        assert result is None or result.dtype.kind == "f"
        if other == "missing" and keys == PARAMETERS:
            assert getattr(load(saved), last) == getattr(VanillaEnsemble(), last)


def test_noise_given_as_a_series_is_stored(tmp_path):
    X = np.linspace(0.0, 1.0, 6)[:, None]
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5), 2)
    model = GPRegressor(prior, noise=pd.Series([0.1, 0.2])).fit(X, np.hstack([X, X**2]))
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz").fit(X, np.hstack([X, X**2]))
    np.testing.assert_array_equal(again.noise_, model.noise_)


def test_a_seed_goes_on_after_it_was_stored():
    seed = np.random.SeedSequence(3, spawn_key=(1, 2))
    tree = json.loads(json.dumps(plain(seed, {}, "value")))
    np.testing.assert_array_equal(restored(tree, {}.get).generate_state(4), seed.generate_state(4))
    with pytest.raises(ValueError, match="pool_size = 1000000"):
        restored({"SeedSequence": {"entropy": 1, "spawn_key": [], "pool_size": 10**6}}, {}.get)


@pytest.mark.parametrize(
    "value", [print, np.random.default_rng(0), bnn.GaussianProcessPrior(lambda X: X[:, 0]), {1, 2}]
)
def test_what_no_file_holds_is_replaced_by_its_name(value):
    assert as_stored(value) == NotStored(type(value).__name__)
