"""What `print` says of every public object: five lines at most, whatever its arrays hold."""

import dataclasses
import inspect

import numpy as np
import pytest

import bnn
import fe_data
from tests.bnn.calls import CALLS
from tests.bnn.test_kept_arrays import CASES

LARGE = np.random.default_rng(0).random((300, 40))
X = LARGE[:, :6]
KERNELS = [bnn.RBF(k + 0.123456789, tuple(LARGE[k])) for k in range(20)]
PROCESSES = [bnn.GaussianProcessPrior(0.0, [kernel + bnn.Linear()] * 5, 5) for kernel in KERNELS]
MANY = {
    "MixturePrior": bnn.MixturePrior(PROCESSES, np.full(20, 0.05)),
    "GaussianProcessPrior": bnn.GaussianProcessPrior(bnn.LinearMean(LARGE), KERNELS, 20),
    "ExactPosterior": bnn.ExactPosterior(PROCESSES[0], noise=np.eye(5)),
    "AnchoredEnsemble": bnn.AnchoredEnsemble(
        PROCESSES[0], anchoring=bnn.Anchoring(anchors=LARGE, start=LARGE)
    ),
    "Scaling": bnn.Scaling(inputs=LARGE[:, :2], outputs=[(0.0, 1.0)] * 100),
    "TablePrior": bnn.TablePrior(X, np.stack([X, X])),
    "HeteroscedasticNoise": bnn.HeteroscedasticNoise(LARGE),
    "ProbabilisticPCA": bnn.ProbabilisticPCA(np.zeros(300), np.ones(40), LARGE, 1.0),
    "product": KERNELS[0] * KERNELS[1],
}


def classes_of(package):
    """Public classes by name, without warnings and errors."""
    found = {name: getattr(package, name) for name in package.__all__}
    return {
        name: value
        for name, value in found.items()
        if inspect.isclass(value) and not issubclass(value, BaseException)
    }


def is_short(value):
    text = repr(value)
    return text.count("\n") < 5 and len(text) <= 500 and type(value).__name__ in text


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize("name", classes_of(bnn))
def test_every_class_of_bnn_is_written_in_five_lines(name, tmp_path):
    if name == "Campaign":
        made = bnn.Campaign(tmp_path / "campaign.json", LARGE[:, :2] + [0.0, 1.0])
    else:
        made = (CALLS.get(name) or CASES[name]).make()
    assert is_short(made)
    assert type(made).__repr__ is not object.__repr__


@pytest.mark.parametrize("name", MANY)
def test_large_arrays_and_many_parts_are_written_in_five_lines(name):
    assert repr(MANY[name]).count("\n") < 5
    assert len(repr(MANY[name])) <= 500


@pytest.mark.parametrize("name", classes_of(fe_data))
def test_every_class_of_fe_data_is_written_in_five_lines(name):
    """With a large array in every field, as an RVE has hundreds of them."""
    made = object.__new__(classes_of(fe_data)[name])
    for field in dataclasses.fields(made):
        object.__setattr__(made, field.name, LARGE)
    assert is_short(made)
    assert "array (300, 40) in [" in repr(made)


def test_a_text_says_what_the_fields_are():
    assert repr(bnn.BoundsScaler([0.0, 200.0], [1.0, 600.0])) == (
        "BoundsScaler(low=array (2,) in [0, 200], high=array (2,) in [1, 600])"
    )
    assert repr(bnn.ExactPosterior(noise="by_input")) == "ExactPosterior(noise='by_input')"
    assert repr(MANY["MixturePrior"]).startswith("MixturePrior(components=20 GaussianProcessPriors")
    assert repr(fe_data.Inputs(0.3, 400.0, 400.0, 0.4)) == (
        "Inputs(vf=0.3, E_f_GPa=400.0, b_m_MPa=400.0, c_m=0.4)"
    )
