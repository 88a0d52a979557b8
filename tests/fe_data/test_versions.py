"""The same mesh gives the same averages whatever the version of dolfinx."""

import json

import numpy as np
import pytest

from fe_data.mechanics import rve
from fe_data.schema import output_names, required_outputs
from tests.fe_data.reference_rve import (
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
        return averages(rve.solve_rve(INPUTS, SETTINGS, microstructure=MICROSTRUCTURE))


def test_averages_do_not_depend_on_the_version(here):
    """The stored averages have the required outputs: others may be added without new averages."""
    stored = json.loads(AVERAGES.read_text(encoding="utf-8"))
    optional = set(output_names()) - set(required_outputs())
    assert set(here) - optional == set(stored)
    for name, values in stored.items():
        assert here[name].shape == np.shape(values)
        # Components that the loading keeps at zero are rounding: the largest is their scale.
        scale = np.abs(values).max()
        assert np.abs(here[name] - values).max() <= ACCURACY * scale, name
