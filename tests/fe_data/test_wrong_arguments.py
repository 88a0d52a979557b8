"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import copy
import functools
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

import fe_data
from tests.fe_data.analytic_rve import AnalyticRVE
from tests.wrong_arguments import WRONG, arguments, complaint

DATASETS = Path(fe_data.__file__).with_name("datasets")
TABLE = fe_data.load_table(DATASETS / "test_uniform.csv")
SETTINGS = fe_data.Settings(n_fibres=1, resolution=1.0, increments=4)
INPUTS = fe_data.Inputs(0.2, 400.0, 400.0, 0.4)
# What a parameter of this name gets, unless a call says otherwise.
VALUES = {
    **vars(INPUTS),
    **vars(SETTINGS),
    "microstructure": None,
    "centres": np.array([[0.2, 0.2], [0.7, 0.7]]),
    "count": 2,
    "design": fe_data.named_design("test_uniform", count=1),
    "fit": True,
    "inputs": INPUTS,
    "replicates": 1,
    "name": "test_uniform",
    "ours": TABLE,
    "path": DATASETS / "test_uniform.csv",
    "radii": np.array([0.1, 0.2]),
    "reference": TABLE,
    "rng": np.random.default_rng(0),
    "settings": SETTINGS,
    "silent": True,
    "table": TABLE,
}
ONE_FIBRE = fe_data.Microstructure([[0.5, 0.5]], 0.2)
NEW = itertools.count()
EXAMPLES = Path(fe_data.__file__).parent / "composite" / "examples"
GLASS = fe_data.named_phases("glass_epoxy")
CARBON = fe_data.named_phases("carbon_epoxy").fibres.elasticity
PATHS = fe_data.load_paths("repeated_random")
SHIPPED_CURVES = fe_data.load_curves(VALUES["path"])
CURVES = fe_data.Curves(SHIPPED_CURVES.histories[:3], np.ones((3, 50)), np.arange(3))
ROWS = "E_f_GPa,b_m_MPa,c_m\n400,400,0.4\n"
ROW = [*vars(INPUTS).values()]


@functools.cache
def point():
    """A point in its initial state; numba compiles for seconds when the first is made."""
    return fe_data.MaterialPoint(INPUTS, SETTINGS, seed=0)


def file(folder, text):
    (folder / "file.csv").write_text(text)
    return folder / "file.csv"


def followed(folder):
    """A folder of one RVE that followed a path."""
    arguments = VALUES["design"], fe_data.Settings(increments=4), folder / "followed"
    path = fe_data.Loading(strain=(0.01, None, None))
    fe_data.generate(*arguments, loading=path, simulator=AnalyticRVE(), silent=True)
    return folder / "followed"


def record_in(folder):
    (path,) = (followed(folder) / "records").glob("*/*.npz")
    return path.read_bytes()


def design(folder):
    two = [ONE_FIBRE] * 2
    return vars(fe_data.design_from_file(file(folder, ROWS), microstructures=two))


def solved(_):
    return fe_data.solve_rve(INPUTS, SETTINGS, seed=0)


def debonding(_):
    phases = fe_data.named_phases("glass_epoxy_debonding")
    path = fe_data.Loading((1e-4, None, None), increments=1)
    return fe_data.solve_composite(phases, ONE_FIBRE, path, resolution=3, silent=True)


