"""What `print` says of every public object and of all that it leads to: five lines at most."""

import dataclasses
import inspect

import numpy as np
import pytest

import bnn
import fe_data
from bnn.gp.conditioning import Conditioning
from fe_data.geometry.mesh import Mesh
from tests.bnn.calls import CALLS
from tests.bnn.test_kept_arrays import CASES

LARGE = np.random.default_rng(0).random((300, 40))
X = LARGE[:, :6]
KERNELS = [bnn.RBF(k + 0.123456789, tuple(LARGE[k])) for k in range(20)]
PROCESSES = [bnn.GaussianProcessPrior(0.0, [kernel + bnn.Linear()] * 5, 5) for kernel in KERNELS]
MANY = {
    "MixturePrior": bnn.MixturePrior(PROCESSES, np.full(20, 0.05)),
    "GaussianProcessPrior": bnn.GaussianProcessPrior(bnn.LinearMean(LARGE), KERNELS, 20),
    "GPRegressor": bnn.GPRegressor(PROCESSES[0], noise=np.eye(5)),
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
    says_what = type(value).__name__ in text and " object at 0x" not in text
    return text.count("\n") < 5 and len(text) <= 500 and says_what


def reached(value, place, levels=5):
    """Objects of the packages that public attributes of one of them lead to, by their places."""
    found = {}
    items = {}
    if type(value).__module__.partition(".")[0] in ("bnn", "fe_data"):
        found[place] = value
        names = [name for name in dir(value) if name[0] != "_"]
        items = {f".{name}": getattr(value, name, None) for name in names}
    elif isinstance(value, list | tuple):
        items = {f"[{i}]": each for i, each in enumerate(value[:2])}
    elif isinstance(value, dict):
        items = {f"[{name!r}]": each for name, each in value.items()}
    for name, each in items.items() if levels else ():
        found |= reached(each, place + name, levels - 1)
    return found


def long_texts(found):
    return {place: repr(value)[:200] for place, value in found.items() if not is_short(value)}


@pytest.mark.filterwarnings("ignore")  # ensembles trained for one epoch have not arrived
@pytest.mark.parametrize("name", classes_of(bnn))
def test_every_class_of_bnn_is_written_in_five_lines(name, tmp_path):
    if name == "Campaign":
        made = bnn.Campaign(tmp_path / "campaign.json", LARGE[:, :2] + [0.0, 1.0])
    else:
        made = (CALLS.get(name) or CASES[name]).make()
    found = reached(made, name)
    assert long_texts(found) == {}
    if hasattr(made, "predict"):
        assert any(place.endswith("_") for place in found)  # what fitting has left behind


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


@pytest.mark.parametrize("solver", ["compiled", "dolfinx"])
def test_what_a_solved_cell_leads_to_is_written_in_five_lines(solver):
    small = fe_data.Settings(n_fibres=2, resolution=2, increments=4)
    inputs = fe_data.Inputs(0.3, 400.0, 400.0, 0.4)
    rve = fe_data.solve_rve(inputs, 1, small, solver=solver, keep_steps=True)
    found = reached(rve, "rve")
    places = {"rve.path.state.old", "rve.discretisation.fibres[0]", "rve.steps[1].fields"}
    assert {*places, "rve.solver.problem.law"} <= set(found)
    assert long_texts(found) == {}
    assert repr(rve.discretisation).endswith("matrix=Elements(...), fibres=2 Elements)")


def test_meshes_and_conditioned_priors_are_written_in_five_lines():
    assert is_short(Mesh(LARGE, LARGE, LARGE, LARGE))
    assert is_short(Conditioning(LARGE, LARGE))


def test_a_text_says_what_the_fields_are():
    assert repr(bnn.BoundsScaler([0.0, 200.0], [1.0, 600.0])) == (
        "BoundsScaler(low=array (2,) in [0, 200], high=array (2,) in [1, 600])"
    )
    assert repr(bnn.GPRegressor(noise="heteroscedastic")) == "GPRegressor(noise='heteroscedastic')"
    assert repr(MANY["MixturePrior"]).startswith("MixturePrior(components=20 GaussianProcessPriors")
    assert repr(fe_data.Inputs(0.3, 400.0, 400.0, 0.4)) == (
        "Inputs(vf=0.3, E_f_GPa=400.0, b_m_MPa=400.0, c_m=0.4)"
    )
