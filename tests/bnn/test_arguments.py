"""Wrong arguments are refused by name, before anything is trained."""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import metrics
from bnn.evaluation.plots import plot_1d
from bnn.priors.evidence import fit_prior

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (12, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(12)
UNIT = bnn.GaussianProcessPrior()
TWICE = np.vstack([X, X])
WITH_NAN = np.where(np.arange(12) == 2, np.nan, Y)
MASKED = np.ma.masked_array(X, mask=np.eye(12, 3, dtype=bool))
BRIEFLY = bnn.TrainingSettings(epochs=2)


def slope(X, a):
    return a * X[:, 0]


def fit(X=X, y=Y, **changed):
    model = bnn.AnchoredEnsemble(
        noise=0.1,
        n_members=3,
        network=bnn.Architecture((4,)),
        pretraining=bnn.Pretraining(4, 20, training=BRIEFLY),
        training=BRIEFLY,
    )
    return model.set_params(**changed).fit(X, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit(network__hidden=5), "hidden = 5: must be a sequence"),
        (lambda: fit(network__hidden=(4, 2.5)), r"hidden\[1\] = 2.5: must be an integer"),
        (
            lambda: bnn.VanillaEnsemble(noise=0.1, network=bnn.Architecture("44")).fit(X, Y),
            "hidden = '44': must be a sequence",
        ),
        (lambda: fit(training__convergence=3), "convergence = 3: must be a Convergence"),
        (lambda: fit(training__learning_rate="a"), "learning_rate = 'a': must be > 0"),
        (lambda: fit(noise="a"), "noise = 'a': must be one of constant, by_input"),
        (lambda: fit(MASKED), "X has masked entries"),
        (lambda: bnn.ExactPosterior(bnn.GaussianProcessPrior()).fit(MASKED, Y), "X has masked"),
        (lambda: metrics.rmse(MASKED, X), "y has masked entries"),
        (lambda: fit_prior(X, WITH_NAN, 0.1), r"y\[2\] = nan: must be finite"),
        (lambda: fit_prior(X[:0], Y[:0], 0.1), r"X has shape \(0, 3\): must be \(n, n_in\)"),
        (lambda: bnn.anchor(3, X, Y, noise=0.1), "pretrained = 3: must be from bnn.pretrain"),
        (lambda: bnn.RBF(lengthscale="a"), "lengthscale = 'a': must be numbers"),
        (lambda: bnn.SamplerPrior(3), "function = 3: must be callable"),
        (lambda: bnn.SamplerPrior(sk.RBF()), "function = RBF.*: must be callable, and no kernel"),
        (
            lambda: bnn.GaussianProcessPrior(sk.RBF()),
            "mean = RBF.*: is a kernel, give it as kernel=",
        ),
        (lambda: bnn.GaussianProcessPrior(kernel=sk.RBF), "kernel = .*RBF'>: must be a kernel"),
        (lambda: bnn.GaussianProcessPrior(kernel=3), "kernel = 3: must be a kernel, or one per"),
        (lambda: bnn.GaussianProcessPrior(kernel=["a"]), r"kernel = \['a'\]: must be a kernel"),
        (
            lambda: bnn.ExactPosterior(sk.RBF()).fit(X, Y),
            "prior = RBF.*: must be a GaussianProcess",
        ),
        (
            lambda: bnn.ExactPosterior(bnn.SamplerPrior(slope)).fit(X, Y),
            "prior = SamplerPrior.*: must",
        ),
        (
            lambda: fit_prior(X, Y, 0.1, mean=sk.RBF()),
            "mean = RBF.*: must be callable, and no kernel",
        ),
        (lambda: fit_prior(X, Y, 0.1, mean=2.0), "mean = 2.0: must be callable"),
        (lambda: bnn.SamplerPrior(slope, [1.0]), r"parameters = \[1.0\]: must be a mapping"),
        (lambda: bnn.SamplerPrior(slope, {"a": stats.norm}), r"parameters\['a'\] = norm: must be"),
        (lambda: bnn.VanillaEnsemble(noise=1e-30).fit(X, Y), "noise: .* too small for single"),
        (
            lambda: bnn.GaussianProcessPrior().sample(np.zeros((20_000, 1)), 1),
            "X has 20000 points: .* at most 10000 rows",
        ),
        (
            lambda: bnn.VanillaEnsemble(noise=0.1, network=bnn.Architecture((10**5, 10**5))).fit(
                X, Y
            ),
            r"widths = \(3, 100000, 100000, 1\): \d+ weights, must be at most 10000000",
        ),
        (lambda: fit(device="cuda:99"), "device = 'cuda:99': this PyTorch sees"),
        (lambda: plot_1d(X, np.zeros((4, 12, 1))), r"X has shape \(12, 3\): must be \(12, 1\)"),
    ],
)
def test_a_wrong_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
