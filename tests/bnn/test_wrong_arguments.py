"""A wrong argument is refused with its name: every public call, and what goes wrong in pairs."""

import dataclasses
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from scipy.optimize import Bounds
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import metrics, plots
from bnn.gp.evidence import fit_noise, fit_prior
from bnn.noise import replicate_covariance
from bnn.paths import (
    MaterialPointBasis,
    PathScatter,
    PhaseProperties,
    PhysicallyRecurrentNetwork,
    StrainPathEnsemble,
    fit_scatter,
    mean_field_stress,
)
from bnn.priors.samplers import draw_realisations
from tests.bnn.calls import (
    CALLS,
    COMPONENTS,
    EXACT,
    VALUES,
    OwnKernel,
    OwnPrior,
    pretrained_once,
    trained_once,
)
from tests.bnn.concentration import concentration
from tests.bnn.small import small
from tests.wrong_arguments import WRONG as WRONG_OF_ANY
from tests.wrong_arguments import arguments, complaint

TENSOR = torch.ones((8, 2))
WRONG = [*WRONG_OF_ANY, stats.norm, bnn.RBF(), bnn.RBF, TENSOR, TENSOR.clone().requires_grad_()]
FEW = [object(), "a", -1, np.nan, np.zeros((0, 2))]
# What messages call an argument, beside its name: scikit-learn's and relations between two.
ALSO = {
    "X": "y|[Aa]rray|inputs?|data|features|coefficients|points",
    "coefficients": "correlation|squares|noise|bounds",
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
    "y": "X|[Aa]rray|outputs?|data|noise|groups",
}
INFINITE = {"lengthscale", "reach"}  # parameters that leave an input out, or have no end
FILES = (FileNotFoundError, FileExistsError, IsADirectoryError)


def parts(value):
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def asked(path, bounds, model, n_initial, batch_size, candidates, select_options, random_state):
    """What a new campaign asks for first; a path that is no name of a file says so itself."""
    path.unlink(missing_ok=True) if hasattr(path, "unlink") else None
    given = {"batch_size": batch_size, "candidates": candidates, "select_options": select_options}
    made = bnn.Campaign(
        path, bounds, model, n_initial=n_initial, random_state=random_state, **given
    )
    return made.ask()


def saved(folder):
    EXACT.save(folder / "saved.npz")
    return folder / "saved.npz"


