"""What a fitted estimator takes time for says how far it is, on a terminal and nowhere else."""

import re

import numpy as np
import pytest

import bnn
from tests.terminal import slow_terminal

rng = np.random.default_rng(0)
X = rng.uniform(size=(40, 2))
Y = np.column_stack([np.sin(5.0 * X[:, 0]), np.cos(4.0 * X[:, 1])])
X_NEW = rng.uniform(size=(30, 2))
Y_NEW = np.column_stack([np.sin(5.0 * X_NEW[:, 0]), np.cos(4.0 * X_NEW[:, 1])])
PROCESS = bnn.GaussianProcessPrior(0.0, [bnn.RBF(1.0, 0.5), bnn.Matern32(1.0, 0.4)], 2)
MIXTURE = bnn.MixturePrior(
    [PROCESS, bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 1.0), 2)], [0.5] * 2
)
EXACT = {
    "predict": lambda model: model.predict(X_NEW, return_std=True),
    "mean": lambda model: model.predict(X_NEW),
    "elppd": lambda model: model.elppd(X_NEW, Y_NEW),
    "predict_gradient": lambda model: model.predict_gradient(X_NEW),
    "sample": lambda model: model.sample(X_NEW, 2, random_state=0),
    "joint_moments": lambda model: model.joint_moments(X_NEW),
    "select_runs": lambda model: bnn.select_runs(model, X_NEW, 2),
    "fit": lambda model: model.fit(X, Y),
}
# Bars of a process with two outputs, 40 data and 10 points at a time, with their last step.
OF_PROCESS = {
    "predict": {"predictions": 3},
    "mean": {"predictions": 3},
    "elppd": {"density": 3},
    "predict_gradient": {"gradients": 6, "predictions": 3},
    "sample": {"joint covariance": 2, "realisations": 2},
    "joint_moments": {"joint covariance": 2},
    "select_runs": {"covariances": 2, "choosing": 2},
    "fit": {"covariance of the data": 4, "conditioning": 2},
}
# Its components take their turns within each part.
OF_MIXTURE = {
    "predict": {"means": 2, "covariances": 2},
    "mean": {"means": 2},
    "elppd": {"densities": 2},
    "sample": {"realisations": 2},
    "joint_moments": {"covariances": 2},
    "select_runs": {"covariances": 2, "choosing": 2},
    "fit": {"conditioning": 2},
}
CASES = [(PROCESS, call, bars) for call, bars in OF_PROCESS.items()]
CASES += [(MIXTURE, call, bars) for call, bars in OF_MIXTURE.items()]


def ended(printed: str) -> set[tuple[str, int]]:
    """Title and number of steps of each bar that was shown to its end."""
    found = re.findall(r"(?:^|[\r\nA])([a-z ]+): 100%[^\r]*?\| (\d+)/\2 ", printed)
    return {(title, int(steps)) for title, steps in found}


@pytest.fixture
def small_parts(monkeypatch):
    """Ten points at a time, and as many rows of the covariance of the data."""
    monkeypatch.setattr("bnn.gp.conditioning.ENTRIES", 400)
    monkeypatch.setattr("bnn.gp.regressor.GRADIENT_ENTRIES", 400)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("prior", "call", "bars"), CASES)
def test_an_exact_posterior_shows_its_steps(prior, call, bars, capsys, monkeypatch):
    model = bnn.GPRegressor(prior, noise=0.1).fit(X, Y)
    assert capsys.readouterr().err == ""
    slow_terminal(monkeypatch)
    EXACT[call](model)
    assert set(bars.items()) <= ended(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("call", "title"),
    [
        (lambda model: model.predict(X_NEW, return_std=True), "predictions"),
        (lambda model: model.sample(X_NEW), "predictions"),
        (lambda model: model.predict_gradient(X_NEW), "gradients"),
    ],
)
def test_an_ensemble_shows_its_steps(call, title, capsys, monkeypatch):
    """Five networks in blocks of two, 30 points in blocks of ten: nine parts."""
    for name, size in {"MEMBER": 2, "POINT": 10, "GRADIENT": 10}.items():
        monkeypatch.setattr(f"bnn.ensembles.members.{name}_BLOCK", size)
    brief = bnn.TrainingSettings(epochs=1)
    model = bnn.VanillaEnsemble(n_members=5, noise=0.1, training=brief, random_state=0).fit(X, Y)
    assert capsys.readouterr().err == ""
    slow_terminal(monkeypatch)
    call(model)
    assert (title, 9) in ended(capsys.readouterr().err)


@pytest.mark.usefixtures("small_parts")
def test_a_bar_below_another_one_is_wiped_out(capsys, monkeypatch):
    """What stays are the bars of the whole call, not those of each of its parts."""
    model = bnn.GPRegressor(MIXTURE, noise=0.1).fit(X, Y)
    slow_terminal(monkeypatch)
    model.predict(X_NEW, return_std=True)
    printed = capsys.readouterr().err
    assert re.search(r"predictions: 100%[^\r]*\n$", printed)
    assert not re.search(r"covariances: [^\r\n\x1b]*\n", printed)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("call", EXACT)
def test_elsewhere_nothing_is_shown(call, capsys):
    EXACT[call](bnn.GPRegressor(PROCESS, noise=0.1).fit(X, Y))
    assert capsys.readouterr().err == ""