# Further arguments of some functions, or what makes these for a folder to write in.
SPECIAL_VALUES = {
    "Settings": {"radii": "equal"},
    "HardeningTable": {"plastic_strain": np.arange(2.0), "stress": np.array([400.0, 500.0])},
    "HardeningTable.yield_stress": {"p": 0.5},
    "Loading": {"strain": np.array([0.01, 0.0, 0.0])},
    "Isotropic": {"E_GPa": 70.0, "nu": 0.3},
    "TransverselyIsotropic": vars(CARBON) | {"axis": 30.0},
    "YieldStress": {"yield_stress_MPa": 400.0},
    "law": {"parameters": {"yield_stress_MPa": (1.0, 1e6)}, "state": {"p": 0}},
    "Material": {"elasticity": fe_data.Isotropic(70.0, 0.3)},
    "Interface": vars(fe_data.named_phases("glass_epoxy_debonding").interface),
    "Damage": {"onset": 0.1, "fracture_energy_J_m2": 10.0, "fibre_diameter_um": 7.0},
    "Phases": vars(GLASS),
    "load_phases": {"path": EXAMPLES / "paper.yaml"},
    "named_phases": {"name": "paper"},
    "effective_constants": {"phases": GLASS, "microstructure": ONE_FIBRE},
    "solve_composite": {
        "phases": GLASS,
        "microstructure": ONE_FIBRE,
        "loading": fe_data.Loading((1e-4, None, None)),
        "increments": 1,
    },
    "Design": design,
    "random_path": {"length": 1.0, "increments": 3},
    "path_design": {"name": "random"},
    "loadings_from_file": lambda folder: {"path": file(folder, "strain_xx\n0.01\n")},
    "design_from_file with fibres": lambda folder: {
        "path": file(folder, ROWS),
        "microstructures": [ONE_FIBRE],
        "seed": 0,
    },
    "microstructures_from_file": lambda folder: {"path": file(folder, "x,y,radius\n0.5,0.5,0.2\n")},
    "Table": vars(TABLE) | {"failed": [99]},
    "Table.with_outputs": {"names": ["nu_eff"]},
    "Curves": vars(CURVES),
    "save_curves": lambda folder: {"curves": CURVES, "path": folder / "curves.csv"},
    "Paths": vars(PATHS),
    "load_paths": {"source": "repeated_random"},
    "save_paths": lambda folder: {"paths": PATHS, "path": folder / "paths.npz"},
    "collect_paths": lambda folder: {"folder": followed(folder)},
    "decode_arrays": lambda folder: {"data": record_in(folder)},
    "verify": lambda folder: {"folder": folder},
    "load_statistics": {"path": DATASETS / "reference.csv"},
    "mean_field": {"inputs": ROW, "reference": 0.5, "hardening": 1.0},
    "strain_concentration": {"inputs": ROW, "reference": 0.5, "softening": 0.5},
    "anisotropy": lambda folder: {"rve": solved(folder)},
    "save_fields": lambda folder: {"rve": solved(folder), "path": folder / "rve.xdmf"},
    "random_microstructure": {"seed": 0, "radii": "equal"},
    "save_interfaces": lambda folder: {"rve": debonding(folder), "path": folder / "lines.xdmf"},
    "save_mesh": lambda folder: {"rve": solved(folder), "path": folder / "rve.msh"},
    "MaterialPoint.respond": {"strain": [1e-4, 0.0, 0.0]},
    "MaterialPoint.restore": lambda _: {"state": point().state()},
    "generate": lambda folder: {"folder": folder},
}
OBJECTS = {
    "HardeningTable": fe_data.HardeningTable([0.0, 1.0], [400.0, 500.0]),
    "Table": TABLE,
}
# What the solver makes, which nobody gives.
RESULTS = {
    *("CompositeSolution", "CompositeStep", "EffectiveConstants", "PhaseFields"),
    *("Anisotropy", "Comparison", "LoadStep", "RVEResult", "RVESolution", "Statistics"),
    "GenerationSummary",
}


def is_called(name):
    member = getattr(fe_data, name)
    error = isinstance(member, type) and issubclass(member, BaseException)
    return callable(member) and not error and name not in RESULTS


CALLS = sorted({name for name in fe_data.__all__ if is_called(name)} | SPECIAL_VALUES.keys())