# Function and valid arguments, for a folder to write in.
IN_A_FOLDER = {
    "Members": lambda _: (bnn.Members, parts(trained_once())),
    "Pretrained": lambda _: (bnn.Pretrained, parts(pretrained_once())),
    "Campaign": lambda folder: (
        asked,
        {
            "path": folder / "campaign.json",
            "bounds": np.array([[0.0, 1.0], [-1.0, 2.0]]),
            "model": None,
            "n_initial": 4,
            "batch_size": 2,
            "candidates": 20,
            "select_options": None,
            "random_state": 0,
        },
    ),
    "load": lambda folder: (bnn.load, {"path": saved(folder)}),
    "save": lambda folder: (EXACT.save, {"path": folder / "model.npz"}),
    "to_c": lambda folder: (
        bnn.export.to_c,
        arguments(bnn.export.to_c, VALUES | {"path": folder / "model.c"}),
    ),
    "replicate_covariance": lambda _: (
        replicate_covariance,
        arguments(replicate_covariance, VALUES | {"groups": np.arange(8) // 2}),
    ),
}


def every_wrong(function, given, values):
    """Arguments and values with whose refusal something is wrong."""
    wrong = []
    for argument in given:
        for value in values:
            if argument == "path" and isinstance(value, str):  # the name of a file
                continue
            allowed = bnn.DivergenceError, *FILES
            also = ALSO.get(argument, argument)
            said = complaint(function, given | {argument: value}, argument, also, *allowed)
            if said:
                wrong.append((argument, value, said))
    return wrong


ALL = pytest.param(WRONG, marks=pytest.mark.slow, id="all")


@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize("values", [pytest.param(FEW, id="few"), ALL])
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_named(name, values):
    call = CALLS[name]
    call.run()
    assert not every_wrong(call.run, call.arguments, values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", [pytest.param(FEW, id="few"), ALL])
@pytest.mark.parametrize("name", IN_A_FOLDER)
def test_every_wrong_argument_of_files_and_parts_is_named(tmp_path, monkeypatch, name, values):
    monkeypatch.chdir(tmp_path)
    function, given = IN_A_FOLDER[name](tmp_path)
    function(**given)
    assert not every_wrong(function, given, values)


def with_entry(array, entry, kind=object):
    changed = array.astype(kind)
    changed.flat[-1] = entry
    return changed


# An array of numbers → the same with an entry that is no finite real number.
NO_NUMBERS = {
    "NaN": lambda array: with_entry(array, np.nan, float),
    "infinity": lambda array: with_entry(array, np.inf, float),
    "masked": lambda array: np.ma.masked_array(
        array, np.arange(array.size).reshape(array.shape) == 0
    ),
    "complex": lambda array: array + 0j,
    "complex entry": lambda array: with_entry(array, 1j),
    "truth values": lambda array: array > 0.0,
    "truth value": lambda array: with_entry(array, True),
    "durations": lambda array: (1e3 * array).astype("m8[s]"),
    "duration": lambda array: with_entry(array, np.timedelta64(1, "s")),
    "dates": lambda array: (1e3 * array).astype("M8[s]"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_finite_real_number_does_not_pass(kind):
    """NumPy would take the real part, a number of some unit, 1 or 0, or what the mask hides."""
    passed = []
    for name, call in CALLS.items():
        for argument, array in call.arguments.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
                continue
            if kind == "infinity" and argument in INFINITE:
                continue
            wrong = {argument: NO_NUMBERS[kind](array)}
            try:
                call.run(**wrong)
                passed.append((name, argument, "nothing is said"))
            except (ValueError, TypeError):
                also = ALSO.get(argument, argument)
                said = complaint(call.run, call.arguments | wrong, argument, also)
                passed += [(name, argument, said)] if said else []
    assert not passed


RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (12, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(12)
TWO = np.c_[Y, -Y]
X1 = np.linspace(-1.0, 1.0, 9)[:, None]
CLOSE = np.linspace(-1.0, 1.0, 30)[:, None]
DATES = pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2026-01-01", periods=12)})
ROUNDED = np.add(X, [0.0, 1e7, 0.0]).astype(np.float32)
SKEW = np.array([[1.0, 2.0], [2.0, 1.0]])
GP = bnn.GaussianProcessPrior
PAIR = GP(0.0, [bnn.RBF(0.7, 0.5), bnn.RBF(0.3, 1.0)], 2)
RANDOM = bnn.RandomMean(lambda X, rng: rng.normal() * X[:, 0])
TABLE = bnn.TablePrior(X1, np.ones((2, 9)) * X1[:, 0])
FACTORS = bnn.HeteroscedasticNoise(np.zeros((4, 2)))
STUDENT = bnn.StudentNoise(SKEW + 2.0 * np.eye(2))
MODEL = bnn.GPRegressor(PAIR, noise=0.1).fit(X, TWO)
NETWORK = bnn.MLP((2, 1))
WARPED = partial(bnn.Warped, bnn.RBF(2.0, (0.5, 0.8)), (1.0, -2.0), (99.0, 5.0))
LINE = np.linspace(0.0, 1.0, 9)


def fit(X=X, y=Y, *, prior=None, kind=bnn.AnchoredEnsemble, **changed):
    return small(kind, *([] if kind is bnn.VanillaEnsemble else [prior]), **changed).fit(X, y)


def functions(**changed):
    """Of a smooth prior at points that are close to each other."""
    prior = GP(0.0, bnn.RBF(0.5, 0.8))
    return fit(CLOSE, CLOSE[:, 0], prior=prior, kind=bnn.FunctionAnchoredEnsemble, **changed)


def exact(prior, X=X, y=Y, noise=0.1):
    return bnn.GPRegressor(prior, noise=noise).fit(X, y)


def own(**methods):
    """A posterior whose kernel is that of lines through the origin, but for some methods."""
    return exact(GP(0.0, type("Lines", (OwnKernel,), methods)()), X[:, :1])


def select(**changed):
    return bnn.select_runs(**{"model": MODEL, "candidates": X, "n": 2} | changed)


def c_file(model=MODEL, **options):
    return bnn.export.to_c(model, "unwritten.c", **options)


SQUARED = type(
    "Squared",
    (bnn.Linear,),
    {"_evaluate": lambda _, A, B: (A @ B.T) ** 2, "diag": lambda _, X: np.sum(X**2, axis=1) ** 2},
)()


class Derived(bnn.Warped):
    """A kernel whose formula may be another one than that of its base."""


ENSEMBLES = [
    ("n_members", lambda: fit(n_members=5)),
    ("n_members", lambda: fit(n_members=10**7)),
    ("device", lambda: fit(device="cuda:99")),
    ("hidden", lambda: bnn.Architecture((4,) * 10**6)),
    ("widths", lambda: fit(network__hidden=(10**5, 10**5))),
    ("noise", lambda: fit(noise=[0.1, 0.2])),
    ("noise", lambda: fit(noise="a")),
    ("noise", lambda: fit(y=TWO, noise=SKEW)),
    ("noise", lambda: fit(kind=bnn.VanillaEnsemble, noise=1e-30)),
    ("noise", lambda: fit(kind=bnn.VanillaEnsemble, noise=bnn.StudentNoise(0.1))),
    ("noise", lambda: fit(kind=bnn.VanillaEnsemble, y=TWO[:, :1], noise=FACTORS)),
    ("noise", lambda: fit(kind=bnn.FunctionAnchoredEnsemble, noise=-1.0)),
    ("prior", lambda: fit(prior=PAIR)),
    ("prior", lambda: fit(prior=bnn.SamplerPrior)),
    ("realisation", lambda: fit(prior=bnn.SamplerPrior(lambda X, _: np.nan * X))),
    ("anchors", lambda: bnn.Anchoring("none", "sampled")),
    ("optimiser", lambda: bnn.Anchoring("low_rank", optimiser="gauss_newton")),
    (
        "n_networks",
        lambda: fit(
            anchoring__regulariser="probabilistic_pca", pretraining__n_networks=2, n_members=2
        ),
    ),
    ("pretraining", lambda: fit(pretraining=3)),
    ("colour", lambda: bnn.AnchoredEnsemble().set_params(training__colour=1)),
    ("n_features", lambda: bnn.AnchoredEnsemble().pretrain()),
    ("inputs", lambda: bnn.AnchoredEnsemble().pretrain(n_features=1)),
    ("X", lambda: bnn.AnchoredEnsemble().pretrain([[0.0]])),
    ("X", lambda: bnn.pretrain(PAIR, np.zeros((4, 5, 3)), settings=bnn.Pretraining(5))),
    ("pretrained", lambda: bnn.train_anchored(3, X, Y, noise=0.1)),
    ("noise", lambda: functions(noise=1e-9)),
    ("nugget", lambda: functions(anchoring__nugget=0.6)),
    ("nugget", lambda: functions(anchoring__nugget=1e-9)),
    ("outputs", lambda: fit(scaling__outputs=[(0, 1), (0, 1)])),
    ("inputs", lambda: fit(scaling__inputs=[(0, 1), (3, 2), (0, 1)])),
    ("inputs", lambda: fit(scaling__inputs=Bounds([0, 0], [1, 1]))),
    ("return_std", lambda: trained_once() and MODEL.predict(X, return_std=True, return_cov=True)),
    ("activation", lambda: bnn.MLP((1, 1), "swish")),
    ("init", lambda: NETWORK.initial_weights(1, 0, "zeros")),
    ("weights", lambda: NETWORK.forward(np.zeros((2, 4)), np.zeros((1, 2)))),
    ("X", lambda: NETWORK.forward(np.zeros((2, 3)), np.zeros((5, 3)))),
    ("K", lambda: bnn.LowRankGaussian.fit(np.ones((1, 3)), NETWORK)),
    ("weights", lambda: bnn.LowRankGaussian.fit(np.ones((3, 2)), NETWORK)),
    ("networks", lambda: bnn.LowRankGaussian.fit(np.ones((3, 3)), NETWORK)),
    ("K", lambda: bnn.ProbabilisticPCA.fit(np.eye(3)[:2], NETWORK)),
    ("keep_prior", lambda: bnn.GPRegressor().fit(X, Y, keep_prior=3)),
    ("explained", lambda: bnn.PrincipalComponents.fit(TWO, 1.0)),
    ("vectors", lambda: dataclasses.replace(COMPONENTS, vectors=2.0 * np.eye(2))),
    ("y", lambda: bnn.PCARegressor(bnn.GPRegressor(), COMPONENTS).fit(X, np.c_[TWO, Y])),
    ("estimator", lambda: bnn.PCARegressor(PAIR).fit(X, TWO)),
    ("components", lambda: bnn.PCARegressor(bnn.GPRegressor(), 3).fit(X, TWO)),
]
DATA = [
    ("X", lambda: fit(DATES)),
    ("X", lambda: fit(DATES.assign(b=DATES.b - DATES.b[0]))),
    ("y", lambda: fit(y=DATES["b"])),
    ("X", lambda: fit(ROUNDED)),
    ("X", lambda: fit(torch.as_tensor(ROUNDED))),
    ("y", lambda: fit_prior(X, ROUNDED[:, 1], 0.1)),
    ("X", lambda: exact(PAIR, pd.DataFrame(X)[[]], TWO)),
    ("X", lambda: exact(PAIR, pd.DataFrame(X).astype(object).replace(X[4, 0], "n/a"), TWO)),
    ("feature names", lambda: exact(PAIR, DATES[["a"]], TWO).predict(DATES[["a"]].assign(c=1.0))),
    ("y", lambda: exact(GP(), y=TWO)),
    ("covariance", lambda: MODEL.sample(np.zeros((10_001, 3)))),
    (
        "points",
        lambda: exact(PAIR, y=TWO, noise=0.1 * SKEW + np.eye(2)).sample(np.zeros((5001, 3))),
    ),
]
PRIORS = [
    ("X", lambda: GP().sample(np.zeros((20_000, 1)), 1)),
    ("mean", lambda: GP(sk.RBF())),
    ("kernel", lambda: GP(kernel=["a"])),
    ("kernel", lambda: GP(kernel=[bnn.RBF()], n_outputs=2)),
    ("features", lambda: GP(features=[[0], [0]])),
    ("features", lambda: GP(features=[3]).sample(X1, 1)),
    ("bounds", lambda: GP(bounds=(1.0, -1.0))),
    ("bounds", lambda: GP(bounds=([0, 1, 2], None), n_outputs=2)),
    ("mean", lambda: GP(lambda _: np.zeros(3)).sample(X1, 1)),
    ("mean", lambda: GP(RANDOM).mean_values(X1)),
    ("mean", lambda: exact(GP(RANDOM))),
    ("prior", lambda: exact(sk.RBF())),
    ("prior", lambda: exact(OwnPrior())),
    ("weights", lambda: bnn.MixturePrior([GP(), GP()], [0.6, 0.6])),
    ("weights", lambda: bnn.MixturePrior([GP(), GP()], [1.0])),
    ("components", lambda: bnn.MixturePrior([GP(), GP(bounds=(0.0, None))], [0.5, 0.5])),
    ("function", lambda: bnn.SamplerPrior(sk.RBF())),
    ("parameters", lambda: bnn.SamplerPrior(lambda X, a: a * X, {"a": stats.norm})),
    ("prior", lambda: bnn.SamplerPrior(lambda *_: 1.0).sample(X1, 2)),
    ("values", lambda: bnn.TablePrior(X1, np.zeros((2, 4)))),
    ("values", lambda: bnn.TablePrior(X1, np.zeros((1, 9)))),
    ("interpolation", lambda: bnn.TablePrior(X1, np.zeros((2, 9)), "cubic")),
    ("table", lambda: TABLE.sample(X1 + 1.0, 1)),
    ("prior", lambda: draw_realisations(bnn.SamplerPrior(lambda X, _: X[:3, 0]), X1, 2)),
    ("lengthscale", lambda: bnn.RBF(1.0, (1.0, 1.0))(X1, X1)),
    ("lengthscale", lambda: bnn.Matern32(1.0, 1e-300)),
    ("period", lambda: bnn.Periodic(period=0.0)),
    ("variance", lambda: bnn.Linear((0.0, 0.0))),
    ("variance", lambda: bnn.Linear((1.0, 1.0))(np.eye(3))),
    ("reach", lambda: bnn.Linear(reach=(1.0, 2.0))(X1, X1)),
    ("origin", lambda: bnn.Linear(origin=(1.0, 2.0))(X1, X1)),
    ("factor", lambda: np.ones(2) * bnn.RBF()),
    ("kernel", lambda: bnn.Warped(1.0, (1.0,), (1.0,), (0.0,))),
    ("warps", lambda: WARPED((0.0,))),
    ("warps", lambda: WARPED((0.0, 50.0))),
    ("mixing", lambda: WARPED((0.0, 0.0), ((1.0,),))),
    ("X", lambda: WARPED((0.0, 0.0))(np.zeros((2, 3)))),
    ("_correlation", lambda: type("Half", (bnn.Stationary,), {})()(X)),
    ("Lines", lambda: own(_evaluate=lambda *given: given[1][:, 0])),
    ("symmetric", lambda: own(_evaluate=lambda _, A, B: np.tril(A @ B.T))),
    ("diag", lambda: own(diag=lambda _, X: X**2)),
    ("diag", lambda: own(diag=lambda _, X: 0.1 * X[:, 0] ** 2)),
    (
        "kernel Squared",
        lambda: exact(GP(kernel=SQUARED)).predict_gradient(X),
    ),
    ("kernel RBF", lambda: exact(GP(kernel=sk.RBF())).predict_gradient(X)),
    ("mean", lambda: exact(GP(lambda X: X[:, 0])).predict_gradient(X)),
    (
        "gradients",
        lambda: bnn.PCARegressor(bnn.GPRegressor(noise=0.1)).fit(X, TWO).predict_gradient(X),
    ),
    ("mean", lambda: fit_prior(X, Y, 0.1, mean=2.0)),
    ("mean", lambda: fit_prior(X, Y, 0.1, mean=lambda X: X[:3])),
    ("mean", lambda: fit_prior(X, Y, 0.1, mean=lambda X: np.nan * X[:, 0])),
    ("output 0", lambda: fit_prior(X, Y, 0.1, mean=lambda X: Y if len(X) == 12 else X[:, 0])),
    ("mean_features", lambda: fit_prior(X, Y, 0.1, mean_features=[3])),
    ("estimate", lambda: fit_prior(X, Y, 0.1, estimate="best")),
    ("X", lambda: fit_prior(0 * X + 1, Y, 0.1)),
    ("output 0", lambda: fit_noise(X, 0 * Y + 3)),
    ("estimate", lambda: bnn.evidence.lengthscales(bnn.MixturePrior([GP(), GP()], [0.5, 0.5]))),
    ("y", lambda: bnn.check_prior(GP(), X, TWO, 0.1)),
    ("prior", lambda: bnn.check_prior(stats.uniform(), X, Y, 0.1)),
    ("realisations", lambda: bnn.check_prior(bnn.TablePrior(X1, np.eye(3, 9)), X1, X1[:, 0], 0.1)),
]
NOISES = [
    ("coefficients", lambda: bnn.HeteroscedasticNoise(np.zeros(3))),
    ("squares", lambda: bnn.HeteroscedasticNoise(np.zeros((3, 2)), squares=(1,))),
    ("correlation", lambda: bnn.HeteroscedasticNoise(np.zeros((3, 2)), 2.0 * np.eye(2))),
    ("X", lambda: FACTORS(X[:, :1])),
    ("bounds", lambda: dataclasses.replace(FACTORS, bounds=([0, 1, 0], [1, 0, 1]))),
    ("noise", lambda: exact(None, noise=FACTORS)),
    ("groups?", lambda: bnn.HeteroscedasticNoise.from_replicates(X, TWO, np.zeros(12))),
    (
        "covariance",
        lambda: bnn.HeteroscedasticNoise.from_replicates(X[[0] * 4], TWO[[0] * 4], [0] * 4),
    ),
    ("groups", lambda: replicate_covariance(TWO[:3], [0, 1])),
    ("groups", lambda: replicate_covariance(TWO[:3], [0, 1, 1])),
    ("symmetric", lambda: bnn.noise.noise_covariance([[1.0, 0.5], [0.0, 1.0]], 2)),
    ("freedom", lambda: bnn.StudentNoise(0.1, 2.0)),
    ("noise", lambda: bnn.StudentNoise(-np.eye(2))),
    ("noise", lambda: exact(None, noise=bnn.StudentNoise(-1.0))),
    ("freedom", lambda: metrics.elppd(TWO, TWO[None], STUDENT)),
    ("noise", lambda: metrics.elppd_gaussian(TWO, TWO, TWO, STUDENT)),
    ("noise", lambda: metrics.coverage(TWO, TWO, TWO**2, 0.5, FACTORS)),
]
AFTERWARDS = [
    ("std", lambda: metrics.coverage([1.0], [1.0], [0.0])),
    ("level", lambda: metrics.coverage([1.0], [1.0], [1.0], 1.5)),
    ("shapes", lambda: metrics.crps_gaussian([1.0, 2.0], [1.0], [1.0])),
    ("samples", lambda: metrics.crps([1.0, 2.0], np.zeros((3, 1, 1)))),
    ("density", lambda: metrics.elppd([1.0], np.zeros((3, 1, 1)), 0.1, "normal")),
    ("members", lambda: metrics.elppd([1.0], np.zeros((1, 1, 1)), 0.1, "student_t")),
    ("std", lambda: metrics.elppd_gaussian([1.0], [1.0], [0.0])),
    ("X", lambda: plots.plot_1d(MODEL, LINE)),
    ("X", lambda: plots.plot_1d(X, np.zeros((4, 12, 1)))),
    ("samples", lambda: plots.plot_1d(LINE, LINE)),
    ("output", lambda: plots.plot_1d(LINE, np.ones((3, 9, 1)), output=1)),
    ("y", lambda: plots.plot_parity(MODEL, LINE, LINE)),
    ("shapes", lambda: plots.plot_parity(LINE, LINE, LINE[:3])),
    ("names", lambda: plots.plot_parity(LINE, LINE, LINE, ["a", "b"])),
    ("rounds", lambda: plots.plot_rounds([X, X[:, :2]])),
    ("at", lambda: plots.plot_slices(MODEL, X, at=[1.0])),
    ("y", lambda: plots.plot_slices(MODEL, X, np.zeros((12, 3)))),
    ("input_names", lambda: plots.plot_slices(MODEL, X, input_names=["a"])),
    ("n", lambda: bnn.sensitivity(MODEL, [(0.0, 1.0)] * 3, n=100)),
    ("bounds", lambda: bnn.sensitivity(MODEL, [(0.0, 1.0)] * 2)),
    ("bounds", lambda: bnn.sensitivity(MODEL, [(1.0, 0.0)] * 3)),
    ("model", lambda: select(model=trained_once())),
    ("model", lambda: select(model=small(bnn.VanillaEnsemble).fit(X, Y))),
    ("n", lambda: select(n=13)),
    ("candidates", lambda: select(candidates=X[:, :1])),
    ("output_ranges", lambda: select(output_ranges=[1.0, 0.0])),
    ("output_weights", lambda: select(output_weights=[1.0, -1.0])),
    ("costs", lambda: select(costs=np.zeros(12))),
    ("output_bounds", lambda: select(output_bounds=(1.0, 0.0))),
    ("candidate", lambda: select(output_bounds=(None, -100.0))),
    ("min_feasibility", lambda: select(min_feasibility=1.5)),
    ("min_gain", lambda: select(min_gain=-0.1)),
    ("model", lambda: c_file(sk.RBF())),
    ("name", lambda: c_file(name="2d")),
    ("name", lambda: c_file(name="exp")),
    ("name", lambda: c_file(name="point")),
    ("members", lambda: c_file(members=3)),
    ("max_bytes", lambda: c_file(max_bytes=900)),
    ("max_bytes", lambda: c_file(fit(), max_bytes=900)),
    ("members", lambda: c_file(fit(), members=4)),
    ("kernel RBF", lambda: c_file(exact(GP(kernel=sk.RBF())))),
    ("kernel Periodic", lambda: c_file(exact(GP(kernel=bnn.Periodic())))),
    ("kernel Linear", lambda: c_file(exact(GP(kernel=bnn.Linear() + bnn.Linear())))),
    ("kernel Derived", lambda: c_file(exact(GP(kernel=Derived(bnn.RBF(), *[(0.5,) * 3] * 3))))),
    ("mean", lambda: c_file(exact(GP(lambda X: X[:, 0])))),
    ("noise", lambda: c_file(exact(PAIR, y=TWO, noise=[[0.3, 0.1], [0.1, 0.3]]))),
    ("activation", lambda: bnn.export.to_onnx(fit(network__activation="gelu"), "unwritten.onnx")),
    ("model", lambda: bnn.export.to_onnx(MODEL, "unwritten.onnx")),
]
BOX = np.array([[0.05, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.55]])
PATH = 0.001 * np.ones((1, 5, 3)).cumsum(axis=1)
INPUTS = BOX.mean(axis=0)[None]
POINTS = MaterialPointBasis(concentration, BOX, n_points=2)
SCATTER = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))
RECURRENT = PhysicallyRecurrentNetwork(BOX, n_matrix=2, n_fibre=1, hidden=2)
ONE = RECURRENT.initial_weights(1, random_state=0)
PATHS = StrainPathEnsemble(POINTS, SCATTER, n_members=2, random_state=0)
FIELDS = partial(mean_field_stress, concentration(INPUTS), INPUTS, phases=PhaseProperties())


def on_paths(**changed):
    return clone_of_paths().fit(**{"X": INPUTS, "strain": PATH, "stress": 1e5 * PATH} | changed)


def clone_of_paths():
    return StrainPathEnsemble(POINTS, SCATTER, n_members=2, random_state=0)


def path_file(X=INPUTS[0], **options):
    return bnn.export.path_to_c(on_paths(), "unwritten.c", X, **options)


ALONG_PATHS = [
    ("concentration", lambda: MaterialPointBasis(3, BOX)),
    ("n_points", lambda: MaterialPointBasis(concentration, BOX, n_points=0)),
    ("first_yield", lambda: MaterialPointBasis(concentration, BOX, first_yield=0.9)),
    ("bounds", lambda: MaterialPointBasis(concentration, BOX[::-1])),
    ("concentration", lambda: MaterialPointBasis(lambda _: np.eye(3), BOX).features(INPUTS, PATH)),
    ("strain", lambda: POINTS.features(INPUTS, PATH[0])),
    ("X", lambda: RECURRENT.stress(ONE, INPUTS[:, :3], PATH)),
    ("weights", lambda: RECURRENT.stress(ONE[:, 1:], INPUTS, PATH)),
    ("strain", lambda: RECURRENT.stress(ONE, INPUTS, PATH * np.nan)),
    ("bounds", lambda: PhysicallyRecurrentNetwork(BOX[:, :3])),
    ("nu_m", lambda: PhaseProperties(nu_m=0.5)),
    ("hardening", lambda: PhaseProperties(hardening="voce")),
    ("percent", lambda: FIELDS(200.0 * PATH)),
    ("percent", lambda: on_paths().predict(INPUTS, 20.0 * PATH)),
    ("return_std", lambda: on_paths().predict(INPUTS, PATH, return_std="no")),
    ("X", lambda: on_paths().cell_weights(INPUTS[0])),
    ("stress", lambda: on_paths(stress=PATH[:, 1:])),
    ("arrangements", lambda: on_paths(arrangements=0)),
    ("vf", lambda: on_paths(X=INPUTS * [0.0, 1.0, 1.0, 1.0])),
    ("n_members", lambda: StrainPathEnsemble(POINTS, SCATTER, n_members=0)),
    ("model_error", lambda: StrainPathEnsemble(POINTS, SCATTER, model_error=-1.0)),
    ("bank", lambda: StrainPathEnsemble(1, SCATTER)),
    ("scatter", lambda: StrainPathEnsemble(POINTS, None)),
    ("R", lambda: fit_scatter(POINTS, INPUTS, PATH, PATH[:, None])),
    ("rest", lambda: fit_scatter(POINTS, INPUTS, 0.0 * PATH, np.stack([PATH, PATH], axis=1))),
    ("coefficients", lambda: PathScatter(np.eye(3))),
    ("plastic_strain", lambda: SCATTER.std(INPUTS, PATH, PATH)),
    ("utilisation", lambda: SCATTER.std(INPUTS, PATH[..., 0], PATH[:, 1:, 0])),
    ("X", lambda: path_file(INPUTS)),
    ("X", lambda: path_file([0.3, np.nan, 400.0, 0.4])),
    ("vf", lambda: path_file([0.5, 350.0, 400.0, 0.4])),
    ("members", lambda: path_file(members=5)),
    ("name", lambda: path_file(name="LAW")),
    ("max_bytes", lambda: path_file(max_bytes=5000)),
]
# Each door that takes the inputs of cells.
DOORS = [
    lambda X: RECURRENT.stress(ONE, X, PATH),
    lambda X: mean_field_stress(concentration(INPUTS), X, PATH, PhaseProperties()),
    lambda X: POINTS.features(X, PATH),
    lambda X: on_paths(X=X),
    lambda X: fit_scatter(POINTS, X, PATH, np.stack([PATH, PATH], axis=1)),
    lambda X: SCATTER.std(X, np.zeros((1, 1)), np.ones((1, 1))),
    lambda X: MaterialPointBasis(concentration, np.vstack([X, X])),
    lambda X: PhysicallyRecurrentNetwork(np.vstack([X, X])),
]
IMPOSSIBLE = {"vf": 1.0, "E_f_GPa": 0.0, "b_m_MPa": -400.0, "c_m": 1.01}
ALONG_PATHS += [
    (name, partial(door, np.where(np.arange(4) == i, value, INPUTS)))
    for i, (name, value) in enumerate(IMPOSSIBLE.items())
    for door in DOORS
]
REFUSED = ENSEMBLES + DATA + PRIORS + NOISES + AFTERWARDS + ALONG_PATHS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("argument", "call"), REFUSED)
def test_arguments_that_do_not_fit_each_other_are_named(argument, call, tmp_path, monkeypatch):
    """Beside what is wrong with a value alone, which the calls above find."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=rf"\b{argument}\b"):
        call()
    assert not list(tmp_path.iterdir())


MODELS = {
    "by evidence": bnn.GPRegressor(),
    "constant noise": bnn.GPRegressor(noise="constant"),
    "heavy tails": bnn.GPRegressor(noise="student_t"),
    "networks": small(bnn.AnchoredEnsemble),
}


@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1e-77])
@pytest.mark.parametrize("name", MODELS)
def test_ranges_whose_squares_are_zero_are_refused(name, unit):
    for argument, data in (("y", (X, unit * Y)), ("X", (unit * X, Y))):
        with pytest.raises(ValueError, match=rf"^{argument}: column 0 has the range"):
            clone(MODELS[name]).fit(*data)


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", MODELS)
def test_predictions_in_small_units(name):
    """As those in units of one, where values are 1e-30 or as small as is taken."""
    expected = clone(MODELS[name]).fit(X, Y).predict(X, return_std=True)
    for unit in (1e-30, 1e-74):
        model = clone(MODELS[name])
        if isinstance(model, bnn.AnchoredEnsemble):
            model.set_params(noise=0.1 * unit)
        found = model.fit(unit * X, unit * Y).predict(unit * X, return_std=True)
        np.testing.assert_allclose(np.array(found) / unit, expected, rtol=0.05, atol=0.05)
