"""What was made of arrays stays as it is when these are overwritten."""

import copy
import inspect

import numpy as np
import pytest

import fe_data

TABLE = fe_data.load_table("fe_data/datasets/noise.csv")
HISTORY = {"strain": np.zeros((3, 4)), "stress": np.zeros((3, 4))}
MICROSTRUCTURE = fe_data.Microstructure([[0.2, 0.2], [0.7, 0.7]], [0.1, 0.1])
# Classes, and arguments some of which are arrays or hold some.
CASES = {
    "Anisotropy": {"stiffness_GPa": 2.0 * np.eye(3), "spread": 0.1, "stiffest_deg": 0.0},
    "Comparison": vars(fe_data.compare(TABLE, TABLE)),
    "Curves": {"histories": [HISTORY], "std": np.zeros((1, 2)), "index": np.zeros(1, int)},
    "Design": vars(fe_data.named_design("noise", count=3, replicates=1))
    | {"microstructures": [MICROSTRUCTURE] * 3, "microstructure_index": np.arange(3)},
    "HardeningTable": {"plastic_strain": np.arange(3.0), "stress": 500.0 + np.arange(3.0)},
    "Loading": {"strain": np.array([[0.01, 0, 0], [0.02, 0, 0]]), "increments": np.array([1, 2])},
    "Microstructure": vars(MICROSTRUCTURE),
    "Paths": {
        "inputs": TABLE.inputs[:3],
        "strain": np.zeros((3, 2, 3)),
        "stress": np.zeros((3, 5, 2, 3)),
    },
    "RVEResult": {
        "effective": {},
        "history": HISTORY,
        "fibre_centres": np.zeros((2, 2)),
        "info": {},
        "fibre_radii": np.zeros(2),
    },
    "Statistics": vars(fe_data.replicate_statistics(TABLE)),
    "Table": vars(TABLE),
}
# Numbers and texts alone, and what the solver itself makes.
WITHOUT_ARRAYS = {
    "Inputs",
    "LoadStep",
    "MaterialPoint",
    "RVESolution",
    "Settings",
    "GenerationSummary",
}


def arrays_in(value):
    """Arrays of a value, also in lists and dictionaries."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, list | tuple):
        return [array for part in parts for array in arrays_in(part)]
    return []


def test_all_other_public_classes_are_given_arrays():
    public = [getattr(fe_data, name) for name in fe_data.__all__]
    classes = [each for each in public if inspect.isclass(each)]
    names = {each.__name__ for each in classes if not issubclass(each, BaseException)}
    assert names == CASES.keys() | WITHOUT_ARRAYS
    assert all(arrays_in(given) for given in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_overwritten_arrays_change_nothing(name):
    given = copy.deepcopy(CASES[name])
    made = getattr(fe_data, name)(**given)
    expected = copy.deepcopy(vars(made))
    for array in arrays_in(given):
        array[...] = 1
    np.testing.assert_equal(arrays_in(vars(made)), arrays_in(expected))