def call(name, folder):
    """A function and valid values of its parameters: its own, those by name, or the defaults."""
    public, _, method = name.split()[0].partition(".")
    function = getattr(fe_data, public)
    if method:
        owner = point() if public == "MaterialPoint" else OBJECTS.get(public, function)
        function = getattr(owner, method)
    special = SPECIAL_VALUES.get(name, {})
    valid = arguments(function, VALUES) | (special(folder) if callable(special) else special)
    if name != "generate":
        return function, valid

    def generate(folder, **options):
        """A folder that is no text or path is handed on; any other is one below another."""
        right = isinstance(folder, str | Path)
        return function(folder=valid["folder"] / str(next(NEW)) if right else folder, **options)

    return generate, valid


# What messages call an argument, beside its name.
ALSO = {
    **dict.fromkeys(["strain", "stress", "temperature"], "loading"),
    "centres": "fibres",
    "fields": "field_values",
}


# Each call of `generate` starts workers or simulates an RVE.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "generate" else ()) for name in CALLS],
)
def test_a_wrong_argument_is_named(name, tmp_path):
    """A path that leads nowhere is an OSError; RVEs that cannot be solved have errors too."""
    function, valid = call(name, tmp_path)
    function(**valid)
    accepted = OSError, fe_data.SimulationError, fe_data.TableError, fe_data.GenerationError
    accepted += (fe_data.CorruptRecordError,)
    gradients = torch.ones((8, 2)).requires_grad_()
    for argument, value in itertools.product(valid, [*WRONG, gradients]):
        arguments = valid | {argument: value}
        said = complaint(function, arguments, argument, ALSO.get(argument, argument), *accepted)
        assert said is None, (argument, value)


def arrays_in(value):
    """Arrays of a value, also in lists and dictionaries."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, list | tuple):
        return [array for entry in parts for array in arrays_in(entry)]
    return []


HOLDERS = ["Curves", "Design", "HardeningTable", "Loading", "Microstructure", "Paths", "Table"]


@pytest.mark.parametrize("name", [*HOLDERS, "Anisotropy", "Comparison", "Statistics"])
def test_what_is_made_of_arrays_stays_when_these_are_overwritten(name, tmp_path):
    results = {
        "Anisotropy": {"stiffness_GPa": 2.0 * np.eye(3), "spread": 0.1, "stiffest_deg": 0.0},
        "Comparison": vars(fe_data.compare(TABLE, TABLE)),
        "Statistics": vars(fe_data.load_statistics(DATASETS / "reference.csv")),
    }
    valid = copy.deepcopy(results[name] if name in results else call(name, tmp_path)[1])
    made = getattr(fe_data, name)(**valid)
    expected = copy.deepcopy(vars(made))
    arrays = arrays_in(valid)
    assert arrays
    for array in arrays:
        array[...] = 1
    np.testing.assert_equal(arrays_in(vars(made)), arrays_in(expected))


# Arguments that are numbers or arrays of numbers, with all that NumPy or Python read as a number.
NUMBERS = {
    "Inputs": "vf E_f_GPa b_m_MPa c_m",
    "Settings": "n_fibres resolution increments strain nu_m radii_cov",
    "Loading": "strain stress increments temperature time",
    "Table": "index seed group inputs outputs failed",
    "Microstructure": "centres radii",
}


@pytest.mark.parametrize("name", NUMBERS)
def test_truth_values_imaginary_parts_durations_and_masks_are_no_numbers(name, tmp_path):
    function, valid = call(name, tmp_path)
    for argument in NUMBERS[name].split():
        array = np.asarray(valid[argument])
        if array.dtype == object:  # None where a strain is free, or for a default
            array = np.full(array.shape, 1)
        hidden = np.ma.masked_array(array, np.ones(array.shape))
        duration = array.astype(int).astype("m8[s]")
        for wrong in (array.astype(bool), array + 1j, hidden, duration):
            with pytest.raises((ValueError, TypeError), match=rf"\b{argument}\b"):
                function(**valid | {argument: wrong})
