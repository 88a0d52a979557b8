"""Wrong arguments are refused by name, before anything is trained."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import GaussianProcessPrior, metrics
from bnn.evaluation.plots import plot_1d
from bnn.gp.evidence import fit_prior
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (12, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(12)
TWO = np.c_[Y, -Y]
TWICE = np.vstack([X, X])
WITH_NAN = np.where(np.arange(12) == 2, np.nan, Y)
MASKED = np.ma.masked_array(X, mask=np.eye(12, 3, dtype=bool))
DATES = pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2026-01-01", periods=12)})
ROUNDED = np.add(X, [0.0, 1e7, 0.0]).astype(np.float32)
SKEW = np.array([[1.0, 2.0], [2.0, 1.0]])
RANDOM = bnn.RandomMean(lambda X, rng: rng.normal() * X[:, 0])
DEEP = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(40)))
PAIR = GaussianProcessPrior(0.0, [bnn.RBF(0.7, 0.5), bnn.RBF(0.3, 1.0)], 2)


def slope(X, a):
    return a * X[:, 0]


def fit(X=X, y=Y, *, prior=None, **changed):
    return small(bnn.AnchoredEnsemble, prior, **changed).fit(X, y)


def exact(prior, X=X, y=Y, noise=0.1):
    return bnn.GPRegressor(prior, noise=noise).fit(X, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit(n_members=1), "n_members = 1: must be an integer >= 2"),
        (lambda: fit(n_members=5), "n_members = 5: must be <= pretraining"),
        (lambda: fit(network__hidden=(4, 2.5)), r"hidden\[1\] = 2.5: must be an integer"),
        (lambda: fit(device="tpu9"), "device = 'tpu9': must be 'cpu' or"),
        (lambda: fit(device="cuda:99"), "device = 'cuda:99': this PyTorch sees"),
        (lambda: fit(random_state=-1), "random_state = -1: must be >= 0"),
        (lambda: fit(scaling__inputs=5), r"inputs has shape \(\): must be None, 'data'"),
        (lambda: fit(scaling__inputs=(0, [1, 1])), "inputs = .*: must be numbers"),
        (lambda: fit(noise=0.0), "noise = 0.0: standard deviations must be > 0"),
        (lambda: fit(noise="a"), "noise = 'a': must be one of constant, heteroscedastic"),
        (lambda: fit(noise=[0.1, 0.2]), "noise has 2 entries: must be one, or 1"),
        (lambda: fit(y=TWO, noise=SKEW), "eigenvalue -1, must be positive"),
        (lambda: fit(y=TWO, noise=SKEW[:1]), r"noise has shape \(1, 2\)"),
        (
            lambda: small(bnn.VanillaEnsemble, noise=1e-30).fit(X, Y),
            "noise: .* too small for single",
        ),
        (lambda: fit(prior="gp"), "prior = 'gp': must have a method sample"),
        (lambda: fit(prior=DEEP), r"prior = Sequential\(\.\.\.\): must have a method sample"),
        (lambda: fit(prior=[DEEP] * 9), "prior = 9 Sequentials: must have a method sample"),
        (lambda: fit(prior=bnn.SamplerPrior), "prior = SamplerPrior: must be an object"),
        (lambda: fit(prior=PAIR), "3 inputs and 1 outputs, the prior has 3 and 2"),
        (lambda: fit(prior=bnn.SamplerPrior(lambda X, _: np.nan * X)), "finite in realisation 0"),
        (lambda: bnn.Anchoring("none", "sampled"), "anchors = 'sampled': needs a regulariser"),
        (
            lambda: bnn.Anchoring("low_rank", optimiser="gauss_newton"),
            "regulariser = 'low_rank': optimiser = 'gauss_newton'",
        ),
        (lambda: fit(network__hidden=(10**5, 10**5)), r"widths = .*: \d+ weights, must be at most"),
        (lambda: fit(MASKED), "X has masked entries"),
        (lambda: fit(DATES), "X = .*: must be numbers, not dates"),
        (
            lambda: fit(DATES.assign(b=DATES.b - DATES.b[0])),
            "X = .*: must be numbers, not durations",
        ),
        (lambda: fit(y=DATES["b"]), "y = .*: must be numbers, not dates"),
        (lambda: fit(1j * X), "X = .*: must be real numbers. Complex"),
        (lambda: fit(ROUNDED), r"X: column 1 has the range .* which float32 resolves to"),
        (lambda: fit(pd.DataFrame(ROUNDED)), "X: column 1 has the range"),
        (lambda: fit(torch.as_tensor(ROUNDED)), "X: column 1 has the range"),
        (lambda: fit_prior(X, ROUNDED[:, 1], 0.1), "y: column 0 has the range"),
        (
            lambda: metrics.rmse([[1.0], [1.0, 2.0]], X),
            "y = .*: must be numbers, and as many in",
        ),
        (lambda: exact(GaussianProcessPrior(), MASKED), "X has masked"),
        (lambda: metrics.rmse(MASKED, X), "y has masked entries"),
        (lambda: fit_prior(X, WITH_NAN, 0.1), r"y\[2\] = nan: must be finite"),
        (lambda: fit_prior(X[:0], Y[:0], 0.1), r"X has shape \(0, 3\): must be \(n, n_in\)"),
        (
            lambda: bnn.train_anchored(3, X, Y, noise=0.1),
            "pretrained = 3: must be from bnn.pretrain",
        ),
        (lambda: bnn.RBF(lengthscale="a"), "lengthscale = 'a': must be numbers"),
        (lambda: bnn.SamplerPrior(3), "function = 3: must be callable"),
        (lambda: bnn.SamplerPrior(sk.RBF()), "function = RBF.*: must be callable, and no kernel"),
        (lambda: bnn.SamplerPrior(slope, [1.0]), r"parameters = \[1.0\]: must be a mapping"),
        (lambda: bnn.SamplerPrior(slope, {"a": stats.norm}), r"parameters\['a'\] = norm: must be"),
        (lambda: GaussianProcessPrior(sk.RBF()), "mean = RBF.*: is a kernel, give it as kernel="),
        (lambda: GaussianProcessPrior(kernel=sk.RBF), "kernel = .*RBF'>: must be a kernel"),
        (lambda: GaussianProcessPrior(kernel=["a"]), r"kernel = \['a'\]: must be a kernel"),
        (lambda: fit_prior(X, Y, 0.1, mean=2.0), "mean = 2.0: must be callable"),
        (lambda: exact(sk.RBF()), "prior = RBF.*: must be a GaussianProcess"),
        (lambda: exact(bnn.SamplerPrior(slope)), "prior = SamplerPrior.*: must"),
        (lambda: exact(GaussianProcessPrior(), y=TWO), "y has 2 outputs: must be 1"),
        (lambda: exact(GaussianProcessPrior(RANDOM)), "a random mean has no single value"),
        (lambda: bnn.VanillaEnsemble(noise=1e-30).fit(X, Y), "noise: .* too small for single"),
        (
            lambda: GaussianProcessPrior().sample(np.zeros((20_000, 1)), 1),
            "X has 20000 points: .* at most 10000 rows",
        ),
        (lambda: exact(PAIR, y=TWO).sample(np.zeros((10_001, 3))), "covariance has 10001 rows"),
        (
            lambda: exact(PAIR, y=TWO, noise=0.1 * SKEW + np.eye(2)).sample(np.zeros((5001, 3))),
            "5001 points: their joint covariance has 10002 rows",
        ),
        (lambda: fit(n_members=10**7), "n_members = 10000000: must be at most 100000"),
        (lambda: fit_prior(X, Y, 0.1, restarts=10**7), "restarts = .*: must be at most 10000"),
        (lambda: bnn.Architecture((4,) * 10**6), "hidden has 1000000 widths: must be at most 1000"),
        (lambda: bnn.Architecture([4] * 1001), "hidden has 1001 widths: must be at most 1000"),
        (lambda: plot_1d(X, np.zeros((4, 12, 1))), r"X has shape \(12, 3\): must be \(12, 1\)"),
    ],
)
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_a_wrong_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("noise", [-1.0, 0.0, np.nan, 1e-300, [0.1, 0.2]])
@pytest.mark.parametrize("kind", [bnn.AnchoredEnsemble, bnn.FunctionAnchoredEnsemble])
def test_wrong_noise_is_refused_before_pretraining(kind, noise, monkeypatch):
    monkeypatch.setattr("bnn.ensembles.pretraining.train", None)
    with pytest.raises(ValueError, match="noise"):
        small(kind, noise=noise).fit(X, Y)


MODELS = {
    "by evidence": bnn.GPRegressor(),
    "constant noise": bnn.GPRegressor(noise="constant"),
    "heavy tails": bnn.GPRegressor(noise="student_t"),
    "networks": small(bnn.AnchoredEnsemble),
}


@pytest.mark.parametrize("unit", [1e-300, 1e-155, 1e-100, 1e-77])
@pytest.mark.parametrize("name", MODELS)
def test_ranges_whose_squares_are_zero_are_refused(name, unit):
    for data in ((X, unit * Y), (unit * X, Y)):
        with pytest.raises(ValueError, match=r"[Xy]: column 0 has the range .*: take another unit"):
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
