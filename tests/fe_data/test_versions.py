"""The same mesh gives the same averages whatever the version of dolfinx."""

import json

import numpy as np
import pytest

from fe_data.mechanics import rve
from fe_data.schema import output_names, required_outputs
from tests.fe_data.reference_cell import (
    AVERAGES,
    INPUTS,
    MICROSTRUCTURE,
    SETTINGS,
    averages,
    stored_mesh,
)

ACCURACY = 1e-8  # of the largest value of each component's history


@pytest.fixture(scope="module")
def here():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rve, "generate_mesh", lambda *_: stored_mesh())
        return averages(rve.solve_rve(INPUTS, MICROSTRUCTURE, SETTINGS))


NAMES = ["strain", "stress", "plastic_strain", "yielded_fraction", *required_outputs()]


@pytest.mark.parametrize("name", NAMES)
def test_averages_do_not_depend_on_the_version(here, name):
    stored = np.array(json.loads(AVERAGES.read_text(encoding="utf-8"))[name])
    assert here[name].shape == stored.shape
    # Components that the loading keeps at zero are rounding: they are compared with the largest.
    scale = np.abs(stored).max()
    assert np.abs(here[name] - stored).max() <= ACCURACY * scale


def test_every_averaged_quantity_is_compared(here):
    """The stored averages have the required outputs: others may be added without new averages."""
    optional = set(output_names()) - set(required_outputs())
    compared = sorted(set(here) - optional)
    assert compared == sorted(json.loads(AVERAGES.read_text(encoding="utf-8"))) == sorted(NAMES)
