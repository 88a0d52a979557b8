"""A model changes as a whole or not at all: after a refused or interrupted fit it is as before."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bnn
from tests.bnn.small import small, small_of_paths

pytestmark = pytest.mark.usefixtures("one_family")
PACKAGE = str(Path(bnn.__file__).parent)
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.uniform(-1.0, 1.0, (8, 2)), columns=["a", "b"])
TWO = np.column_stack([X["a"] + 0.1 * RNG.standard_normal(8), X["b"]])
NEW = X[:3] * 0.5
SWAPPED = X[["b", "a"]]
PROCESS = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.7), 2)
MODELS = {
    "Gaussian process": bnn.GPRegressor(PROCESS, noise=0.1),
    "Gaussian process, open kernel": bnn.GPRegressor(
        bnn.GaussianProcessPrior(0.0, [bnn.RBF(None, 0.7), bnn.RBF(1.0, 0.7)]), noise=0.1
    ),
    "vanilla": small(bnn.VanillaEnsemble),
    "anchored": small(bnn.AnchoredEnsemble, PROCESS),
    "function space": small(bnn.FunctionAnchoredEnsemble, PROCESS),
    "components": bnn.PCARegressor(bnn.GPRegressor(PROCESS, noise=0.1)),
    "components, networks": bnn.PCARegressor(small(bnn.VanillaEnsemble)),
}
REFUSED = {  # arguments of a fit that is refused
    "fewer outputs than inputs": ((SWAPPED, TWO[:5]), {}),
    "NaN in the inputs": ((X.where(X < 0.5), TWO), {}),
    "an infinite output": ((SWAPPED, np.where(TWO > 0.5, np.inf, TWO)), {}),
    "text": ((SWAPPED.astype(str) + "x", TWO), {}),
    "no rows": ((SWAPPED[:0], TWO[:0]), {}),
    "three inputs": ((X.assign(c=1.0), TWO), {"keep_prior": True}),
    "swapped inputs": ((SWAPPED, TWO), {"keep_prior": True}),
    "one output": ((X, TWO[:, 0]), {"keep_prior": True}),
    "weights below zero": ((SWAPPED, TWO), {"sample_weight": -np.ones(8)}),
    "noise of other shape": ((SWAPPED, TWO), {"noise_std": np.ones(3)}),
}
STAGES = 5  # interruptions, at equal distances in the calls of a fit


class InterruptedAt:
    """Raises KeyboardInterrupt at a call of a function of bnn; counts the calls without one.

    Generators do not count: Python ignores an exception in one that it closes.
    """

    def __init__(self, number=None):
        self.number = number
        self.calls = 0

    def __call__(self, frame, event, _):
        code = frame.f_code
        is_generator = code.co_flags & inspect.CO_GENERATOR
        if event == "call" and code.co_filename.startswith(PACKAGE) and not is_generator:
            self.calls += 1
            if self.calls == self.number:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)


def answers(model):
    moments = [*model.predict(NEW, return_std=True), *model.predict(NEW, return_cov=True)]
    return [*moments, repr(model), vars(model).keys()]


@pytest.fixture(params=MODELS)
def fitted(request):
    return clone(MODELS[request.param]).fit(X, TWO)


@pytest.mark.parametrize("name", MODELS)
def test_a_refused_fit_changes_nothing(name, tmp_path):
    new, model = clone(MODELS[name]), clone(MODELS[name]).fit(X, TWO)
    expected = answers(model)
    for why, (arguments, options) in REFUSED.items():
        if "keep_prior" not in options:
            with pytest.raises(ValueError, match=r"."):
                new.fit(*arguments, **options)
            for ask in (new.predict, new.sample, lambda _: new.save(tmp_path / "none.npz")):
                with pytest.raises(NotFittedError):
                    ask(NEW)
        with pytest.raises(ValueError, match=r"."):
            model.fit(*arguments, **options)
        np.testing.assert_equal(answers(model), expected, why)
    model.save(tmp_path / "model.npz")
    np.testing.assert_equal(answers(bnn.load(tmp_path / "model.npz"))[:4], expected[:4])


@pytest.mark.slow
@pytest.mark.parametrize("keep_prior", [False, True])
def test_an_interrupted_fit_changes_nothing(fitted, keep_prior, tmp_path):
    expected = answers(fitted)
    other = TWO + 1.0
    with InterruptedAt() as counted:
        clone(fitted).fit(X, TWO).fit(X, other, keep_prior=keep_prior)
    first = counted.calls
    with InterruptedAt() as counted:
        clone(fitted).fit(X, TWO)
    last = first - counted.calls
    for number in np.unique(np.linspace(1, last, STAGES).astype(int)):
        with pytest.raises(KeyboardInterrupt), InterruptedAt(number):
            fitted.fit(X, other, keep_prior=keep_prior)
        np.testing.assert_equal(answers(fitted), expected)
    fitted.save(tmp_path / "model.npz")
    np.testing.assert_equal(answers(bnn.load(tmp_path / "model.npz"))[:4], expected[:4])
    fitted.fit(X, other)
    assert not np.allclose(fitted.predict(NEW), expected[0])


TABLE = pd.DataFrame(TWO, columns=["E", "G"])
LOW = bnn.GPRegressor(PROCESS, noise=0.1).fit(X, TABLE)
GAPS = np.where(np.eye(8, 2), np.nan, 1.0)
# Calls that read y, of a model that was fitted to TABLE
READING_Y = {
    "new rows": (LOW, lambda model, y: model.fit(X, y, keep_prior=True)),
    "new curves": (MODELS["components"], lambda model, y: model.fit(X, y, keep_prior=True)),
    "low fidelity": (bnn.GPRegressor(mean=LOW, noise=0.1), lambda model, y: model.fit(X, y)),
    "score": (LOW, lambda model, y: model.score(X, y)),
    "score with gaps": (LOW, lambda model, y: model.score(X, y * GAPS)),
    "score of networks": (MODELS["vanilla"], lambda model, y: model.score(X, y)),
    "density": (LOW, lambda model, y: model.elppd(X, y)),
}


@pytest.mark.parametrize("name", READING_Y)
def test_outputs_in_another_order_are_rejected(name):
    """By the names of the columns. An array, or other names, are taken as they come."""
    model, call = READING_Y[name]
    model = clone(model).fit(X, TABLE)
    with pytest.raises(ValueError, match=r"y has columns \('G', 'E'\): must have the order of"):
        call(model, TABLE[["G", "E"]])
    call(model, TABLE.add_suffix(" [GPa]"))
    call(model, TWO[:, ::-1])


@pytest.mark.parametrize("keep_prior", [False, True])
def test_known_noise_has_the_order_of_the_outputs(keep_prior):
    noise_std = pd.DataFrame(0.1 + TWO**2, columns=["E", "G"])
    model = clone(LOW).fit(X, TABLE, noise_std=noise_std)
    y = TWO if keep_prior else TABLE  # an array has the order of the last fit
    with pytest.raises(
        ValueError, match=r"noise_std has columns \('G', 'E'\): must have the order"
    ):
        model.fit(X, y, keep_prior, noise_std=noise_std[["G", "E"]])
    model.fit(X, y, keep_prior, noise_std=noise_std)


@pytest.mark.parametrize("name", ["anchored", "function space"])
def test_inputs_have_the_order_of_the_pretraining(name, tmp_path):
    model = clone(MODELS[name]).pretrain(X)
    with pytest.raises(ValueError, match=r"X has columns \('b', 'a'\): must have the order of pre"):
        model.fit(SWAPPED, TWO)
    model.fit(X, TWO).save(tmp_path / "model.npz")
    again = bnn.load(tmp_path / "model.npz").set_params(random_state=1)
    for _ in range(2):
        with pytest.raises(ValueError, match="must have the order of pretrain"):
            again.fit(SWAPPED, TWO)
        again.fit(X.to_numpy(), TWO)


def test_an_interrupted_pretraining_keeps_the_members():
    model = clone(MODELS["anchored"]).fit(X, TWO)
    expected = answers(model)
    with pytest.raises(KeyboardInterrupt), InterruptedAt(50):
        model.pretrain(n_features=2)
    np.testing.assert_equal(answers(model), expected)
    with pytest.raises(ValueError, match="n_members"):
        model.set_params(n_members=1000).pretrain(n_features=2)
    np.testing.assert_equal(answers(model)[:4], expected[:4])


def test_a_refused_or_interrupted_fit_to_strain_paths_changes_nothing():
    model, inputs, strain, stress = small_of_paths()
    with pytest.raises(ValueError, match="stress"):
        model.fit(inputs, strain, stress[:2])
    with pytest.raises(NotFittedError):
        model.predict(inputs, strain)
    model.fit(inputs, strain, stress)
    expected = model.predict(inputs, strain, return_std=True)
    for number in (1, 40, 60):
        with pytest.raises(KeyboardInterrupt), InterruptedAt(number):
            model.fit(inputs, strain, stress + 5.0)
        np.testing.assert_equal(model.predict(inputs, strain, return_std=True), expected)
